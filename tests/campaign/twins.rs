//! Campaign `fit.1`: emulated drives with hidden values, found again from their method records.
//!
//! An attempt draws eight values of a drive, measures it with three methods as a user would, and
//! fits a twin to the record (`trimbench fit`), which is told nothing of the values. Then the drive
//! itself and the twin run three methods that the fit has not seen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tempfile::tempdir;
use trimbench_core::rng::Rng;

use super::{Attempts, Campaign, Ledger, program};
use crate::acceptance::{Bar, Finding};
use crate::{Repository, process};

/// The campaign.
pub const CAMPAIGN: Campaign = Campaign {
    id: "fit.1",
    title: "An emulated drive with eight hidden values, found again",
    sources: SOURCES,
    workers: 1,
    prepare,
    judge,
};

/// What searches, what it says of what it found, and the drive.
const SOURCES: &[&str] = &[
    "crates/trimbench-fit/src/fit.rs",
    "crates/trimbench-fit/src/interval.rs",
    "crates/trimbench-fit/src/linear.rs",
    "crates/trimbench-fit/src/observed.rs",
    "crates/trimbench-fit/src/observed/scaling.rs",
    "crates/trimbench-fit/src/parameter.rs",
    "crates/trimbench-fit/src/report.rs",
    "crates/trimbench-fit/src/search.rs",
    "crates/trimbench-fit/src/surface.rs",
    "crates/trimbench-fit/src/surface/basis.rs",
    "crates/trimbench-fit/src/surface/least_squares.rs",
    "crates/trimbench-fit/src/twin.rs",
    "crates/trimbench-ssd/src/",
];
const DRIVES: u64 = 30;
/// What is known of a drive: its class, and that its TRIM occupies it while it works.
const BASE: &str = "plain-nvme-tlc,trim.mode=queued";
const CAPACITY: &str = "1GiB";
/// What the drive is measured with.
const METHODS: [&str; 3] = ["steady-state", "trim-sweep", "latency-under-load"];
/// Methods that the fit does not see, their headlines or a figure of each, their targets'
/// filesystem, and the capacity that they need.
const UNSEEN: [(&str, &str, &str, &str); 3] = [
    ("replay", "throughput-qd32-kept", "", CAPACITY),
    ("policy", "", "ext4:", "4GiB"),
    ("settle", "settle-trim", "", CAPACITY),
];
/// Sessions at a time.
const JOBS: &str = "2";
/// The longest fit, s.
const SECONDS_MAX: f64 = 180.0;
/// Intervals of 95 % that hold the truth: between these shares.
const COVERED: (f64, f64) = (0.90, 0.99);
/// The same of a sample of one drive.
const SAMPLE_COVERED: f64 = 0.6;
/// So many of the hidden values are told by three methods, at the least: five of eight.
const DETERMINED: f64 = 0.625;
/// How far off predictions are, as a share.
const PREDICTED: f64 = 0.15;

/// Key, least and greatest value, and how its text is written: times in ns, ratios in millionths.
const HIDDEN: [(&str, f64, f64, bool); 8] = [
    ("drive.over_provisioning", 5e4, 5e5, true),
    ("nand.read", 2e4, 1.5e5, false),
    ("nand.program", 3e5, 2.5e6, false),
    ("nand.erase", 1e6, 1e7, false),
    ("host.command", 5e2, 1e4, false),
    ("host.latency", 4e3, 6e4, false),
    ("trim.command", 1e4, 1e6, false),
    ("trim.per_gib_mapped", 1e6, 1e8, false),
];

/// What the fit says of a value.
#[derive(Debug, Deserialize)]
struct FoundValue {
    key: String,
    determined: String,
    /// Best, low and high.
    numbers: [f64; 3],
}

#[derive(Debug, Deserialize)]
struct FoundFigure {
    used: String,
}

#[derive(Debug, Deserialize)]
struct Found {
    parameters: Vec<FoundValue>,
    figures: Vec<FoundFigure>,
    runs: u64,
}

/// Truth, best, and the ends of its interval; none where it is not determined.
type HiddenValue = (f64, f64, Option<(f64, f64)>);

/// The line of an attempt.
#[derive(Debug, Deserialize)]
struct Line {
    values: BTreeMap<String, HiddenValue>,
    /// Figures of methods not seen: the drive's and the twin's.
    unseen: BTreeMap<String, (f64, f64)>,
    /// `true` where the fit took at most the time that it may.
    in_time: bool,
}

fn prepare(repository: &Repository, folder: &Path) -> Result<Box<dyn Attempts>> {
    Ok(Box::new(Twins { program: program(repository, folder)? }))
}

#[derive(Debug)]
struct Twins {
    program: PathBuf,
}

impl Attempts for Twins {
    fn total(&self) -> u64 {
        DRIVES
    }

    fn attempt(&self, _: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let mut rng = Rng::new(seed).split(&format!("drive {number}"));
        let hidden: Vec<(&str, f64, String)> =
            HIDDEN.into_iter().map(|value| drawn(value, &mut rng)).collect();
        let mut drive = BASE.to_owned();
        for (key, _, text) in &hidden {
            drive.extend([",", key, "=", text]);
        }
        let folder = tempdir().context("make a folder")?;
        // Seeds that the search does not use.
        let seed = (1_000_000_007 + number).to_string();
        let target = format!("sim:{drive},capacity={CAPACITY}");
        let mut measure = self.trimbench(folder.path(), "run");
        measure.args(METHODS).args(["--target", &target, "--output", "measured"]);
        measure.args(["--seed", &seed, "--no-report", "--quiet"]);
        process::output(&mut measure)?;
        let begun = Instant::now();
        let mut fit = self.trimbench(folder.path(), "fit");
        fit.args(["measured", "--base", BASE, "--output", "twin.toml"]);
        fit.args(["--quiet", "--output-format", "json"]);
        let found: Found =
            serde_json::from_str(&process::output(&mut fit)?).context("read what the fit found")?;
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(found.figures.iter().any(|it| it.used == "fitted"), "nothing was fitted to");
        let values = hidden.iter().map(|(key, truth, _)| {
            let it = found.parameters.iter().find(|it| it.key == *key);
            let it = it.with_context(|| format!("the fit says nothing of {key}"))?;
            let [best, low, high] = it.numbers;
            let interval = (it.determined == "yes").then_some((low, high));
            Ok(((*key).to_owned(), json!([truth, best, interval])))
        });
        let values: Map<String, Value> = values.collect::<Result<_>>()?;
        let unseen = self.unseen(folder.path(), (&drive, &seed))?;
        let Value::Object(line) = json!({
            "values": values,
            "unseen": unseen,
            "in_time": seconds <= SECONDS_MAX,
            "runs": found.runs,
        }) else {
            unreachable!("it is an object")
        };
        Ok(line)
    }
}

impl Twins {
    fn trimbench(&self, folder: &Path, command: &str) -> Command {
        let mut program = Command::new(&self.program);
        program.arg(command).args(["--jobs", JOBS]).current_dir(folder);
        program
    }

    /// Figures of methods that the fit has not seen: the drive's and the twin's.
    fn unseen(
        &self,
        folder: &Path,
        (drive, seed): (&str, &str),
    ) -> Result<BTreeMap<String, (f64, f64)>> {
        let mut figures = BTreeMap::new();
        for (method, figure, filesystem, capacity) in UNSEEN {
            let mut found = [drive, "twin.toml"].into_iter().map(|drive| {
                let target = format!("{filesystem}sim:{drive},capacity={capacity}");
                let mut run = self.trimbench(folder, "run");
                run.args([method, "--target", &target, "--seed", seed, "--quiet"]);
                run.args(["--no-report", "--output-format", "json"]);
                let record: Value = serde_json::from_str(&process::output(&mut run)?)?;
                value_of(&record, figure).with_context(|| format!("{method} has no {figure}"))
            });
            let (truth, twin) = (found.next().expect("two"), found.next().expect("two"));
            figures.insert(format!("{method}.{figure}"), (truth?, twin?));
        }
        Ok(figures)
    }
}

/// A figure of the only session of a record, or its headline where none is named.
fn value_of(record: &Value, figure: &str) -> Option<f64> {
    let figures = record["sessions"][0]["figures"].as_array()?;
    let is_it = |it: &&Value| {
        if figure.is_empty() { it["headline"] == true } else { it["id"] == figure }
    };
    figures.iter().find(is_it)?["value"].as_f64()
}

/// A value drawn evenly by its logarithm, and its text.
fn drawn(
    (key, low, high, is_ratio): (&'static str, f64, f64, bool),
    rng: &mut Rng,
) -> (&'static str, f64, String) {
    let share = (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    let value = (low.ln() + share * (high / low).ln()).exp().round();
    let text = format!("{value}{}", if is_ratio { "ppm" } else { "ns" });
    (key, value, text)
}

fn judge(ledger: &Ledger) -> Result<Vec<Finding>> {
    let lines: Vec<Line> = ledger.outcomes()?;
    let values = || lines.iter().flat_map(|line| line.values.values());
    let intervals: Vec<(f64, (f64, f64))> =
        values().filter_map(|(truth, _, interval)| Some((*truth, (*interval)?))).collect();
    let hold = |(truth, (low, high)): &&(f64, (f64, f64))| (low..=high).contains(&truth);
    let covered = share(intervals.iter().filter(hold).count(), intervals.len());
    let off = lines.iter().flat_map(|line| line.unseen.values());
    let off: Vec<f64> = off.map(|(truth, twin)| (twin / truth).ln().abs().exp() - 1.0).collect();
    let within = share(off.iter().filter(|off| **off <= PREDICTED).count(), off.len());
    let late = lines.iter().filter(|line| !line.in_time).count() as f64;
    // One drive has eight intervals at the most.
    let (low, high) = if ledger.is_whole() { COVERED } else { (SAMPLE_COVERED, 1.0) };
    let determined = share(intervals.len(), values().count());
    Ok(vec![
        ledger.finding(
            "intervals of 95 % that hold the truth",
            (covered, ""),
            Bar::Within(low, high),
        ),
        ledger.finding("values that are determined", (determined, ""), Bar::AtLeast(DETERMINED)),
        ledger.finding("figures of methods not seen within 15 %", (within, ""), Bar::AtLeast(1.0)),
        ledger.finding("fits that took more than 180 s", (late, ""), Bar::Equals(0.0)),
    ])
}

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
