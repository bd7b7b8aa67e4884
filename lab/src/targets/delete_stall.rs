//! How often `delete-stall` finds a slowdown where nothing is deleted, and how often it finds one
//! that was planted.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use trimbench_core::exit;
use trimbench_results::statistics::median;
use trimbench_results::{Session, Verdict};

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "delete_stall",
    title: "`delete-stall` finds what is there, and where nothing is, nothing",
    needs: &[],
    sources: EMULATED,
    run,
};

/// Built in, but the twins of real drives, which are large.
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
const PLANTED: &str = "sim:generic-sata-compressing,trim.per_gib_mapped=13600us";
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
/// Runs on the disk, and how many of them may find something.
const DISK_RUNS: u64 = 10;
const DISK_FALSE: f64 = 2.0;

/// What one run came to.
#[derive(Debug)]
struct StallOutcome {
    target: String,
    seed: u64,
    verdict: Verdict,
    /// The detection limit, s/GB; none where there are too few pairs.
    limit: Option<f64>,
    /// p99.9 of the load's accesses beside placebos, ms.
    tail_ms: Option<f64>,
}

impl StallOutcome {
    fn of(session: &Session, seed: u64) -> Result<Self> {
        let value = |id: &str| session.figure(id).map(|figure| figure.value);
        let stutter = session.figure("stutter").context("no stutter")?;
        Ok(Self {
            target: session.plan.target.clone(),
            seed,
            verdict: stutter.verdict.clone().context("no verdict")?,
            limit: value("detection-limit"),
            tail_ms: value("response-p99.9-placebo"),
        })
    }

    /// Whether it says that a deletion makes a difference.
    fn is_found(&self) -> bool {
        !matches!(self.verdict, Verdict::NoSlowdownFound { .. } | Verdict::NothingToNotice)
    }
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let drives = DRIVES.map(|drive| format!("sim:{drive}"));
    let alike = runs(lab, lab.form(3, 50), &drives, NOTHING)?;
    let working = SLICES.map(|slice| format!("sim:{BACKGROUND}{slice}"));
    let working = runs(lab, lab.form(5, 66), &working, NOTHING)?;
    let found = runs(lab, lab.form(20, 200), &[PLANTED.to_owned()], &["as=blkdiscard"])?;
    let mut figures = vec![
        false_ones("drives as they are", &alike),
        quiet(&alike)?,
        false_ones("drives at work in the background", &working),
    ];
    figures.extend(planted(&found)?);
    if !lab.is_short() {
        let directory = lab.root_folder()?;
        let target = directory.path().to_str().context("a path in UTF-8")?.to_owned();
        let disk = runs(lab, DISK_RUNS, &[target], ON_DISK)?;
        let found = disk.iter().filter(|outcome| outcome.is_found()).count() as f64;
        let what = "this machine's disk: false verdicts of 10";
        figures.push(Figure::new(what, (found, ""), Bar::AtMost(DISK_FALSE)));
    }
    Ok(figures)
}

/// What runs on all targets came to, once for each seed.
fn runs(
    lab: &Lab<'_>,
    seeds: u64,
    targets: &[String],
    options: &[&str],
) -> Result<Vec<StallOutcome>> {
    let mut outcomes = Vec::new();
    for seed in 1..=seeds {
        let program = lab.program()?;
        let mut command = program.command(&["run", "delete-stall", "--seed", &seed.to_string()]);
        command.args(targets.iter().flat_map(|target| ["--target", target]));
        command.args(options.iter().flat_map(|option| ["--set", option]));
        let (output, record) = program.recorded(&mut command)?;
        if output.status != Some(exit::INVALID.into()) {
            output.expect_status(exit::DONE)?;
        }
        ensure!(record.sessions.len() == targets.len(), "seed {seed}: not all were measured");
        for session in &record.sessions {
            outcomes.push(StallOutcome::of(session, seed)?);
        }
    }
    Ok(outcomes)
}

/// How many of these runs say that there is a difference. At 1 in 20 each, more than two standard
/// deviations above that are found in 1 of 40 series: 64 of 1,000.
fn false_ones(of: &str, outcomes: &[StallOutcome]) -> Figure {
    let count = outcomes.len() as f64;
    let most = (0.05 * count + 2.0 * (0.05 * 0.95 * count).sqrt()).round();
    let found: Vec<&StallOutcome> = outcomes.iter().filter(|outcome| outcome.is_found()).collect();
    let note = |it: &&StallOutcome| format!("{} with seed {}: {}", it.target, it.seed, it.verdict);
    let notes: Vec<String> = found.iter().map(note).collect();
    let what = format!("{of}: false verdicts of {count}");
    Figure::new(what, (found.len() as f64, ""), Bar::AtMost(most)).with_note(notes.join("; "))
}

/// The detection limit of the quiet drive that has the highest.
fn quiet(outcomes: &[StallOutcome]) -> Result<Figure> {
    let mut drives: BTreeMap<&str, Vec<&StallOutcome>> = BTreeMap::new();
    for outcome in outcomes {
        drives.entry(&outcome.target).or_default().push(outcome);
    }
    let mut limits = Vec::new();
    for (drive, runs) in drives {
        let tails: Vec<f64> = runs.iter().filter_map(|it| it.tail_ms).collect();
        if median(&tails).is_some_and(|tail| tail <= QUIET_MS) {
            let of_runs: Vec<f64> = runs.iter().filter_map(|it| it.limit).collect();
            limits.push((drive, median(&of_runs).context("no detection limit")?));
        }
    }
    let highest = limits.iter().map(|it| it.1).max_by(f64::total_cmp);
    let Some(highest) = highest else { bail!("no drive is quiet") };
    let notes = limits.iter().map(|(drive, limit)| format!("{drive}: {limit:.5}"));
    let note = format!("median of its runs; {}", notes.collect::<Vec<_>>().join(", "));
    let what = "highest detection limit of a quiet drive";
    Ok(Figure::new(what, (highest, "s/GB"), Bar::AtMost(LIMIT)).with_note(note))
}

/// How often the planted slowdown is found, and how it compares with the limit.
fn planted(outcomes: &[StallOutcome]) -> Result<[Figure; 2]> {
    let slower = |it: &&StallOutcome| it.is_found() && it.verdict != Verdict::FasterThanPlacebo;
    let found = outcomes.iter().filter(slower).count() as f64;
    let limits: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.limit).collect();
    let ratio = PLANTED_S_PER_GB / median(&limits).context("no detection limit")?;
    let share = found / outcomes.len() as f64 * 100.0;
    let what = format!("a planted slowdown of {PLANTED_S_PER_GB:.4} s/GB: found");
    let note = format!("{found} of {}", outcomes.len());
    Ok([
        Figure::new(what, (share, "%"), Bar::AtLeast(95.0)).with_note(note),
        Figure::new("that slowdown over the limit", (ratio, ""), Bar::AtMost(2.0)),
    ])
}
