//! Campaign `safe.5`: damaged inputs and garbage for every reader. Each block of inputs is for one
//! reader and runs in a process of its own, so that a crash is one failed attempt.
//!
//! The program that runs them is built as tests are: an overflow or a broken invariant, which the
//! program that users have would not notice, is a panic.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trimbench_core::units::index;

use super::{Attempts, Campaign, Ledger, READERS};
use crate::acceptance::{Bar, Finding};
use crate::fuzz::{FuzzSubject, FuzzSummary};
use crate::{Repository, process};

/// The campaign.
pub const CAMPAIGN: Campaign = Campaign {
    id: "safe.5",
    title: "A block of damaged inputs for one kind of reader",
    sources: READERS,
    workers: 1,
    prepare,
    judge,
};

/// Inputs in a block.
const BLOCK: u64 = 50_000;
/// Inputs in all.
const INPUTS: u64 = 10_000_000;
/// The most memory that a process may take with all that it reads, KiB.
const MEMORY_MAX_KIB: f64 = 262_144.0;

/// What blocks are of, over and over: a trace is read in a fraction of the time of the others.
const SUBJECTS: [FuzzSubject; 5] = [
    FuzzSubject::Traces,
    FuzzSubject::Records,
    FuzzSubject::Profiles,
    FuzzSubject::Options,
    FuzzSubject::Traces,
];

fn prepare(repository: &Repository, _: &Path) -> Result<Box<dyn Attempts>> {
    let arguments = ["build", "--quiet", "--profile", "test", "--package", "xtask"];
    process::run_well(&mut repository.command("cargo", &arguments), None)?;
    Ok(Box::new(Inputs { program: repository.target().join("debug/xtask") }))
}

#[derive(Debug)]
struct Inputs {
    /// `xtask` itself, with every assertion on.
    program: PathBuf,
}

impl Attempts for Inputs {
    fn total(&self) -> u64 {
        INPUTS / BLOCK
    }

    fn attempt(&self, _: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let of = SUBJECTS.len() as u64;
        let subject = SUBJECTS[index(number % of)];
        let mut fuzz = Command::new(&self.program);
        fuzz.args(["fuzz", &seed.to_string(), "--json", "--subject", subject.id()]);
        fuzz.args(["--first", &(number * BLOCK).to_string()]);
        fuzz.args(["--executions", &BLOCK.to_string()]);
        let output = fuzz.output().context("start `xtask fuzz`")?;
        Ok(outcome(&output))
    }
}

/// What a block came to.
fn outcome(output: &Output) -> Map<String, Value> {
    let summary = serde_json::from_slice::<FuzzSummary>(&output.stdout).ok();
    let value = match summary {
        Some(sum) if output.status.success() => json!({
            "subject": sum.subject,
            "ends": sum.ends,
            "inputs": sum.executions,
            "accepted": sum.whole,
            "refused": sum.refused,
            "violations": sum.violations,
            "memory_kib": sum.memory_kib,
        }),
        _ => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let complaint: String = complaint.trim().chars().take(2_000).collect();
            json!({ "violations": 1, "error": format!("{}: {complaint}", output.status) })
        }
    };
    let Value::Object(line) = value else { unreachable!("both are objects") };
    line
}

/// The line of a block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    subject: String,
    /// How inputs ended.
    ends: BTreeMap<String, u64>,
    inputs: u64,
    accepted: u64,
    refused: u64,
    violations: u64,
    memory_kib: u64,
    error: String,
}

fn judge(ledger: &Ledger) -> Result<Vec<Finding>> {
    let lines: Vec<Line> = ledger.outcomes()?;
    let sum = |of: fn(&Line) -> u64| lines.iter().map(of).sum::<u64>() as f64;
    let most = lines.iter().map(|line| line.memory_kib).max().unwrap_or(0);
    let (inputs, accepted) = (sum(|line| line.inputs), sum(|line| line.accepted));
    let least = if ledger.is_whole() { INPUTS as f64 } else { 1.0 };
    let error = lines.iter().find(|line| !line.error.is_empty());
    let error = error.map_or("", |line| line.error.as_str());
    let refused = sum(|line| line.refused);
    let note = format!("{accepted} understood, {refused} refused: {}", by_subject(&lines));
    let count = |what: &str, count: f64, bar| ledger.finding(what, (count, ""), bar);
    Ok(vec![
        count("inputs read", inputs, Bar::AtLeast(least)).with_note(&note),
        count("panics, hangs and broken laws", sum(|line| line.violations), Bar::Equals(0.0))
            .with_note(error),
        ledger.finding(
            "most memory",
            (most as f64 / 1024.0, "MiB"),
            Bar::AtMost(MEMORY_MAX_KIB / 1024.0),
        ),
    ])
}

/// How many inputs there were of each subject, how many were understood, and in how many different
/// ways they ended.
fn by_subject(lines: &[Line]) -> String {
    let subjects: BTreeSet<&str> = lines.iter().map(|line| line.subject.as_str()).collect();
    let about = |subject: &str| {
        let own = || lines.iter().filter(|line| line.subject == subject);
        let inputs: u64 = own().map(|line| line.inputs).sum();
        let accepted: u64 = own().map(|line| line.accepted).sum();
        let ends: BTreeSet<&String> = own().flat_map(|line| line.ends.keys()).collect();
        format!("{inputs} {subject}, {accepted} understood, {} ends", ends.len())
    };
    subjects.into_iter().map(about).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
