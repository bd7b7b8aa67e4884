//! Response times of reads and writes at given rates, of real drives and of the emulated drives of
//! their names.

use std::collections::BTreeMap;

use ::tests::program::Run;
use anyhow::{Context as _, Result, bail};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;
use trimbench_methods::latency_under_load::OfferedRateStep;

use super::{SOURCES, number, rows_of_form};
use crate::entry::Entry;
use crate::figure::{Bar, Figure, FigureStanding, RealFigure, RealValue, ResponseTime};
use crate::lab::Lab;

#[cfg(test)]
mod tests;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "rates",
    title: "Emulated drives of four names answer reads and writes at a rate as those do, which \
            kept up with 10,000 to 250,000 writes a second beside 5,000 reads; every other rate \
            is fitted",
    needs: &[],
    sources: SOURCES,
    run,
};

/// The figures, with their source in the page beside them.
const RATES: &str = "docs/drives/latency.csv";
/// The capacity to which the drives are scaled; full.
const CAPACITY: Bytes = Bytes::gib(8);
/// What the source sent: a rate of which 1 % are reads, and about this many reads beside it.
const READ_SHARE: f64 = 0.01;
const READS_BESIDE: u32 = 4_950;
/// A median is right within this share or this time, a p99 within that factor, that of writes also
/// within the ratio between the row's own intervals.
const MEDIAN_SHARE: f64 = 0.10;
const MEDIAN_US: f64 = 1.0;
const P99_FACTOR: f64 = 1.2;
/// Of all response times that are predicted, and of those of each quantity, so many must be right.
const OF_ALL: f64 = 2.0 / 3.0;
const OF_EACH: f64 = 0.5;

/// A quantity of a row.
type OfRate = fn(&OfferedRateStep) -> Option<f64>;
/// What is compared of a row: its name, ours in s, whether it is a median.
const QUANTITIES: [(&str, OfRate, bool); 4] = [
    ("read p50", |rate| rate.read?.percentiles.p50, true),
    ("read p99", |rate| rate.read?.percentiles.p99, false),
    ("write p50", |rate| rate.write?.percentiles.p50, true),
    ("write p99", |rate| rate.write?.percentiles.p99, false),
];

/// A real drive at one rate that it kept up with.
#[derive(Clone, Debug)]
struct RateRow {
    drive: String,
    fitted: bool,
    writes_per_s: f64,
    /// Commands that its load kept outstanding at the most.
    places: u64,
    /// In the order of [`QUANTITIES`], us.
    real: [f64; 4],
    /// The ratio between the intervals of the run, at least 1.
    spread: f64,
}

impl RateRow {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, split, writes, _, places, r50, r99, w50, w99, spread] = fields[..] else {
            bail!("`{line}` is no rate");
        };
        Ok(Self {
            drive: drive.to_owned(),
            fitted: split == "fit",
            writes_per_s: number(writes)?,
            places: places.parse().with_context(|| format!("`{places}`"))?,
            real: [number(r50)?, number(r99)?, number(w50)?, number(w99)?],
            spread: number(spread)?,
        })
    }

    /// The rate to offer: its writes, and the share of reads among them.
    fn rate(&self) -> u64 {
        rounded(self.writes_per_s / (1.0 - READ_SHARE))
    }

    /// Whether ours is right, in us.
    fn is_right(&self, quantity: usize, ours: f64) -> bool {
        let (name, _, is_median) = QUANTITIES[quantity];
        let real = self.real[quantity];
        if is_median {
            return (ours - real).abs() <= (MEDIAN_SHARE * real).max(MEDIAN_US);
        }
        let is_write = name.starts_with("write");
        let factor = if is_write { P99_FACTOR.max(self.spread) } else { P99_FACTOR };
        ours <= real * factor && ours >= real / factor
    }

    /// A quantity beside ours in us; `None` where the emulated drive did not keep up.
    fn figure(&self, quantity: usize, ours: Option<f64>) -> RealFigure {
        let Self { drive, writes_per_s, .. } = self;
        let (name, ..) = QUANTITIES[quantity];
        let holds = ours.is_some_and(|ours| self.is_right(quantity, ours));
        let values = (ours, RealValue::Exactly(self.real[quantity]), "us");
        let called = (&**drive, format!("{name} at {writes_per_s} writes/s"));
        let response = ResponseTime { writes_per_s: *writes_per_s, quantity: name.to_owned() };
        let figure = RealFigure::new(called, FigureStanding::of(self.fitted), values, holds);
        RealFigure { response: Some(response), ..figure }
    }
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let rows = rows_of_form(lab, RATES, RateRow::read)?;
    let mut runs: BTreeMap<&str, Run> = BTreeMap::new();
    for of_drive in rows.chunk_by(|one, other| one.drive == other.drive) {
        runs.insert(&of_drive[0].drive, load(lab, of_drive)?);
    }
    let ours = |row: &RateRow, quantity: usize| {
        let step = runs[&*row.drive].step(&format!("rate-{}-per-s", row.rate())).ok()?;
        let (_, seconds, _) = QUANTITIES[quantity];
        seconds(&step.read().ok()?).map(|seconds| seconds * 1e6)
    };
    Ok(judged(&rows, ours))
}

/// Runs a drive at all its rates.
fn load(lab: &Lab<'_>, rows: &[RateRow]) -> Result<Run> {
    let rates: Vec<String> = rows.iter().map(|row| row.rate().to_string()).collect();
    let options = [
        "span=all".to_owned(),
        "precondition=100%".to_owned(),
        "round-share=50%".to_owned(),
        "queue-depth=512".to_owned(),
        format!("read-share={}%", READ_SHARE * 100.0),
        format!("reads={READS_BESIDE}"),
        "warm-up=5s".to_owned(),
        "rate-time=20s".to_owned(),
        "accesses-max=none".to_owned(),
        format!("places={}", rows[0].places),
        format!("rates={}", rates.join(",")),
    ];
    let target = format!("sim:{},capacity={CAPACITY}", rows[0].drive);
    super::run(lab, "latency-under-load", (&target, &options), 1)
}

/// The share of the predicted response times that are right, of all and of each quantity; `ours` is
/// that of a quantity at a rate, us.
fn judged(rows: &[RateRow], ours: impl Fn(&RateRow, usize) -> Option<f64>) -> Vec<Figure> {
    let of_quantity = |quantity: usize| {
        rows.iter().map(|row| row.figure(quantity, ours(row, quantity))).collect()
    };
    let parts: [Vec<RealFigure>; 4] = std::array::from_fn(of_quantity);
    let what = |of: &str| format!("predicted response times that are right, {of}, as a share");
    let all = (share(&parts.concat()), "");
    let mut figures = vec![Figure::new(what("of all"), all, Bar::AtLeast(OF_ALL))];
    for (parts, (name, ..)) in parts.into_iter().zip(QUANTITIES) {
        let figure = Figure::new(what(name), (share(&parts), ""), Bar::AtLeast(OF_EACH));
        figures.push(figure.with_parts(parts));
    }
    figures
}

/// The share of those that are predicted that hold.
fn share(parts: &[RealFigure]) -> f64 {
    let predicted = || parts.iter().filter(|it| it.standing == FigureStanding::Predicted);
    predicted().filter(|it| it.holds).count() as f64 / predicted().count().max(1) as f64
}
