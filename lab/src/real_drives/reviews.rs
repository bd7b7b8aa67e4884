//! What public reviews found of drives of four classes, and what the methods find of the emulated
//! drives that stand for these classes.

use std::collections::BTreeMap;

use ::tests::program::Run;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use trimbench_core::units::{index, rounded};
use trimbench_engine::{PassStep, RoundStep};
use trimbench_methods::latency_under_load::OfferedRateStep;
use trimbench_methods::trim_sweep::TrimRowStep;
use trimbench_results::Step;

use super::SOURCES;
use crate::entry::Entry;
use crate::figure::{Bar, Figure, FigureStanding, RealFigure, RealValue};
use crate::lab::Lab;

#[cfg(test)]
mod tests;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "reviews",
    title: "The emulated drives of four classes do what public reviews find of real ones",
    needs: &[],
    sources: SOURCES,
    run,
};

/// The figures, each with its source.
pub(crate) const REVIEWS: &str = "docs/drives/reviews.toml";
/// How far ours may lie outside the range of the reviews, as a factor.
const OFF: f64 = 1.5;
/// The classes of the short form.
const SHORT: [&str; 2] = ["generic-nvme-tlc", "generic-sata-tlc"];
/// The part of a pass, from its beginning, that lies within the SLC cache of each drive (the
/// smallest has 1.2 % of the drive), and a part past all of them. Shares of the pass.
const CACHED: (f64, f64) = (0.0, 0.01);
const PAST_CACHE: (f64, f64) = (0.45, 0.55);

/// `reviews.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviews {
    quantity: Vec<Reviewed>,
}

/// A quantity of a class of drives, and what reviews have of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reviewed {
    /// The profile that stands for the class.
    pub(crate) class: String,
    id: String,
    /// Values of the profile that were chosen with these figures in mind.
    pub(crate) fitted: Option<String>,
    /// Why fewer than three drives are known.
    pub(crate) missing: Option<String>,
    /// What there is.
    #[serde(default)]
    pub(crate) reviews: Vec<Review>,
}

/// What one review has of one drive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Review {
    /// The drive that it names.
    pub(crate) drive: String,
    /// Its figure, in the unit of the quantity.
    pub(crate) low: f64,
    /// A second, greater one.
    pub(crate) high: Option<f64>,
    /// How it was measured, as far as the review says.
    pub(crate) condition: String,
    /// Its address.
    pub(crate) source: String,
}

/// A run of a method that some quantities are read from.
struct ReviewRun {
    method: &'static str,
    capacity: &'static str,
    options: &'static [&'static str],
}

/// The reviewer fills 80 % of most drives; the rest was never written.
const RECOVERY: ReviewRun =
    ReviewRun { method: "recovery", capacity: "16GiB", options: &["span=13107MiB"] };
/// The first of these rounds writes at random into the cache of a drive that is empty.
const FRESH: ReviewRun = ReviewRun {
    method: "steady-state",
    capacity: "16GiB",
    options: &[
        "precondition=0",
        "round-share=2%",
        "rounds-max=5",
        "settle-rounds=0",
        "trimmed-shares=0",
    ],
};
const STEADY: ReviewRun =
    ReviewRun { method: "steady-state", capacity: "16GiB", options: &["trimmed-shares=0"] };
const DISCARDS: ReviewRun = ReviewRun {
    method: "trim-sweep",
    capacity: "16GiB",
    options: &[
        "sizes=2GiB,4GiB",
        "reference=2GiB",
        "queue-depths=1",
        "load-rate=0",
        "unaligned=no",
        "commands=3",
        "row-bytes-max=12GiB",
    ],
};
/// As \[SSDIQ\] measured: 9,950 writes and 5,050 reads a second on a drive that is full and steady.
const LATENCY: ReviewRun = ReviewRun {
    method: "latency-under-load",
    capacity: "8GiB",
    options: &[
        "span=all",
        "precondition=100%",
        "round-share=50%",
        "queue-depth=512",
        "read-share=1%",
        "reads=4950",
        "warm-up=5s",
        "rate-time=20s",
        "accesses-max=none",
        "places=448",
        "rates=10050",
    ],
};

/// The step of its one rate.
const RATE: &str = "rate-10050-per-s";

/// A quantity: what it is, and how ours is read.
struct ReviewedQuantity {
    id: &'static str,
    what: &'static str,
    unit: &'static str,
    of: &'static ReviewRun,
    ours: fn(&Run) -> Result<f64>,
}

const QUANTITIES: [ReviewedQuantity; 12] = [
    ReviewedQuantity {
        id: "sequential-cached",
        what: "sequential writes within the SLC cache",
        unit: "MB/s",
        of: &RECOVERY,
        ours: |run| part(run.step("fresh")?, CACHED),
    },
    ReviewedQuantity {
        id: "sequential-past-cache",
        what: "sequential writes past the SLC cache",
        unit: "MB/s",
        of: &RECOVERY,
        ours: |run| part(run.step("fresh")?, PAST_CACHE),
    },
    ReviewedQuantity {
        id: "sequential-dirty",
        what: "sequential writes after random ones, 80 % filled",
        unit: "MB/s",
        of: &RECOVERY,
        ours: |run| part(run.step("fragmented")?, CACHED),
    },
    ReviewedQuantity {
        id: "trimmed-over-erased",
        what: "sequential writes after TRIM, over those of an erased drive",
        unit: "",
        of: &RECOVERY,
        ours: |run| Ok(part(run.step("trimmed")?, CACHED)? / part(run.step("fresh")?, CACHED)?),
    },
    ReviewedQuantity {
        id: "random-cached",
        what: "random writes of 4 KiB within the SLC cache",
        unit: "IOPS",
        of: &FRESH,
        ours: |run| {
            let round: RoundStep = run.step("trimmed-0-round-1")?.read()?;
            round.iops.context("a round that took no time")
        },
    },
    ReviewedQuantity {
        id: "random-steady",
        what: "random writes of 4 KiB in the steady state",
        unit: "IOPS",
        of: &STEADY,
        ours: |run| run.value("steady-iops"),
    },
    ReviewedQuantity {
        id: "discard-2-gib",
        what: "a discard of 2 GiB",
        unit: "ms",
        of: &DISCARDS,
        ours: |run| discard_ms(run, "mapped-2GiB-qd1"),
    },
    ReviewedQuantity {
        id: "discard-4-gib",
        what: "a discard of 4 GiB",
        unit: "ms",
        of: &DISCARDS,
        ours: |run| discard_ms(run, "mapped-4GiB-qd1"),
    },
    ReviewedQuantity {
        id: "read-p50",
        what: "p50 of reads beside 10,000 writes a second",
        unit: "us",
        of: &LATENCY,
        ours: |run| response_us(run, |rate| rate.read?.percentiles.p50),
    },
    ReviewedQuantity {
        id: "read-p99",
        what: "p99 of reads beside 10,000 writes a second",
        unit: "us",
        of: &LATENCY,
        ours: |run| response_us(run, |rate| rate.read?.percentiles.p99),
    },
    ReviewedQuantity {
        id: "write-p50",
        what: "p50 of 10,000 writes a second",
        unit: "us",
        of: &LATENCY,
        ours: |run| response_us(run, |rate| rate.write?.percentiles.p50),
    },
    ReviewedQuantity {
        id: "write-p99",
        what: "p99 of 10,000 writes a second",
        unit: "us",
        of: &LATENCY,
        ours: |run| response_us(run, |rate| rate.write?.percentiles.p99),
    },
];

/// Throughput of a part of a pass, MB/s: the mean of the curve's points in it.
fn part(pass: &Step, (from, to): (f64, f64)) -> Result<f64> {
    let curve = pass.read::<PassStep>()?.means.context("a pass has no curve")?;
    let points: Vec<f64> = curve.y.iter().copied().flatten().collect();
    let at = |share: f64| index(rounded(share * points.len() as f64));
    let part = &points[at(from)..at(to).max(at(from) + 1)];
    Ok(part.iter().sum::<f64>() / part.len() as f64)
}

/// The mean latency of the discards of a row, ms.
fn discard_ms(run: &Run, row: &str) -> Result<f64> {
    let row: TrimRowStep = run.step(row)?.read()?;
    Ok(row.latency_s.mean.context("a row without discards")? * 1e3)
}

/// A response time at the one rate, us.
fn response_us(run: &Run, seconds: fn(&OfferedRateStep) -> Option<f64>) -> Result<f64> {
    let rate = run.step(RATE)?.read()?;
    Ok(seconds(&rate).context("a rate that the drive did not keep up with")? * 1e6)
}

impl Review {
    /// Its figure, or the range of two, in words.
    pub(crate) fn told(&self, unit: &str) -> String {
        match self.high {
            Some(high) => RealValue::Between(self.low, high).told(unit),
            None => RealValue::Exactly(self.low).told(unit),
        }
    }

    fn high(&self) -> f64 {
        self.high.unwrap_or(self.low)
    }
}

impl Reviewed {
    /// What is measured, with its unit, for readers; an error where the file has an id that no
    /// quantity has.
    pub(crate) fn what(&self) -> Result<(&'static str, &'static str)> {
        self.quantity().map(|quantity| (quantity.what, quantity.unit))
    }

    fn quantity(&self) -> Result<&'static ReviewedQuantity> {
        let found = QUANTITIES.iter().find(|quantity| quantity.id == self.id);
        found.with_context(|| format!("`{}` is no quantity", self.id))
    }

    /// From the least to the greatest figure; `None` where there is none.
    pub(crate) fn range(&self) -> Option<RealValue> {
        let lows = self.reviews.iter().map(|review| review.low);
        let highs = self.reviews.iter().map(Review::high);
        Some(RealValue::Between(lows.min_by(f64::total_cmp)?, highs.max_by(f64::total_cmp)?))
    }

    /// How far ours is outside the range, as a factor of at least 1.
    fn figure(&self, ours: f64) -> Result<Figure> {
        let (what, unit) = self.what()?;
        let range = self.range().context("a review")?;
        let figure = Figure::new(
            format!("{}, {what}, outside the reviews' range", self.class),
            (range.off(ours).exp(), ""),
            Bar::AtMost(OFF),
        );
        let standing = FigureStanding::of(self.fitted.is_some());
        let values = (Some(ours), range, unit);
        let called = (&*self.class, what.to_owned());
        let part = RealFigure::new(called, standing, values, figure.holds());
        Ok(figure.with_note(part.both_told()).with_parts(vec![part]))
    }
}

/// Reads the reviews, and checks what must hold for each quantity: it is known, its figures are
/// ranges, and it has three reviews or a reason.
pub(crate) fn reviews(text: &str) -> Result<Vec<Reviewed>> {
    let all: Reviews = toml::from_str(text).with_context(|| format!("read {REVIEWS}"))?;
    for reviewed in &all.quantity {
        let Reviewed { class, id, reviews, missing, .. } = reviewed;
        reviewed.quantity()?;
        let explained = reviews.len() >= 3 || missing.is_some();
        ensure!(explained, "{class}, {id}: fewer than three reviews, and no reason");
        let right = |it: &Review| it.low > 0.0 && it.low <= it.high();
        ensure!(reviews.iter().all(right), "{class}, {id}: a figure that is no range");
    }
    Ok(all.quantity)
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let all = reviews(&super::table(lab, REVIEWS)?)?;
    let is_wanted = |it: &&Reviewed| {
        let is_of_form = !lab.is_short() || SHORT.contains(&&*it.class);
        is_of_form && !it.reviews.is_empty()
    };
    let mut runs: BTreeMap<String, Run> = BTreeMap::new();
    let mut figures = Vec::new();
    for reviewed in all.iter().filter(is_wanted) {
        let quantity = reviewed.quantity()?;
        let ReviewRun { method, capacity, options } = quantity.of;
        let target = format!("sim:{},capacity={capacity},fill=none", reviewed.class);
        // Several quantities are read from one run.
        let key = format!("{method} {target} {options:?}");
        let run = match runs.remove(&key) {
            Some(run) => run,
            None => lab.run(method, &target, options)?,
        };
        figures.push(reviewed.figure((quantity.ours)(&run)?)?);
        runs.insert(key, run);
    }
    Ok(figures)
}
