//! Builds a mutated tree and its test programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::list::PACKAGE;
use crate::process;
use crate::steps::Deadline;
use crate::tree::Tree;

/// A build takes seconds, the first one minutes.
const LIMIT: Duration = Duration::from_secs(1_800);
/// The library alone: whether a mutant is a program at all.
const LIBRARY: &[&str] = &["--package", PACKAGE, "--lib"];
/// Its unit tests, those of the gate and of filesystems that are made, those of the command line,
/// and the program itself for the table of attacks.
const TESTS: &[&[&str]] = &[
    &["--package", PACKAGE, "--lib", "--tests"],
    &["--package=tests", "--package=trimbench", "--test=safety", "--test=made", "--bin=trimbench"],
    &["--package=trimbench", "--test=cli"],
];

/// The programs that were built, by the names of their targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Programs(pub(super) BTreeMap<String, Program>);

/// A program, and the folder that it runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) is_test: bool,
}

/// Something that the compiler refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What it points at, as files from the top folder and lines from 1; what it means first.
    pub(super) places: Vec<(PathBuf, usize)>,
    /// What it says.
    pub(super) message: String,
}

/// Builds the library; what the compiler refused, if it did.
pub(super) fn library(tree: &Tree) -> Result<Vec<Refusal>> {
    let (good, messages) = build(tree, LIBRARY, "library")?;
    let refusals: Vec<Refusal> = messages.iter().filter_map(refusal).collect();
    if !good && refusals.is_empty() {
        bail!("cargo failed without an error of the compiler");
    }
    Ok(if good { Vec::new() } else { refusals })
}

/// Builds the tests; `None` if that fails.
pub(super) fn tests(tree: &Tree) -> Result<Option<Programs>> {
    let mut programs = Programs::default();
    for arguments in TESTS {
        let (good, messages) = build(tree, arguments, "tests")?;
        if !good {
            return Ok(None);
        }
        programs.0.extend(messages.iter().filter_map(program));
    }
    Ok(Some(programs))
}

/// Whether it went well, and what cargo says of it.
fn build(tree: &Tree, arguments: &[&str], name: &str) -> Result<(bool, Vec<Value>)> {
    let copy = tree.copy();
    let mut cargo = copy.command("cargo", &["build", "--quiet", "--message-format=json"]);
    // The library is wanted as the program of its unit tests, all else as it is.
    cargo.args(arguments).arg("--profile=test");
    for (name, value) in ENVIRONMENT {
        cargo.env(name, value);
    }
    cargo.env("CARGO_TARGET_DIR", copy.target());
    let path = copy.target().join(format!("{name}.ndjson"));
    let file = || File::create(&path).context("create a file for cargo's messages");
    cargo.stdout(file()?).stderr(std::process::Stdio::null());
    let ended = process::run(&mut cargo, Some(Deadline::after(LIMIT)))?;
    let Some(status) = ended.status else {
        bail!("`{}` {}", process::show(&cargo), ended.describe())
    };
    let text = fs::read_to_string(&path).context("read cargo's messages")?;
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok((status.success(), messages))
}

/// As little work as possible: code is built once and run for seconds.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "false"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "0"),
    ("RUSTFLAGS", "-Clink-arg=-fuse-ld=lld"),
];

/// A program in a message of cargo.
pub(super) fn program(message: &Value) -> Option<(String, Program)> {
    let path = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let is_test = message["profile"]["test"] == true;
    let program = Program { path: path.into(), folder: folder.to_owned(), is_test };
    Some((message["target"]["name"].as_str()?.to_owned(), program))
}

/// An error in a message of cargo.
pub(super) fn refusal(message: &Value) -> Option<Refusal> {
    let message = &message["message"];
    if message["level"] != "error" {
        return None;
    }
    let empty = Vec::new();
    let spans = message["spans"].as_array().unwrap_or(&empty);
    let place = |span: &Value| {
        let line = usize::try_from(span["line_start"].as_u64()?).ok()?;
        Some((PathBuf::from(span["file_name"].as_str()?), line))
    };
    // What a macro made is in its own file, and in the one that calls it.
    let callers = |span| {
        std::iter::successors(Some(span), |span: &&Value| span["expansion"].get("span"))
            .filter_map(place)
    };
    let of = |primary: bool| spans.iter().filter(move |span| span["is_primary"] == primary);
    let places: Vec<_> = of(true).chain(of(false)).flat_map(callers).collect();
    // The last one only counts the others.
    let says = message["rendered"].as_str().unwrap_or_default();
    (!places.is_empty()).then(|| Refusal { places, message: says.to_owned() })
}

#[cfg(test)]
mod tests;
