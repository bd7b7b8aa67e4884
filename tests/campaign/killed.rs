//! Campaign `safe.4`: the program is killed, or the disk with its record loses power.
//!
//! Of each seven attempts five are kills (`attempt`) and two are power cuts
//! (`crashed`). Either way the record is then held against what the run had acknowledged,
//! reported, and gone on with; and what is left behind is looked for.

pub(super) mod attempt;
pub(super) mod left;
pub(super) mod record;
pub(super) mod variant;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};
use trimbench_core::rng::Rng;

use super::{Attempts, Campaign, Ledger, crashed, program};
use crate::Repository;
use crate::acceptance::{Bar, Finding};
use attempt::Reference;

#[cfg(test)]
mod tests;

/// The campaign.
pub const CAMPAIGN: Campaign = Campaign {
    id: "safe.4",
    title: "A kill -9 at some moment of a run, or a power cut of the disk that it writes to",
    sources: SOURCES,
    workers: 2,
    prepare,
    judge,
};

/// What writes records and traces, goes on with them, and removes what killed runs left.
const SOURCES: &[&str] = &[
    "crates/trimbench/src/commands.rs",
    "crates/trimbench/src/run.rs",
    "crates/trimbench/src/store.rs",
    "crates/trimbench/src/trace/",
    "crates/trimbench-linux/src/directory/",
    "crates/trimbench-linux/src/mkfs.rs",
    "crates/trimbench-linux/src/mkfs/",
    "crates/trimbench-linux/src/output.rs",
    "crates/trimbench-linux/src/output/",
    "crates/trimbench-linux/src/tracepoints/",
];

/// Kills and power cuts of a whole campaign.
const KILLS: u64 = 500;
const CUTS: u64 = 200;
/// Of so many attempts in a row, the first ones are kills.
const ROUND: u64 = 7;
const KILLS_IN_ROUND: u64 = 5;
/// Filesystems that lose power.
const FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// The capacity of the drive that the trace which is converted was made for.
const TRACE_CAPACITY: &str = "4GiB";

fn prepare(repository: &Repository, folder: &Path) -> Result<Box<dyn Attempts>> {
    let program = program(repository, folder)?;
    Ok(Box::new(Killed { bench: Bench::new(program, folder)? }))
}

/// What all attempts share.
#[derive(Debug)]
pub(super) struct Bench {
    program: PathBuf,
    /// The trace that is converted.
    input: PathBuf,
    /// Of variants that were run to their end, by their names and arguments.
    references: Mutex<BTreeMap<String, Arc<Reference>>>,
}

impl Bench {
    fn new(program: PathBuf, folder: &Path) -> Result<Self> {
        let input = folder.join("input.trace");
        let bench = Self { program, input, references: Mutex::default() };
        let input = bench.input.to_str().context("the path of the checkout is not UTF-8")?;
        let arguments = ["trace", "generate", input, "--to", "trimbench", "--overwrite"];
        let arguments = [&arguments[..], &["--capacity", TRACE_CAPACITY]].concat();
        let made = bench.run(&arguments, folder)?;
        ensure!(made.status.success(), "make a trace: {}", complaint(&made));
        Ok(bench)
    }

    /// The program in `folder`, whose temporary directory is `tmp` in it.
    pub(super) fn command(&self, arguments: &[impl AsRef<str>], folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments.iter().map(AsRef::as_ref)).current_dir(folder);
        command.env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8").env("TMPDIR", folder.join("tmp"));
        command.stdin(Stdio::null());
        command
    }

    /// The trace that is converted.
    pub(super) fn input(&self) -> &Path {
        &self.input
    }

    /// Runs it to its end.
    pub(super) fn run(&self, arguments: &[impl AsRef<str>], folder: &Path) -> Result<Output> {
        self.command(arguments, folder).output().context("start the program")
    }
}

#[derive(Debug)]
struct Killed {
    bench: Bench,
}

impl Attempts for Killed {
    fn total(&self) -> u64 {
        KILLS + CUTS
    }

    fn attempt(&self, _: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let mut rng = Rng::new(seed).split(&format!("safe.4 {number}"));
        let (round, place) = (number / ROUND, number % ROUND);
        let made = catch_unwind(AssertUnwindSafe(|| match place.checked_sub(KILLS_IN_ROUND) {
            None => attempt::kill(&self.bench, &mut rng),
            Some(cut) => {
                let turn = round * (ROUND - KILLS_IN_ROUND) + cut;
                let turn = usize::try_from(turn).expect("attempts are countable");
                crashed::cut(&self.bench, (FILESYSTEMS[turn % FILESYSTEMS.len()], turn), &mut rng)
            }
        }));
        // The helpers of tests panic where the machine refuses something.
        let line = made.map_err(|panic| anyhow!("{}", message(&*panic)))??;
        let line = serde_json::to_value(line).context("write an attempt")?;
        let Value::Object(line) = line else { unreachable!("a line is an object") };
        Ok(line)
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// How the program ended, and why.
pub(super) fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.lines().find(|line| line.starts_with("error")).unwrap_or_default().to_owned();
    format!("{}: {}", output.status, text.chars().take(200).collect::<String>())
}

/// What came of an attempt.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    /// What was run.
    pub(super) run: String,
    /// The filesystem that lost power; of a kill empty.
    pub(super) disk: String,
    /// The moment, in words.
    pub(super) at: String,
    /// How many things the killed run held that must be gone after the next start.
    pub(super) held: usize,
    /// Whether there was a record or an output.
    pub(super) kept: bool,
    /// How often the next start found the target still in use.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) refused: u64,
    /// What was wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) wrong: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn judge(ledger: &Ledger) -> Result<Vec<Finding>> {
    let lines: Vec<Line> = ledger.outcomes()?;
    let (cuts, kills): (Vec<&Line>, Vec<&Line>) =
        lines.iter().partition(|line| !line.disk.is_empty());
    // A sample is drawn at random and may lack one of the kinds.
    let least = |whole: u64| if ledger.is_whole() { whole } else { 0 };
    let count = |what: &str, of: &[&Line], least: u64| {
        let kept = of.iter().filter(|line| line.kept).count();
        let held: usize = of.iter().map(|line| line.held).sum();
        let refused = of.iter().filter(|line| line.refused > 0).count();
        let note = format!(
            "{kept} after something was kept; {held} things were held; {refused} next starts found \
             the target still in use at first"
        );
        ledger.finding(what, (of.len() as f64, ""), Bar::AtLeast(least as f64)).with_note(&note)
    };
    let wrong = |what: &str, of: &[&Line]| {
        let wrong: Vec<&&Line> = of.iter().filter(|line| !line.wrong.is_empty()).collect();
        let first = wrong.first().map_or_else(String::new, |line| {
            format!("{} {} at {}: {}", line.run, line.disk, line.at, line.wrong.join("; "))
        });
        ledger.finding(what, (wrong.len() as f64, ""), Bar::Equals(0.0)).with_note(&first)
    };
    let mut findings = vec![
        count("kills", &kills, least(KILLS)),
        wrong("kills after which something was lost, wrong or left behind", &kills),
    ];
    for filesystem in FILESYSTEMS {
        let of: Vec<&Line> = cuts.iter().filter(|line| line.disk == filesystem).copied().collect();
        findings.push(count(&format!("power cuts of {filesystem}"), &of, least(CUTS / 3)));
    }
    findings.push(wrong("power cuts after which something was lost, wrong or left behind", &cuts));
    Ok(findings)
}

impl Bench {
    /// What this key stands for, made once. Whoever comes second may make it as well: it is the
    /// same.
    fn reference(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Reference>,
    ) -> Result<Arc<Reference>> {
        let known = || self.references.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reference) = known().get(key) {
            return Ok(Arc::clone(reference));
        }
        let reference = Arc::new(make()?);
        known().insert(key.to_owned(), Arc::clone(&reference));
        Ok(reference)
    }
}
