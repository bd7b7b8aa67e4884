//! The noise of the method itself, and the discards of the filesystems on which it deletes.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::exit;
use trimbench_results::{RunRecord, Step};

use crate::LoopFilesystem;
use crate::acceptance::runs::{discarded_share, figure};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::process::Signal;

/// Placebo-only runs, and how many intervals must cover 0. At a level of 95 % more than two of 20
/// miss in 7.5 % of all series at most. The short form has time for one run only, whose interval
/// misses in one of 60 (five points reach the level of 98.3 %).
const RUNS: (u64, f64) = (20, 18.0);
const RUNS_SHORT: (u64, f64) = (1, 1.0);
/// The fewest trials that give an interval: five sizes, once each. What is written is deleted after
/// the windows only.
const PLACEBO_ONLY: [&str; 7] = [
    "placebo-only=yes",
    "sizes=16MiB,32MiB,48MiB,64MiB,80MiB",
    "repetitions=1",
    "patience=2s",
    "span=256MiB",
    "lead=300ms",
    "rest=200ms",
];

/// A filesystem, how it is mounted, whether the short form has the time for it, and how much of the
/// load reads.
struct Mounted {
    name: &'static str,
    filesystem: &'static str,
    options: &'static str,
    in_short: bool,
    reads: &'static str,
}

/// Of the image, which takes no more room than what is written.
const IMAGE_MEBIBYTES: u64 = 2048;
/// As the method does by itself.
const HALF: &str = "read-share=50%";

/// `discard=async` waits two minutes by itself before it discards, and there the load only reads:
/// each write to a file of btrfs frees the piece that it replaces, too small ever to be discarded,
/// and the end of the discards is when none are pending.
const FILESYSTEMS: [Mounted; 4] = [
    Mounted { name: "ext4", filesystem: "ext4", options: "discard", in_short: true, reads: HALF },
    Mounted { name: "xfs", filesystem: "xfs", options: "discard", in_short: true, reads: HALF },
    Mounted {
        name: "btrfs",
        filesystem: "btrfs",
        options: "discard=sync",
        in_short: true,
        reads: HALF,
    },
    Mounted {
        name: "btrfs-async",
        filesystem: "btrfs",
        options: "discard=async",
        in_short: false,
        reads: "read-share=100%",
    },
];

/// What is deleted there. With this seed the deletion comes before the placebos, which are not
/// waited for.
const ONE_DELETION: [&str; 6] =
    ["sizes=256MiB", "repetitions=1", "patience=0s", "span=64MiB", "lead=200ms", "rest=0s"];
const DELETION_FIRST_SEED: &str = "1";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for mounted in FILESYSTEMS.iter().filter(|it| it.in_short || !context.is_short()) {
        delete_once(context, mounted).with_context(|| mounted.name.to_owned())?;
    }
    let directory = context.root_folder()?;
    let memory = context.memory_folder()?;
    let (runs, _) = if context.is_short() { RUNS_SHORT } else { RUNS };
    for seed in 1..=runs {
        let name = format!("placebo-{seed}");
        let output = memory.path().join(&name);
        let mut command = context.run("delete-stall", directory.path(), &PLACEBO_ONLY)?;
        command.args(["--seed", &seed.to_string(), "--output"]).arg(&output);
        context.capture_well(&name, &mut command)?;
        fs::copy(output.join("run.json"), context.folder().join(record(&name)))
            .with_context(|| format!("keep the record of {name}"))?;
    }
    Ok(())
}

/// Where a run's record is kept.
fn record(name: &str) -> String {
    format!("{name}.json")
}

/// Deletes a file on a filesystem of our own, and ends the run once that is recorded.
fn delete_once(context: &Context<'_>, mounted: &Mounted) -> Result<()> {
    let Mounted { name, filesystem, options, .. } = *mounted;
    ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
    let made = LoopFilesystem::new(filesystem, IMAGE_MEBIBYTES, options);
    context.alias(made.path(), &format!("${}", name.to_uppercase()));
    let output = context.folder().join(name);
    let mut command = context.run("delete-stall", made.path(), &ONE_DELETION)?;
    command.args(["--set", mounted.reads, "--seed", DELETION_FIRST_SEED, "--output"]).arg(&output);
    let kept = output.join("run.json");
    let is_deleted = || {
        let record = fs::read(&kept).ok().and_then(|json| RunRecord::from_json(&json).ok());
        record.is_some_and(|record| !deletions(&record).is_empty())
    };
    context.capture_signalled(name, &mut command, Signal::INT, is_deleted)?;
    fs::copy(kept, context.folder().join(record(name))).context("keep the record")?;
    Ok(())
}

/// The steps of a record that deleted something.
fn deletions(record: &RunRecord) -> Vec<&Step> {
    let steps = record.sessions.iter().flat_map(|session| &session.steps);
    steps.filter(|step| step.kind == "delete").collect()
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let captures = raw.captures()?;
    let placebo_runs: Vec<&Capture> =
        captures.iter().filter(|capture| capture.name.starts_with("placebo-")).collect();
    let mut findings = vec![covered(raw, &placebo_runs)?];
    for mounted in &FILESYSTEMS {
        // What the short form leaves out must be there in the full one.
        let is_there = captures.iter().any(|capture| capture.name == mounted.name);
        if is_there || mounted.in_short || placebo_runs.len() as u64 == RUNS.0 {
            findings.push(discarded(raw, mounted)?);
        }
    }
    Ok(findings)
}

/// How many intervals cover 0.
fn covered(raw: &Raw, runs: &[&Capture]) -> Result<Finding> {
    let first = runs.first().context("no placebo-only run")?;
    let bars = [RUNS, RUNS_SHORT];
    let bar = bars.iter().find(|(count, _)| *count == runs.len() as u64);
    let (_, least) = bar.with_context(|| format!("{} placebo-only runs", runs.len()))?;
    let (mut covering, mut intervals) = (0_u32, Vec::new());
    for run in runs {
        run.expect_status(0)?;
        let file = record(&run.name);
        let record = raw.record(&file)?;
        ensure!(deletions(&record).is_empty(), "{file} is not placebo-only");
        let session = record.sessions.first().context("nothing was measured")?;
        let interval = figure(session, "stutter")?.interval;
        let interval = interval.with_context(|| format!("{file} has no interval"))?;
        covering += u32::from(interval.contains(0.0));
        intervals.push(format!("{:.4} to {:.4}", interval.low, interval.high));
    }
    let what = "placebo-only runs whose interval of the stutter covers 0";
    let note = format!("of {} runs; s/GB: {}", runs.len(), intervals.join(", "));
    let finding = Finding::new(what, (covering.into(), ""), Bar::AtLeast(*least), first);
    Ok(finding.from_file(&record(&first.name)).with_note(&note))
}

/// What of a deletion was discarded before its window closed.
fn discarded(raw: &Raw, mounted: &Mounted) -> Result<Finding> {
    let Mounted { name, options, .. } = mounted;
    let capture = raw.capture(name)?;
    // It is ended once the deletion is recorded.
    capture.expect_status(exit::INTERRUPTED.into())?;
    let record_file = record(name);
    let run_record = raw.record(&record_file)?;
    let shares = deletions(&run_record).into_iter().map(discarded_share);
    let shares: Vec<f64> = shares.collect::<Result<_>>()?;
    ensure!(!shares.is_empty(), "{record_file} has no deletion");
    let least = shares.into_iter().fold(f64::INFINITY, f64::min);
    let what = format!("discarded within the window over freed, {name}");
    let note = format!("mounted with `{options}`");
    let finding = Finding::new(&what, (least, ""), Bar::AtLeast(1.0), &capture);
    Ok(finding.from_file(&record_file).with_note(&note))
}

#[cfg(test)]
mod tests;
