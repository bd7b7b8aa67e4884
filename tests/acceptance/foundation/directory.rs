//! A run in a directory of the root filesystem: measured, reported, and left as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::exit;
use trimbench_results::{RunRecord, Session};

use crate::acceptance::runs::{discarded_share, figure};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::process::Signal;

/// The sizes of the issue, and smaller ones that fit into the short form.
const FULL: &[&str] = &["sizes=256MiB,512MiB,1GiB,2GiB,4GiB"];
const SHORT: &[&str] = &[
    "sizes=64MiB,128MiB,256MiB,384MiB,512MiB",
    "span=256MiB",
    // Five sizes once each are the fewest deletions that give an interval.
    "repetitions=1",
    "patience=0s",
    "lead=200ms",
    "rest=0s",
];
/// What is measured when only the ending matters.
const QUICK: &[&str] = &["sizes=16MiB,32MiB", "span=64MiB", "lead=100ms", "rest=0s"];
/// The record of the main run.
const RECORD: &str = "run.json";
/// Cells of a picture's line: a bar beside a figure is shorter.
const PICTURE_CELLS: usize = 20;

/// Where a run works, and where its record goes until it is over.
struct Place<'a> {
    directory: &'a Path,
    memory: &'a Path,
}

/// The run that is killed comes first, so that the main run is the next start.
pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let (directory, memory) = (context.root_folder()?, context.memory_folder()?);
    let place = Place { directory: directory.path(), memory: memory.path() };
    end_midway(context, &place, ("killed", Signal::KILL))?;
    list(context, &place, "killed")?;
    let options = if context.is_short() { SHORT } else { FULL };
    context.capture("run", &mut run(context, &place, ("run", options))?)?;
    fs::copy(place.record("run"), context.folder().join(RECORD)).context("keep the record")?;
    list(context, &place, "run")?;
    end_midway(context, &place, ("interrupted", Signal::INT))?;
    list(context, &place, "interrupted")
}

impl Place<'_> {
    fn record(&self, name: &str) -> PathBuf {
        self.memory.join(name).join("run.json")
    }
}

fn run(
    context: &Context<'_>,
    place: &Place<'_>,
    (name, options): (&str, &[&str]),
) -> Result<Command> {
    let mut command = context.run("delete-stall", place.directory, options)?;
    command.arg("--output").arg(place.memory.join(name));
    // So that the picture is drawn with the characters that `read` looks for.
    command.env("LC_ALL", "C.UTF-8");
    Ok(command)
}

/// Ends a run in its second trial.
fn end_midway(
    context: &Context<'_>,
    place: &Place<'_>,
    (name, signal): (&str, Signal),
) -> Result<()> {
    let record = place.record(name);
    let mut command = run(context, place, (name, QUICK))?;
    let one_step_is_done = || {
        let record = fs::read(&record).ok().and_then(|json| RunRecord::from_json(&json).ok());
        record.is_some_and(|it| it.sessions.iter().any(|session| !session.steps.is_empty()))
    };
    context.capture_signalled(name, &mut command, signal, one_step_is_done).map(|_| ())
}

/// Lists what is in the directory.
fn list(context: &Context<'_>, place: &Place<'_>, after: &str) -> Result<()> {
    let mut find = Command::new("find");
    find.arg(place.directory).args(["-mindepth", "1"]);
    context.capture_well(&format!("left-{after}"), &mut find).map(|_| ())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let record = raw.record(RECORD)?;
    let session = record.sessions.first().context("nothing was measured")?;
    let run = raw.capture("run")?;
    let code = run.status.context("a signal ended the run")?;
    let itself = raw.capture_itself("run")?;
    let mut findings = vec![
        Finding::new("exit code", (code.into(), ""), Bar::Equals(0.0), &itself),
        stutter(session, &run)?,
        discards(session, &run)?,
        picture(raw, &run)?,
    ];
    // The run that was killed must have left something, or its cleaning shows nothing.
    let killed = left(raw, "killed")?;
    let what = "entries that SIGKILL midway left";
    findings.push(Finding { bar: Bar::AtLeast(1.0), ..entries(what, killed) });
    let interrupted = raw.capture_itself("interrupted")?;
    let code = interrupted.status.context("the interrupted run was killed")?;
    let bar = Bar::Equals(exit::INTERRUPTED.into());
    findings.push(Finding::new("exit code after SIGINT", (code.into(), ""), bar, &interrupted));
    for (after, what) in [
        ("run", "entries left after SIGKILL, the next start and its end"),
        ("interrupted", "entries left after SIGINT midway"),
    ] {
        findings.push(entries(what, left(raw, after)?));
    }
    Ok(findings)
}

/// The headline: every deletion is behind its interval. It may be anything, also noise.
fn stutter(session: &Session, run: &Capture) -> Result<Finding> {
    let stutter = figure(session, "stutter")?;
    let interval = stutter.interval.context("the stutter has no interval")?;
    let verdict = stutter.verdict.as_ref().context("the stutter has no verdict")?;
    let note = format!(
        "{:.4} s/GB, {:.0} % interval {:.4} to {:.4}: {verdict}",
        stutter.value,
        interval.level * 100.0,
        interval.low,
        interval.high
    );
    let deletions = session.steps.iter().filter(|step| step.kind == "delete").count();
    let bar = Bar::Equals(deletions as f64);
    let what = "deletions behind the stutter's interval";
    let finding = Finding::new(what, (stutter.n as f64, ""), bar, run);
    Ok(finding.from_file(RECORD).with_note(&note))
}

/// How many deletions' discards were all seen before the window closed.
fn discards(session: &Session, run: &Capture) -> Result<Finding> {
    let (mut deletions, mut complete, mut least) = (0_u32, 0_u32, f64::INFINITY);
    for step in session.steps.iter().filter(|step| step.kind == "delete") {
        let share = discarded_share(step)?;
        deletions += 1;
        complete += u32::from(share >= 1.0);
        least = least.min(share);
    }
    ensure!(deletions > 0, "nothing was deleted");
    let what = "deletions whose discards reached the freed bytes within the window";
    let note = format!("of {deletions}; the least: {least:.4} of the freed bytes");
    let finding = Finding::new(what, (complete.into(), ""), Bar::Equals(deletions.into()), run);
    Ok(finding.from_file(RECORD).with_note(&note))
}

/// Lines of the picture in what the run printed.
fn picture(raw: &Raw, run: &Capture) -> Result<Finding> {
    let printed = raw.text(&run.output)?;
    let cells = |line: &str| line.chars().filter(|cell| ('▁'..='█').contains(cell)).count();
    let lines = printed.lines().filter(|line| cells(line) >= PICTURE_CELLS).count();
    let is_mark = |line: &str| line.trim_start().starts_with('▲') && line.contains("deleted at");
    ensure!(printed.lines().any(is_mark), "no picture says when the file was deleted");
    let what = "lines of the picture in the terminal";
    Ok(Finding::new(what, (lines as f64, ""), Bar::AtLeast(1.0), run))
}

/// What a listing shows, and the listing.
fn left(raw: &Raw, after: &str) -> Result<(usize, Capture)> {
    let listing = raw.capture(&format!("left-{after}"))?;
    listing.expect_status(0)?;
    Ok((raw.text(&listing.output)?.lines().count(), listing))
}

fn entries(what: &str, (count, listing): (usize, Capture)) -> Finding {
    Finding::new(what, (count as f64, ""), Bar::Equals(0.0), &listing)
}

#[cfg(test)]
mod tests;
