//! Step `bench`: our speed; each benchmark runs together with a peer in the same minutes.
//!
//! Speeds of different machines, or of one machine at different times, cannot be compared; ratios
//! of two programs that ran in turns can. So each case is measured on both sides, repetition by
//! repetition, and the ratio of the medians is kept.

pub mod block;
mod ssd;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::num::NonZero;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use trimbench_core::Nanos;

use crate::Repository;
use crate::steps::timed;
use ::tests::acceptance::Bar;

/// A benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is compared with.
    pub peer: &'static str,
    /// Measures its cases.
    pub run: fn(&BenchContext<'_>) -> Result<Measured>,
}

/// Every benchmark.
pub const BENCHES: [Bench; 2] = [ssd::BENCH, block::BENCH];

/// What the user asks for.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct BenchOptions {
    /// The benchmark (default: all)
    pub name: Option<String>,
    /// Parameters small enough for CI
    #[arg(long)]
    pub small: bool,
    /// Only the cases whose name holds this
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// How often each side of each case is measured
    #[arg(long, value_name = "N")]
    pub repetitions: Option<NonZero<usize>>,
    /// A line of JSON for each side of each case, in place of the table
    #[arg(long)]
    pub json: bool,
}

/// What a benchmark is given.
#[derive(Clone, Copy, Debug)]
pub struct BenchContext<'a> {
    /// The checkout.
    pub repository: &'a Repository,
    /// Whether parameters must be small enough for CI: at most half a minute a benchmark.
    pub small: bool,
    /// Only the cases whose name holds this.
    pub case: Option<&'a str>,
    /// How often each side of each case is measured.
    pub repetitions: usize,
    /// How long one measurement may take.
    pub limit: Duration,
}

/// What came of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Its cases.
    Cases(Vec<Case>),
    /// Nothing, for want of something that is named.
    Skipped(String),
}

/// The same work done by us and by the peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Its parameters.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Our side, when it was measured.
    pub ours: Option<Side>,
    /// The peer's side, when it was measured.
    pub peer: Option<Side>,
    /// The 95 % interval of the ratio, where it was estimated.
    pub interval: Option<[f64; 2]>,
    /// What the ratio is to be, where that is judged.
    pub bar: Option<Bar>,
}

/// One side of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// One value a repetition.
    pub values: Vec<f64>,
    /// What ran.
    pub command: String,
    /// What else it said that must agree on both sides, such as the write amplification.
    pub check: String,
}

impl Side {
    /// The middle value, or the mean of the two middle ones; `None` without values.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
        Some(f64::midpoint(sorted[low], sorted[high]))
    }
}

impl Case {
    /// Our median over the peer's; `None` unless both were measured.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.ours.as_ref()?.median()? / self.peer.as_ref()?.median()?)
    }

    /// Whether the ratio is what it is to be; `None` where that is not judged.
    pub fn holds(&self) -> Option<bool> {
        let (ratio, bar) = (self.ratio()?, self.bar?);
        Some(bar.holds(ratio))
    }

    /// Interval and bar, for the table.
    fn remark(&self) -> String {
        let interval = self.interval.map(|[low, high]| format!("95 % [{low:.3}, {high:.3}]"));
        let bar = self
            .bar
            .zip(self.holds())
            .map(|(bar, holds)| format!("bar {bar} {}", if holds { "holds" } else { "MISSED" }));
        interval.into_iter().chain(bar).collect::<Vec<_>>().join(", ")
    }
}

/// A line of the history.
#[derive(Debug, Serialize)]
struct Line<'a> {
    bench: &'a str,
    case: &'a str,
    side: &'a str,
    unit: &'a str,
    values: &'a [f64],
    median: f64,
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bar: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    check: &'a str,
    commit: &'a str,
    command: &'a str,
}

/// Runs one benchmark or all, prints what was measured, and appends it to `bench.ndjson` beside
/// cargo's products. A benchmark that lacks its peer is skipped with a message: no failure.
pub fn run(repository: &Repository, options: &BenchOptions) -> Result<bool> {
    let (name, case) = (options.name.as_deref(), options.case.as_deref());
    let BenchOptions { small, json, .. } = *options;
    let chosen: Vec<&Bench> =
        BENCHES.iter().filter(|bench| name.is_none_or(|name| name == bench.name)).collect();
    if chosen.is_empty() {
        let known = BENCHES.map(|bench| bench.name).join(", ");
        bail!("no benchmark is called `{}`; there are: {known}", name.unwrap_or_default());
    }
    let (repetitions, limit) =
        if small { (1, Duration::from_secs(60)) } else { (5, Duration::from_secs(600)) };
    let repetitions = options.repetitions.map_or(repetitions, NonZero::get);
    let context = BenchContext { repository, small, case, repetitions, limit };
    let commit = repository.state()?.label();
    for bench in chosen {
        match timed(&format!("bench {}", bench.name), || (bench.run)(&context)).0? {
            Measured::Cases(cases) if cases.is_empty() => {
                bail!("`{}` has no case `{}`", bench.name, case.unwrap_or_default());
            }
            Measured::Cases(cases) => {
                let lines = lines(bench, &cases, &commit)?;
                print!("{}", if json { lines.clone() } else { table(bench, &cases) });
                let history = repository.target().join("bench.ndjson");
                append(&history, &lines)?;
                println!("appended to {}", repository.relative(&history));
            }
            Measured::Skipped(reason) => println!("bench {}: skipped: {reason}", bench.name),
        }
    }
    Ok(true)
}

fn table(bench: &Bench, cases: &[Case]) -> String {
    let mut table = format!(
        "{:<24} {:<8} {:>12} {:<12} {:>6}  check\n",
        "case", "side", "median", "unit", "ratio"
    );
    for case in cases {
        for (side_name, side) in [("ours", &case.ours), (bench.peer, &case.peer)] {
            let Some((side, median)) = side.as_ref().and_then(|it| Some((it, it.median()?))) else {
                continue;
            };
            let ratio = case.ratio().filter(|_| side_name == "ours");
            let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
            let (name, unit) = (&case.name, case.unit);
            let remark = if side_name == "ours" { case.remark() } else { String::new() };
            let check = [side.check.as_str(), remark.as_str()].join(" ");
            let check = check.trim();
            let short = side_name.split(' ').next().unwrap_or(side_name);
            let cells =
                format!("{name:<24} {short:<8} {median:>12.3} {unit:<12} {ratio:>6}  {check}\n");
            table.push_str(&cells);
        }
    }
    table
}

fn lines(bench: &Bench, cases: &[Case], commit: &str) -> Result<String> {
    let mut text = String::new();
    for case in cases {
        for (name, side) in [("ours", &case.ours), (bench.peer, &case.peer)] {
            let Some((side, median)) = side.as_ref().and_then(|it| Some((it, it.median()?))) else {
                continue;
            };
            let line = Line {
                bench: bench.name,
                case: &case.name,
                side: name,
                unit: case.unit,
                values: &side.values,
                median,
                ratio: case.ratio(),
                interval: case.interval,
                bar: case.bar.map(|bar| bar.to_string()),
                holds: case.holds(),
                check: &side.check,
                commit,
                command: &side.command,
            };
            text += &serde_json::to_string(&line).context("write a line of the history")?;
            text.push('\n');
        }
    }
    Ok(text)
}

fn append(path: &std::path::Path, text: &str) -> Result<()> {
    let folder = path.parent().expect("the history is in a folder");
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("append to {}", path.display()))
}

/// User and system time of this process so far.
fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Nanos::from_secs(part(time.tv_sec)) + Nanos(part(time.tv_nsec))
}

#[cfg(test)]
mod tests;
