//! Claim `truth.1`: how often `delete-stall` finds a slowdown where nothing is deleted, and how
//! often it finds one that was planted.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::exit;
use trimbench_results::statistics::median;
use trimbench_results::{RunRecord, Session, Verdict};

use crate::acceptance::runs::figure;
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// Every built-in drive.
const DRIVES: [&str; 20] = [
    "generic-nvme-dramless",
    "generic-nvme-qlc",
    "generic-nvme-tlc",
    "generic-sata-compressing",
    "generic-sata-tlc",
    "like-850-pro",
    "like-callaghan-raid0",
    "like-m4-256",
    "like-m500",
    "like-optane-900p",
    "like-p3500",
    "like-rc100",
    "like-ssd340",
    "like-vertex4",
    "vendor1",
    "vendor2",
    "vendor3",
    "vendor4",
    "vendor5",
    "vendor6",
];
/// A drive that works 2 s off for each GiB, in slices of these lengths.
const SLICES: [&str; 3] = ["100us", "1ms", "10ms"];
const BACKGROUND: &str = "plain-nvme-tlc,trim.per_gib_mapped=2s,trim.background_slice=";
/// A drive, and what a TRIM of a GiB costs it on request: 13.6 ms, of which a GB is 12.7 ms. That
/// is about twice its detection limit, by which it is judged.
const PLANTED: &str = "generic-sata-compressing,trim.per_gib_mapped=13600us";
const PLANTED_S_PER_GB: f64 = 0.013_6 / 1.073_741_824;
/// Drives on which 99.9 % of the load's accesses take at most so many ms beside a placebo are
/// quiet.
const QUIET_MS: f64 = 0.25;
/// What must be found on those, s/GB.
const LIMIT: f64 = 0.005;

/// Options of runs where nothing is deleted before a window has closed.
const NOTHING: &[&str] = &["placebo-only=yes"];
/// On the disk, with enough pairs for both intervals: 14 at 1.5 s, twice.
const ON_DISK: &[&str] = &[
    "placebo-only=yes",
    "sizes=16MiB,32MiB,48MiB,64MiB,80MiB,96MiB,112MiB",
    "repetitions=1",
    "window=1s",
    "span=128MiB",
    "lead=300ms",
    "rest=200ms",
    "patience=1s",
    "rate=200",
];

/// A kind of runs: its name, its drives, its options, and the seeds of the short and full form.
struct Series {
    name: &'static str,
    drives: Vec<String>,
    options: &'static [&'static str],
    seeds: [u64; 2],
}

const ALIKE: &str = "alike";
const WORKING: &str = "working";
const PLANTED_RUNS: &str = "planted";
const DISK: &str = "disk";
/// Runs on the disk, and how many of them may find something.
const DISK_RUNS: u64 = 10;
const DISK_FALSE: f64 = 2.0;

fn series() -> [Series; 3] {
    let working = SLICES.iter().map(|slice| format!("{BACKGROUND}{slice}")).collect();
    let all = DRIVES.map(str::to_owned).to_vec();
    let planted = vec![PLANTED.to_owned()];
    let once: &[&str] = &["as=blkdiscard"];
    [
        Series { name: ALIKE, drives: all, options: NOTHING, seeds: [3, 50] },
        Series { name: WORKING, drives: working, options: NOTHING, seeds: [5, 66] },
        Series { name: PLANTED_RUNS, drives: planted, options: once, seeds: [20, 200] },
    ]
}

/// What one run came to.
#[derive(Debug, Deserialize, Serialize)]
struct Outcome {
    drive: String,
    seed: u64,
    verdict: Verdict,
    /// The detection limit, s/GB; none where there are too few pairs.
    limit: Option<f64>,
    /// p99.9 of the load's accesses beside placebos.
    tail_ms: Option<f64>,
}

impl Outcome {
    fn of(session: &Session, seed: u64) -> Result<Self> {
        let value = |id: &str| session.figure(id).map(|figure| figure.value);
        let verdict = figure(session, "stutter")?.verdict.clone().context("no verdict")?;
        let drive = session.plan.target.clone();
        let (limit, tail_ms) = (value("detection-limit"), value("response-p99.9-placebo"));
        Ok(Self { drive, seed, verdict, limit, tail_ms })
    }

    /// Whether it says that a deletion makes a difference.
    fn is_found(&self) -> bool {
        !matches!(self.verdict, Verdict::NoSlowdownFound { .. } | Verdict::NothingToNotice)
    }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for series in series() {
        let seeds = series.seeds[usize::from(!context.is_short())];
        let targets: Vec<String> = series.drives.iter().map(|it| format!("sim:{it}")).collect();
        runs(context, (series.name, seeds), &targets, series.options)?;
    }
    if context.is_short() {
        return Ok(());
    }
    let directory = context.root_folder()?;
    let target = directory.path().to_str().context("a path in UTF-8")?.to_owned();
    runs(context, (DISK, DISK_RUNS), &[target], ON_DISK)
}

/// Runs on all targets, once for each seed, and keeps what each came to.
fn runs(
    context: &Context<'_>,
    (name, seeds): (&str, u64),
    targets: &[String],
    options: &[&str],
) -> Result<()> {
    context.keep(name, || {
        let memory = context.memory_folder()?;
        let (first, others) = targets.split_first().context("no target")?;
        let mut outcomes = Vec::new();
        for seed in 1..=seeds {
            let folder = memory.path().join("run");
            let mut command = context.run("delete-stall", first, options)?;
            for target in others {
                command.arg("--target").arg(target);
            }
            command.args(["--seed", &seed.to_string(), "--output"]).arg(&folder);
            let status = command.output().context("run trimbench")?.status;
            let ends = [0, i32::from(exit::INVALID)];
            ensure!(status.code().is_some_and(|it| ends.contains(&it)), "seed {seed}: {status}");
            let json = fs::read(folder.join("run.json")).context("read a record")?;
            let record = RunRecord::from_json(&json).context("read a record")?;
            ensure!(record.sessions.len() == targets.len(), "seed {seed}: not all were measured");
            for session in &record.sessions {
                outcomes.push(Outcome::of(session, seed)?);
            }
            fs::remove_dir_all(&folder).context("remove a record")?;
        }
        Ok(outcomes)
    })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, alike) = raw.lines::<Outcome>(ALIKE)?;
    let (working_capture, working) = raw.lines::<Outcome>(WORKING)?;
    let mut findings = vec![
        false_ones("drives as they are", &capture, &alike),
        quiet(&capture, &alike)?,
        false_ones("drives at work in the background", &working_capture, &working),
    ];
    findings.extend(planted(raw)?);
    if !raw.is_short() {
        let (capture, disk) = raw.lines::<Outcome>(DISK)?;
        ensure!(disk.len() as u64 == DISK_RUNS, "{} runs on the disk", disk.len());
        let found = disk.iter().filter(|outcome| outcome.is_found()).count() as f64;
        let what = "this machine's disk: false verdicts of 10";
        findings.push(Finding::new(what, (found, ""), Bar::AtMost(DISK_FALSE), &capture));
    }
    Ok(findings)
}

/// How many of these runs say that there is a difference. At 1 in 20 each, more than two standard
/// deviations above that are found in 1 of 40 series: 64 of 1,000.
fn false_ones(of: &str, capture: &Capture, outcomes: &[Outcome]) -> Finding {
    let count = outcomes.len() as f64;
    let most = (0.05 * count + 2.0 * (0.05 * 0.95 * count).sqrt()).round();
    let found: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.is_found()).collect();
    let note = |outcome: &&Outcome| {
        format!("{} with seed {}: {}", outcome.drive, outcome.seed, outcome.verdict)
    };
    let notes: Vec<String> = found.iter().map(note).collect();
    let what = format!("{of}: false verdicts of {count}");
    let finding = Finding::new(&what, (found.len() as f64, ""), Bar::AtMost(most), capture);
    finding.with_note(&notes.join("; "))
}

/// The detection limit of the quiet drive that has the highest.
fn quiet(capture: &Capture, outcomes: &[Outcome]) -> Result<Finding> {
    let mut limits = Vec::new();
    for drive in outcomes.iter().filter(|outcome| outcome.seed == 1).map(|it| &it.drive) {
        let runs = || outcomes.iter().filter(|outcome| outcome.drive == *drive);
        let tails: Vec<f64> = runs().filter_map(|outcome| outcome.tail_ms).collect();
        if median(&tails).is_some_and(|tail| tail <= QUIET_MS) {
            let of_runs: Vec<f64> = runs().filter_map(|outcome| outcome.limit).collect();
            limits.push((drive.clone(), median(&of_runs).context("no detection limit")?));
        }
    }
    let highest = limits.iter().map(|it| it.1).max_by(f64::total_cmp);
    let highest = highest.context("no drive is quiet")?;
    let notes = limits.iter().map(|(drive, limit)| format!("{drive}: {limit:.5}"));
    let notes: Vec<String> = notes.collect();
    let what = "highest detection limit of a quiet drive";
    let finding = Finding::new(what, (highest, "s/GB"), Bar::AtMost(LIMIT), capture);
    Ok(finding.with_note(&format!("median of its runs; {}", notes.join(", "))))
}

/// How often the planted slowdown is found, and how it compares with the limit.
fn planted(raw: &Raw) -> Result<[Finding; 2]> {
    let (capture, outcomes) = raw.lines::<Outcome>(PLANTED_RUNS)?;
    let slower =
        |outcome: &&Outcome| outcome.is_found() && outcome.verdict != Verdict::FasterThanPlacebo;
    let found = outcomes.iter().filter(slower).count() as f64;
    let limits: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.limit).collect();
    let ratio = PLANTED_S_PER_GB / median(&limits).context("no detection limit")?;
    let share = found / outcomes.len() as f64 * 100.0;
    let what = format!("a planted slowdown of {PLANTED_S_PER_GB:.4} s/GB: found");
    let note = format!("{found} of {}", outcomes.len());
    Ok([
        Finding::new(&what, (share, "%"), Bar::AtLeast(95.0), &capture).with_note(&note),
        Finding::new("that slowdown over the limit", (ratio, ""), Bar::AtMost(2.0), &capture),
    ])
}
