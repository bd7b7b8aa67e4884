//! Campaign `safe.5`: damaged inputs and garbage into everything that reads. Each block runs in a
//! process of its own, so that what takes it down is one failed attempt.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Attempts, Campaign, Ledger, READERS};
use crate::Repository;
use crate::evidence::{Bar, Finding};
use crate::fuzz::Summary;

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

fn prepare(_: &Repository, _: &Path) -> Result<Box<dyn Attempts>> {
    let program = std::env::current_exe().context("find this program")?;
    Ok(Box::new(Inputs { program }))
}

#[derive(Debug)]
struct Inputs {
    /// `xtask` itself.
    program: PathBuf,
}

impl Attempts for Inputs {
    fn total(&self) -> u64 {
        INPUTS / BLOCK
    }

    fn attempt(&self, _: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let mut fuzz = Command::new(&self.program);
        fuzz.args(["fuzz", &seed.to_string(), "--json"]);
        fuzz.args(["--first", &(number * BLOCK).to_string()]);
        fuzz.args(["--executions", &BLOCK.to_string()]);
        let output = fuzz.output().context("start `xtask fuzz`")?;
        Ok(outcome(&output))
    }
}

/// What a block came to.
fn outcome(output: &Output) -> Map<String, Value> {
    let summary = serde_json::from_slice::<Summary>(&output.stdout).ok();
    let value = match summary {
        Some(sum) if output.status.success() => json!({
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
    let note = format!("{accepted} read to their end, {} refused", sum(|line| line.refused));
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

#[cfg(test)]
mod tests;
