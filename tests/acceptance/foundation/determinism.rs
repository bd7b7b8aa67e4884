//! The same seed gives the same bytes, also after an interrupt and after a crash.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::exit;
use trimbench_results::{Outcome, RunRecord};

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::process::Signal;

/// Two seeds; which ones does not matter.
const SEED: &str = "7";
const OTHER_SEED: &str = "8";
/// Of `quick`, but for windows long enough that there is something to interrupt: some tenths of a
/// second a drive.
const OPTION: &str = "window=10s";

/// How a run is ended before its end.
struct Ending {
    name: &'static str,
    signal: Signal,
}

const ENDINGS: [Ending; 2] = [
    Ending { name: "SIGINT", signal: Signal::INT },
    Ending { name: "SIGKILL", signal: Signal::KILL },
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for (name, seed) in [("first", SEED), ("second", SEED), ("other", OTHER_SEED)] {
        let output = context.folder().join(name);
        context.capture_well(name, &mut run(context, &output, seed)?)?;
    }
    for ending in ENDINGS {
        let output = context.folder().join(ending.name);
        let mut interrupted = run(context, &output, SEED)?;
        // Midway: at least one session is done, and at least one is not.
        context.capture_signalled(ending.name, &mut interrupted, ending.signal, || {
            finished_sessions(&output.join("run.json")) > 0
        })?;
        let record = output.join("run.json");
        let kept = context.folder().join(before(ending.name));
        fs::copy(&record, kept).context("keep the record of an interrupted run")?;
        let mut resume = context.trimbench(&["run", "--resume"])?;
        context.capture_well(&format!("{}-resumed", ending.name), resume.arg(&output))?;
    }
    Ok(())
}

fn run(context: &Context<'_>, output: &Path, seed: &str) -> Result<std::process::Command> {
    let mut command =
        context.trimbench(&["run", "delete-stall", "--set", OPTION, "--seed", seed])?;
    command.arg("--output").arg(output);
    Ok(command)
}

/// Sessions that a record shows as done; 0 while there is none.
fn finished_sessions(record: &Path) -> usize {
    fs::read_to_string(record).unwrap_or_default().matches("\"finished\": true").count()
}

/// The record of a run as it was before it was resumed.
fn before(name: &str) -> String {
    format!("{name}-before.json")
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let whole = raw.bytes("first/run.json")?;
    let capture = raw.capture("second")?;
    capture.expect_status(0)?;
    let second = Compared::new(&whole, &raw.bytes("second/run.json")?);
    let mut findings = vec![
        second.finding("bytes of run.json that differ between two runs of one seed", &capture),
        other_seed(raw)?,
    ];
    for ending in ENDINGS {
        findings.extend(ended(raw, &whole, ending.name)?);
    }
    Ok(findings)
}

/// Seeds must matter: not only the seed in the record may differ.
fn other_seed(raw: &Raw) -> Result<Finding> {
    let (first, other) = (raw.record("first/run.json")?, raw.record("other/run.json")?);
    ensure!(first.sessions.len() == other.sessions.len(), "the two seeds have other sessions");
    let pairs = first.sessions.iter().zip(&other.sessions);
    let differing = pairs.filter(|(a, b)| a.trace_hash != b.trace_hash).count();
    let capture = raw.capture("other")?;
    let bar = Bar::Equals(first.sessions.len() as f64);
    let what = "sessions whose trace hash differs with another seed";
    Ok(Finding::new(what, (differing as f64, ""), bar, &capture).from_file("other/run.json"))
}

/// What became of a run that was ended and resumed.
fn ended(raw: &Raw, whole: &[u8], name: &str) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let capture = raw.capture_itself(name)?;
    // SIGKILL leaves no exit code and no time to write an outcome.
    let expected = if let Some(code) = capture.status {
        let bar = Bar::Equals(exit::INTERRUPTED.into());
        findings.push(Finding::new("exit code after SIGINT", (code.into(), ""), bar, &capture));
        Outcome::Interrupted
    } else {
        Outcome::Running
    };
    let record = raw.record(&before(name))?;
    ensure!(record.outcome == expected, "after {name} the record says {:?}", record.outcome);
    findings.push(kept(&record, name, &capture));
    let resumed = raw.capture(&format!("{name}-resumed"))?;
    resumed.expect_status(0)?;
    let file = format!("{name}/run.json");
    let compared = Compared::new(whole, &raw.bytes(&file)?);
    let what = format!("bytes that differ from an uninterrupted run after {name} and `--resume`");
    findings.push(compared.finding(&what, &resumed).from_file(&file));
    Ok(findings)
}

/// What an ended run kept in its readable record.
fn kept(record: &RunRecord, name: &str, capture: &Capture) -> Finding {
    let finished = record.sessions.iter().filter(|session| session.finished).count();
    let steps: usize = record.sessions.iter().map(|session| session.steps.len()).sum();
    let planned = record.plan.len();
    let what = format!("share of the sessions that the readable record holds after {name}");
    let note = format!("{finished} of {planned} sessions and {steps} steps are kept");
    // None would mean that nothing was kept, all that nothing was interrupted.
    let bar = Bar::Within(0.25, 0.75);
    let share = finished as f64 / planned as f64;
    Finding::new(&what, (share, ""), bar, capture).from_file(&before(name)).with_note(&note)
}

/// How two files differ.
struct Compared {
    bytes: usize,
    differing: usize,
}

impl Compared {
    fn new(one: &[u8], other: &[u8]) -> Self {
        let changed = one.iter().zip(other).filter(|(a, b)| a != b).count();
        Self { bytes: one.len(), differing: changed + one.len().abs_diff(other.len()) }
    }

    fn finding(&self, what: &str, capture: &Capture) -> Finding {
        let figure = (self.differing as f64, "");
        let note = format!("of {} bytes", self.bytes);
        Finding::new(what, figure, Bar::Equals(0.0), capture).with_note(&note)
    }
}

#[cfg(test)]
mod tests;
