//! Lists mutants by `cargo mutants`, and applies them.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::Repository;
use crate::campaign::SAFETY;
use crate::process::{self, output};

/// Another version mutates otherwise.
const VERSION: &str = "27.1.0";
/// The crate that holds all of the safety code.
pub(super) const PACKAGE: &str = "trimbench-linux";

/// A change of the source that some test must notice.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mutant {
    /// Place and change: `crates/x/src/claim.rs:129:23: replace != with == in f`.
    pub(super) name: String,
    /// The file, from the top folder.
    pub(super) file: PathBuf,
    /// The function that it is in, if any.
    pub(super) function: Option<Whole>,
    /// What is replaced.
    pub(super) span: Span,
    /// The kind of change, as cargo-mutants calls it.
    genre: String,
    /// The change, in unified form.
    diff: String,
}

/// A function from its first attribute to its last brace.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Whole {
    pub(super) span: Span,
}

/// From a place up to another one.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
}

/// A line and a column, in characters, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Builds the program that lists mutants into the target folder, if it is not there.
pub fn install(repository: &Repository) -> Result<()> {
    if program(repository).exists() {
        return Ok(());
    }
    let crates = ["install", "--quiet", "--locked", "--version", VERSION, "cargo-mutants"];
    let mut cargo = repository.command("cargo", &crates);
    process::run_well(cargo.arg("--root").arg(root(repository)), None).map(drop)
}

/// Every mutant of the safety code.
pub(super) fn of(repository: &Repository) -> Result<Vec<Mutant>> {
    let program = program(repository);
    ensure!(program.exists(), "no cargo-mutants: run `cargo xtask setup --for campaigns`");
    let command = |arguments: &[&str]| {
        let mut command = repository.command(&program.to_string_lossy(), &["mutants"]);
        output(command.args(arguments))
    };
    let mut arguments = vec!["--list".to_owned(), "--json".to_owned()];
    arguments.extend(["--package".to_owned(), PACKAGE.to_owned()]);
    for path in SAFETY {
        let glob = if path.ends_with('/') { format!("{path}**") } else { (*path).to_owned() };
        arguments.extend(["--file".to_owned(), glob]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut mutants: Vec<Mutant> =
        serde_json::from_str(&command(&arguments)?).context("read the list of mutants")?;
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

/// Each version in a folder of its own.
fn root(repository: &Repository) -> PathBuf {
    repository.target().join("campaign").join(format!("mutants-{VERSION}"))
}

fn program(repository: &Repository) -> PathBuf {
    root(repository).join("bin/cargo-mutants")
}

impl Mutant {
    /// Whether it replaces all that a function does.
    pub(super) fn is_of_the_body(&self) -> bool {
        self.genre == "FnValue"
    }

    /// The text of its file with the change.
    pub(super) fn apply(&self, text: &str) -> Result<String> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut changed = String::new();
        let mut at = 0;
        for line in self.diff.lines().skip(2) {
            if let Some(hunk) = line.strip_prefix("@@ -") {
                let start = hunk.split([',', ' ']).next().and_then(|start| start.parse().ok());
                let start: usize = start.with_context(|| format!("read the hunk {line}"))?;
                changed.extend(lines[at..start - 1].iter().copied());
                at = start - 1;
                continue;
            }
            let (kind, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            if kind == "+" {
                changed.extend([rest, "\n"]);
                continue;
            }
            let found = lines.get(at).map(|line| line.trim_end_matches('\n'));
            ensure!(found == Some(rest), "{}: `{rest}` is not in line {}", self.name, at + 1);
            match kind {
                " " => changed.push_str(lines[at]),
                "-" => {}
                _ => bail!("{}: `{line}` is no line of a change", self.name),
            }
            at += 1;
        }
        changed.extend(lines[at..].iter().copied());
        ensure!(changed != text, "{} changes nothing", self.name);
        Ok(changed)
    }
}

#[cfg(test)]
pub(super) fn planted(diff: &str) -> Mutant {
    let place = Place { line: 1, column: 1 };
    Mutant {
        name: "planted".to_owned(),
        file: "src/guard.rs".into(),
        function: None,
        span: Span { start: place, end: place },
        genre: "BinaryOperator".to_owned(),
        diff: diff.to_owned(),
    }
}
