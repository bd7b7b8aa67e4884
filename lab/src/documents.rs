//! `cargo xtask docs`: writes the documents that are generated from the constants they describe,
//! the table of options on pages of methods, parts of other pages, and from the results of the lab
//! what was measured, and the ledger of published figures.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use trimbench_core::exit;
use trimbench_core::settings::{FromSettings as _, IfUnset, Unit};
use trimbench_linux::{DRAIN_RULES, FilesystemDrain};
use trimbench_methods::METHODS;
use trimbench_report::{FIGURE_MARK, PageContext};
use trimbench_results::chart::Chart;
use trimbench_ssd::{DataSheet, SsdConfig};

use xtask::Repository;

use crate::measured;

use parts::PARTS;

mod ledger;
mod methods;
mod pace;
mod parts;
mod reviews;
mod steps;

/// A document and what writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generated {
    /// Its path in the repository.
    pub(crate) path: &'static str,
    /// Its text.
    pub(crate) text: fn() -> String,
}

/// Every generated document.
pub(crate) const GENERATED: [Generated; 4] = [
    Generated { path: "docs/reference/exit-codes.md", text: exit_codes },
    Generated { path: "docs/reference/profile-keys.md", text: profile_keys },
    Generated { path: "docs/reference/drain-rules.md", text: drain_rules },
    Generated { path: "docs/reference/steps.md", text: steps::page },
];

/// Writes the generated documents or, with `check`, compares them; whether they are (now) right.
pub(crate) fn run(repository: &Repository, check: bool) -> Result<bool> {
    let mut good = true;
    let generated = GENERATED.iter().map(|document| (document.path.to_owned(), (document.text)()));
    let mut wanted: Vec<(String, String)> = generated.collect();
    let present = |path: &str| fs::read_to_string(repository.root().join(path)).ok();
    for (path, info) in METHODS.iter().map(|info| (methods::path(info), info)) {
        let Some(page) = present(&path) else { continue };
        let text = methods::with_options(&page, info).with_context(|| format!("read {path}"))?;
        wanted.push((path, text));
    }
    for parts in PARTS.chunk_by(|a, b| a.path == b.path) {
        let path = parts[0].path;
        let Some(page) = present(path) else { continue };
        let text = parts.iter().try_fold(page, |page, part| part.written(&page));
        wanted.push((path.to_owned(), text.with_context(|| format!("read {path}"))?));
    }
    wanted.push((measured::PAGE.to_owned(), measured::page(repository)?));
    wanted.extend(ledger::documents(repository)?);
    wanted.extend(reviews::document(repository)?);
    wanted.extend(pace::documents(repository)?);
    for (document, text) in wanted {
        let path = repository.root().join(&document);
        if fs::read_to_string(&path).is_ok_and(|present| present == text) {
            println!("{document}: up to date");
        } else if check {
            println!("{document}: not what `cargo xtask docs` writes");
            good = false;
        } else {
            let folder = path.parent().expect("a document is in a folder");
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
            println!("{document}: written");
        }
    }
    Ok(good)
}

/// Charts as pictures in a folder, each named after its chart.
fn pictures(folder: &str, charts: Vec<Chart>) -> Result<Vec<(String, String)>> {
    let ids: Vec<String> = charts.iter().map(|chart| chart.id.clone()).collect();
    let context = PageContext { verdicts: Vec::new(), charts, order: None };
    let pictures = context.figures().with_context(|| format!("draw {}", ids.join(", ")))?;
    let picture = |(id, picture): (String, String)| {
        (format!("{folder}/{id}.svg"), picture.replacen("<svg", FIGURE_MARK, 1))
    };
    Ok(ids.into_iter().zip(pictures).map(picture).collect())
}

/// A text as a cell of a table.
fn escape(text: &str) -> String {
    text.replace('|', r"\|").replace('\n', " ")
}

/// The page of exit codes.
fn exit_codes() -> String {
    let mut page = String::from(
        "# Exit codes\n\n\
         The codes with which `trimbench` exits. They are constants of\n\
         `trimbench_core::exit`; `cargo xtask docs` writes this page from them.\n\n\
         | code | meaning |\n|---:|---|\n",
    );
    for (code, meaning) in exit::TABLE {
        writeln!(page, "| `{code}` | {meaning} |").expect("a string takes everything");
    }
    page.push_str(
        "\nAfter 4 and 130 the results are kept: `trimbench report DIR` reads them, and\n\
         `trimbench run --resume DIR` continues an interrupted run.\n\n\
         A real target that others use for longer than `--quiet-wait` ends a run with 3; what was\n\
         measured before is kept, too. With `--busy-ok` the run goes on, and ends with 4.\n",
    );
    page
}

/// The page of the keys of profiles.
fn profile_keys() -> String {
    let mut page = String::from(
        "# Keys of profiles\n\n\
         Every key of a [profile](profiles.md), and so every `KEY=VALUE` that may follow the name \
         of an emulated drive.\nThe keys are the tables of `trimbench_ssd::SsdConfig`; `cargo \
         xtask docs` writes this page from them. Those of `data_sheet` stand only in\nthe file of \
         a profile, with `sourced`: no value of the model is computed from them, and a profile \
         that contradicts them is\nrefused.\n\n\
         | key | kind | values | default | meaning |\n|---|---|---|---|---|\n",
    );
    for row in SsdConfig::rows().into_iter().chain(DataSheet::rows()) {
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
            IfUnset::Required => "required".to_owned(),
        };
        let (key, range, help) = (row.key, row.range, row.help);
        writeln!(page, "| `{key}` | {kind} | {range} | {unset} | {help} |")
            .expect("a string takes everything");
    }
    page
}

/// The page of drain rules.
fn drain_rules() -> String {
    let name = |row: &FilesystemDrain| match row.types {
        [] => "others".to_owned(),
        types => format!("{}, `{}`", types.join(", "), row.option),
    };
    let mut page = String::from(
        "# Drain rules: when the discards of a deletion are over\n\n\
         A filesystem sends the discards of a deleted file when it chooses. A figure about a \
         deletion is valid only if they\nfell into its window, so each filesystem has a rule: \
         what forces its discards, and how late they may begin. They are\nover when none came \
         for 2 s and, where the filesystem counts what it still has to discard (`discard_pending` \
         of\nbtrfs), that count has not fallen for 2 s either. In every case the discarded bytes \
         must reach the freed bytes. All rules\ngive up after one hour. The rules are \
         `trimbench_linux::DRAIN_RULES`; `cargo xtask docs` writes this page from them.\n\n\
         The rules use the discard fields of `/sys/dev/block/MAJOR:MINOR/stat` of the devices \
         below the filesystem (ms resolution;\na discard counts when it completes; no counter \
         shows discards in flight).\n\n\
         | filesystem, mount option | force | begins within |\n|---|---|---|\n",
    );
    for row in &DRAIN_RULES {
        writeln!(page, "| {} | {} | {} |", name(row), row.force, row.latest_start)
            .expect("a string takes everything");
    }
    page += "\n## Measured\n\n\
         Linux 6.18.44 with 250 ticks a second, loop devices over sparse images on ext4, files \
         written with `O_DIRECT` in pieces of\n4 MiB. Times count from the unlink. \
         `tests/linux.rs` measures again with 256 MiB files.\n\n\
         | filesystem, mount option | size | freed | force | first discard | last discard | \
         discarded |\n|---|---|---|---|---|---|---|\n";
    for row in &DRAIN_RULES {
        for measured in row.measured {
            writeln!(page, "| {} | {measured} |", name(row)).expect("a string takes everything");
        }
    }
    page += "\n## Why\n\n";
    for row in &DRAIN_RULES {
        writeln!(page, "- **{}**: {}", name(row), row.why).expect("a string takes everything");
    }
    page
}

#[cfg(test)]
mod tests;
