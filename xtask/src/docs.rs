//! Step `docs`: the documents that are written by program, from the constants they describe.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use trimbench_core::exit;
use trimbench_core::settings::{FromSettings as _, IfUnset, Unit};
use trimbench_ssd::SsdConfig;

use crate::Repository;

/// A document and what writes it.
#[derive(Clone, Copy, Debug)]
pub struct Generated {
    /// Its path in the repository.
    pub path: &'static str,
    /// Its text.
    pub text: fn() -> String,
}

/// Every generated document.
pub const GENERATED: [Generated; 2] = [
    Generated { path: "docs/reference/exit-codes.md", text: exit_codes },
    Generated { path: "docs/reference/profile-keys.md", text: profile_keys },
];

/// Writes the generated documents or, with `check`, compares them; whether they are (now) right.
pub fn run(repository: &Repository, check: bool) -> Result<bool> {
    let mut good = true;
    for document in GENERATED {
        let path = repository.root().join(document.path);
        let text = (document.text)();
        if fs::read_to_string(&path).is_ok_and(|present| present == text) {
            println!("{}: up to date", document.path);
        } else if check {
            println!("{}: not what `cargo xtask docs` writes", document.path);
            good = false;
        } else {
            let folder = path.parent().expect("a document is in a folder");
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
            println!("{}: written", document.path);
        }
    }
    Ok(good)
}

/// The page of exit codes.
pub fn exit_codes() -> String {
    let mut page = String::from(
        "# Exit codes\n\n\
         What `trimbench` answers to the shell. The codes are constants of\n\
         `trimbench_core::exit`; this page is written from them by `cargo xtask docs`.\n\n\
         | code | meaning |\n|---:|---|\n",
    );
    for (code, meaning) in exit::TABLE {
        writeln!(page, "| `{code}` | {meaning} |").expect("a string takes everything");
    }
    page.push_str(
        "\nAfter 4 and 130 the results are kept: `trimbench report DIR` reads them, and\n\
         `trimbench run --resume DIR` goes on with a run that was interrupted.\n",
    );
    page
}

/// The page of the keys of profiles.
pub fn profile_keys() -> String {
    let mut page = String::from(
        "# Keys of profiles\n\n\
         Every key of a [profile](profiles.md), and so every `KEY=VALUE` that may follow the name \
         of an emulated drive.\nThe keys are the tables of `trimbench_ssd::SsdConfig`; this page \
         is written from them by `cargo xtask docs`.\n\n\
         | key | kind | values | left out | meaning |\n|---|---|---|---|---|\n",
    );
    for row in SsdConfig::rows() {
        let kind = match row.unit {
            Unit::Size => "size",
            Unit::Time => "time",
            Unit::Ratio => "ratio",
            Unit::Number => "number",
            Unit::Flag | Unit::Word => "word",
        };
        let unset = match row.unset {
            IfUnset::Preset([text, ..]) => format!("`{text}`"),
            IfUnset::SameAs(key) => format!("as `{key}`"),
            IfUnset::Absent => "none".to_owned(),
            IfUnset::Required => "never".to_owned(),
        };
        let (key, range, help) = (row.key, row.range, row.help);
        writeln!(page, "| `{key}` | {kind} | {range} | {unset} | {help} |")
            .expect("a string takes everything");
    }
    page
}

#[cfg(test)]
mod tests;
