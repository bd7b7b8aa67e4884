//! Is my stall TRIM? Stalls that are planted again and again, and a load without discards for 100
//! minutes, on a disk that stands still at times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use tests::stalled::{STALLED_NEEDS, StallPlant};
use trimbench_core::Nanos;
use trimbench_doctor::watch::{WatchReport, WatchSource, WatchVerdict};
use xtask::process;

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "watch",
    title: "Stalls by slow discards, by a slow disk and by a frozen filesystem are named rightly, \
            and a load without discards accuses nobody",
    needs: &STALLED_NEEDS,
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-claim",
        "crates/trimbench-linux/src/tracepoints",
        "crates/trimbench-doctor/src/watch",
    ],
    run,
};

/// How long a planted stall is watched, and a load without discards at a time.
const PLANT: Nanos = Nanos::from_secs(8);
const LOAD: Nanos = Nanos::from_secs(60);
/// Loads without discards that are watched at once, each on a disk of its own: what one does to the
/// others are stalls without discards, of which there cannot be too many.
const LOADS_AT_ONCE: usize = 5;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for plant in StallPlant::NAMED {
        let times = lab.form(3, 20);
        let reports = watched(lab, plant, (times, 1), PLANT)?;
        let named = reports.iter().filter(|report| plant.is_named(report)).count();
        let what = format!("{}: named rightly, of {times}", plant.id());
        figures.push(
            Figure::new(what, (named as f64, ""), Bar::Equals(times as f64))
                .with_note(others(&reports, |report| !plant.is_named(report))),
        );
    }
    let minutes = lab.form(2, 100);
    let reports = watched(lab, StallPlant::NoDiscards, (minutes, LOADS_AT_ONCE), LOAD)?;
    let is_accused = |report: &WatchReport| report.findings.verdict == WatchVerdict::Trim;
    let accused = reports.iter().filter(|report| is_accused(report)).count();
    let stalls: u64 = reports.iter().map(|report| report.findings.stalls_count).sum();
    let watched: u64 = reports.iter().map(|report| report.watched_ns).sum();
    let watched = Nanos(watched).seconds() / 60.0;
    figures.extend([
        Figure::new("no discards: minutes", (watched, "min"), Bar::AtLeast(minutes as f64 * 0.999)),
        Figure::new("no discards: stalls", (stalls as f64, ""), Bar::AtLeast(minutes as f64)),
        Figure::new("no discards: accusations of TRIM", (accused as f64, ""), Bar::Equals(0.0))
            .with_note(others(&reports, is_accused)),
    ]);
    Ok(figures)
}

/// Plants it so many times, each with its own seed, and some at once.
fn watched(
    lab: &Lab<'_>,
    plant: StallPlant,
    (times, at_once): (u64, usize),
    span: Nanos,
) -> Result<Vec<WatchReport>> {
    let deadline = lab.deadline();
    let watch = |seed| -> Result<WatchReport> {
        ensure!(!process::interrupted(), "interrupted");
        ensure!(!deadline.remaining().is_zero(), "the time is over");
        let report = plant.watched(seed, span, false);
        ensure!(report.source == WatchSource::Tracepoints, "no tracepoints");
        eprintln!("  {} {}: {}", plant.id(), seed + 1, report.conclusion);
        Ok(report)
    };
    let next = AtomicU64::new(0);
    let some = || {
        let seeds = std::iter::from_fn(|| {
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < times)
        });
        seeds.map(watch).collect::<Result<Vec<_>>>()
    };
    let all: Result<Vec<_>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(some)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("it does not panic"));
        ended.collect()
    });
    Ok(all?.into_iter().flatten().collect())
}

/// What was said of those that were not as they should be.
fn others(reports: &[WatchReport], is_wrong: impl Fn(&WatchReport) -> bool) -> String {
    let wrong: Vec<&str> = reports
        .iter()
        .filter(|report| is_wrong(report))
        .map(|report| report.conclusion.as_str())
        .collect();
    wrong.join("; ")
}
