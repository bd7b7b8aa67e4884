//! Step `test`: every test of the workspace, counted, with each skip named and checked.
//!
//! A test that lacks something (root, a filesystem's tools) prints `SKIP <name>: <reason>` and
//! returns: Rust's test harness knows no third outcome and counts it as passed. Here it is counted
//! as skipped, and a skip that `tests/allowed-skips.txt` does not list fails the step: otherwise a
//! green run could have tested nothing.

mod count;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::steps::{Deadline, seconds, timed};
use crate::{Repository, setup};

pub use count::TestCounter;

/// Reviewed names of tests that may skip: `name  # why`, one a line.
const ALLOWED: &str = "tests/allowed-skips.txt";

/// A test that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Its name.
    pub name: String,
    /// What it lacked.
    pub reason: String,
}

/// What all tests together came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipSummary {
    /// Tests that ran and passed.
    pub passed: u64,
    /// Tests that failed, and test programs that ended without a result.
    pub failed: u64,
    /// Tests that skipped.
    pub skips: Vec<Skip>,
    /// Names of those that skipped without being allowed to.
    pub refused: Vec<String>,
    /// Whether cargo itself was content.
    pub complete: bool,
}

impl SkipSummary {
    /// Whether everything that ran passed, and only what may skip skipped.
    pub fn is_good(&self) -> bool {
        self.complete && self.failed == 0 && self.refused.is_empty()
    }

    /// The counts in one line: the last line of the steps `test` and `ci`.
    pub fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skips.len())
    }

    /// Prints the counts.
    pub fn print(&self) {
        println!("{}", self.line());
    }
}

/// Sets up and runs every test. Everything but the line of counts is printed.
pub fn run(repository: &Repository, deadline: Option<Deadline>) -> Result<SkipSummary> {
    timed("setup", || setup::run(repository, Some(setup::Extra::Guest))).0?;
    let (summary, span) = timed("cargo test", || test(repository, deadline));
    let summary = summary?;
    report(&summary, span);
    Ok(summary)
}

fn test(repository: &Repository, deadline: Option<Deadline>) -> Result<SkipSummary> {
    let mut counter = TestCounter::default();
    let mut complete = true;
    for arguments in commands(&setup::nextest(repository)) {
        counter.begin();
        let mut command = repository.command(&arguments[0], &[]);
        let ended = process::run_lines(command.args(&arguments[1..]), deadline, |line| {
            if counter.line(line) {
                println!("{line}");
            }
        })?;
        if !ended.success() {
            println!("{} {}", arguments.join(" "), ended.describe());
        }
        complete &= ended.success();
    }
    let mut summary = counter.finish(complete);
    summary.refused = refused(&summary.skips, &allowed(repository)?);
    Ok(summary)
}

/// The command lines that run every test: by nextest, which runs tests of different programs at the
/// same time, or by cargo alone where nextest is not there.
fn commands(nextest: &Path) -> Vec<Vec<String>> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    if !nextest.exists() {
        return vec![words("cargo test --workspace --no-fail-fast -- --show-output")];
    }
    let run = words("nextest run --workspace --no-fail-fast --success-output immediate");
    let threads = 3 * std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = format!("--test-threads={threads}");
    let nextest = vec![nextest.display().to_string()];
    let run = [shared_mounts(), nextest, run, vec![threads]].concat();
    vec![run, words("cargo test --workspace --doc --no-fail-fast -- --show-output")]
}

/// What runs the tests in a mount namespace whose mounts are shared. A test (or a guest's sandbox)
/// that makes a namespace of its own copies all mounts of all tests; a copy follows what is
/// unmounted only if the original is shared, and else keeps the filesystem in use.
fn shared_mounts() -> Vec<String> {
    let is_able = rustix::process::geteuid().is_root() && Path::new("/usr/bin/unshare").exists();
    let line = ["unshare", "--mount", "--propagation", "shared", "--"];
    line.into_iter().filter(|_| is_able).map(str::to_owned).collect()
}

fn report(summary: &SkipSummary, span: Duration) {
    for Skip { name, reason } in &summary.skips {
        println!("skipped: {name}: {reason}");
    }
    for name in &summary.refused {
        println!("error: {name} skipped and is not listed in {ALLOWED}");
    }
    println!("tests took {}", seconds(span));
}

fn allowed(repository: &Repository) -> Result<BTreeMap<String, String>> {
    match fs::read_to_string(repository.root().join(ALLOWED)) {
        Ok(text) => parse_allowed(&text).with_context(|| format!("read {ALLOWED}")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("read {ALLOWED}")),
    }
}

/// Names and why they may skip. Empty lines and lines of comment only are left out.
fn parse_allowed(text: &str) -> Result<BTreeMap<String, String>> {
    let mut allowed = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, why) = line.split_once('#').unwrap_or((line, ""));
        let (name, why) = (name.trim(), why.trim());
        if name.is_empty() {
            continue;
        }
        anyhow::ensure!(!why.is_empty(), "`{name}` has no reason: write `{name}  # why`");
        allowed.insert(name.to_owned(), why.to_owned());
    }
    Ok(allowed)
}

fn refused(skips: &[Skip], allowed: &BTreeMap<String, String>) -> Vec<String> {
    let skipped = skips.iter().map(|skip| skip.name.clone());
    skipped.filter(|name| !allowed.contains_key(name)).collect()
}

#[cfg(test)]
mod tests;
