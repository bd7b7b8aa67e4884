//! Claim `drives.5`: what public reviews found of drives of four classes, and what the methods find
//! of the emulated drives that stand for these classes.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use trimbench_core::units::{index, rounded};
use trimbench_results::Step;

use super::keep_table;
use crate::acceptance::runs::Run;
use crate::acceptance::{Bar, Context, Finding, Form, Raw, short};

#[cfg(test)]
mod tests;

/// The figures, each with its source.
pub const REVIEWS: &str = "docs/drives/reviews.toml";
const KEPT: &str = "reviews.toml";
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
pub struct Reviewed {
    /// The profile that stands for the class.
    pub class: String,
    id: String,
    /// Values of the profile that were chosen with these figures in mind.
    pub fitted: Option<String>,
    /// Why fewer than three drives are known.
    pub missing: Option<String>,
    /// What there is.
    #[serde(default)]
    pub reviews: Vec<Review>,
}

/// What one review has of one drive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// The drive that it names.
    pub drive: String,
    /// Its figure, in the unit of the quantity.
    pub low: f64,
    /// A second, greater one.
    pub high: Option<f64>,
    /// How it was measured, as far as the review says.
    pub condition: String,
    /// Its address.
    pub source: String,
}

/// A run of a method that some quantities are read from.
struct Way {
    /// In the raw output.
    name: &'static str,
    method: &'static str,
    capacity: &'static str,
    options: &'static [&'static str],
}

/// The reviewer fills 80 % of most drives; the rest was never written.
const RECOVERY: Way =
    Way { name: "recovery", method: "recovery", capacity: "16GiB", options: &["span=13107MiB"] };
/// The first of these rounds writes at random into the cache of a drive that is empty.
const FRESH: Way = Way {
    name: "fresh",
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
const STEADY: Way = Way {
    name: "steady",
    method: "steady-state",
    capacity: "16GiB",
    options: &["trimmed-shares=0"],
};
const DISCARDS: Way = Way {
    name: "discards",
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
const LATENCY: Way = Way {
    name: "latency",
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
struct Quantity {
    id: &'static str,
    what: &'static str,
    unit: &'static str,
    way: &'static Way,
    ours: fn(&Run) -> Result<f64>,
}

const QUANTITIES: [Quantity; 12] = [
    Quantity {
        id: "sequential-cached",
        what: "sequential writes within the SLC cache",
        unit: "MB/s",
        way: &RECOVERY,
        ours: |run| part(run.step("fresh")?, CACHED),
    },
    Quantity {
        id: "sequential-past-cache",
        what: "sequential writes past the SLC cache",
        unit: "MB/s",
        way: &RECOVERY,
        ours: |run| part(run.step("fresh")?, PAST_CACHE),
    },
    Quantity {
        id: "sequential-dirty",
        what: "sequential writes after random ones, 80 % filled",
        unit: "MB/s",
        way: &RECOVERY,
        ours: |run| part(run.step("fragmented")?, CACHED),
    },
    Quantity {
        id: "trimmed-over-erased",
        what: "sequential writes after TRIM, over those of an erased drive",
        unit: "",
        way: &RECOVERY,
        ours: |run| Ok(part(run.step("trimmed")?, CACHED)? / part(run.step("fresh")?, CACHED)?),
    },
    Quantity {
        id: "random-cached",
        what: "random writes of 4 KiB within the SLC cache",
        unit: "IOPS",
        way: &FRESH,
        ours: |run| run.metric("trimmed-0-round-1", "iops"),
    },
    Quantity {
        id: "random-steady",
        what: "random writes of 4 KiB in the steady state",
        unit: "IOPS",
        way: &STEADY,
        ours: |run| run.value("steady-iops"),
    },
    Quantity {
        id: "discard-2-gib",
        what: "a discard of 2 GiB",
        unit: "ms",
        way: &DISCARDS,
        ours: |run| Ok(run.metric("mapped-2GiB-qd1", "latency_s_mean")? * 1e3),
    },
    Quantity {
        id: "discard-4-gib",
        what: "a discard of 4 GiB",
        unit: "ms",
        way: &DISCARDS,
        ours: |run| Ok(run.metric("mapped-4GiB-qd1", "latency_s_mean")? * 1e3),
    },
    Quantity {
        id: "read-p50",
        what: "p50 of reads beside 10,000 writes a second",
        unit: "us",
        way: &LATENCY,
        ours: |run| Ok(run.metric(RATE, "read_response_s_p50")? * 1e6),
    },
    Quantity {
        id: "read-p99",
        what: "p99 of reads beside 10,000 writes a second",
        unit: "us",
        way: &LATENCY,
        ours: |run| Ok(run.metric(RATE, "read_response_s_p99")? * 1e6),
    },
    Quantity {
        id: "write-p50",
        what: "p50 of 10,000 writes a second",
        unit: "us",
        way: &LATENCY,
        ours: |run| Ok(run.metric(RATE, "write_response_s_p50")? * 1e6),
    },
    Quantity {
        id: "write-p99",
        what: "p99 of 10,000 writes a second",
        unit: "us",
        way: &LATENCY,
        ours: |run| Ok(run.metric(RATE, "write_response_s_p99")? * 1e6),
    },
];

/// Throughput of a part of a pass, MB/s: the mean of the curve's points in it.
fn part(pass: &Step, (from, to): (f64, f64)) -> Result<f64> {
    let curve = pass.series.get("throughput-address").context("a pass has no curve")?;
    let points: Vec<f64> = curve.y.iter().copied().flatten().collect();
    let at = |share: f64| index(rounded(share * points.len() as f64));
    let part = &points[at(from)..at(to).max(at(from) + 1)];
    Ok(part.iter().sum::<f64>() / part.len() as f64)
}

impl Review {
    fn high(&self) -> f64 {
        self.high.unwrap_or(self.low)
    }
}

impl Reviewed {
    /// What is measured, with its unit, for readers.
    ///
    /// # Errors
    ///
    /// The file has an id that no quantity has.
    pub fn what(&self) -> Result<(&'static str, &'static str)> {
        self.quantity().map(|quantity| (quantity.what, quantity.unit))
    }

    /// The row of the evidence that has ours: how it begins.
    ///
    /// # Errors
    ///
    /// The file has an id that no quantity has.
    pub fn row(&self) -> Result<String> {
        Ok(format!("{}, {}, ", self.class, self.quantity()?.what))
    }

    fn quantity(&self) -> Result<&'static Quantity> {
        let found = QUANTITIES.iter().find(|quantity| quantity.id == self.id);
        found.with_context(|| format!("`{}` is no quantity", self.id))
    }

    /// The least and the greatest figure.
    fn range(&self) -> (f64, f64) {
        let lows = self.reviews.iter().map(|review| review.low);
        let highs = self.reviews.iter().map(Review::high);
        (lows.fold(f64::INFINITY, f64::min), highs.fold(0.0, f64::max))
    }

    /// The run that ours is read from, in the raw output.
    fn run(&self) -> Result<String> {
        Ok(format!("{}-{}", self.class, self.quantity()?.way.name))
    }

    /// How far ours is outside the range, as a factor of at least 1.
    fn off(&self, ours: f64) -> f64 {
        let (low, high) = self.range();
        (low / ours).max(ours / high).max(1.0)
    }

    fn finding(&self, raw: &Raw) -> Result<Finding> {
        let quantity = self.quantity()?;
        let run = raw.good_run(&self.run()?)?;
        let ours = (quantity.ours)(&run)?;
        let (low, high) = self.range();
        let standing = match &self.fitted {
            Some(keys) => format!("fitted by {keys}"),
            None => "nothing fitted".to_owned(),
        };
        let few = self.missing.as_deref().map(|why| format!("; {why}")).unwrap_or_default();
        let drives: Vec<&str> = self.reviews.iter().map(|it| it.drive.as_str()).collect();
        let with_unit = |text: String| format!("{text} {}", quantity.unit).trim_end().to_owned();
        let note = format!(
            "ours {}, reviews {}, {standing}{few}; {}",
            with_unit(short(ours)),
            with_unit(format!("{} to {}", short(low), short(high))),
            drives.join("; "),
        );
        let what = format!("{}outside the reviews' range", self.row()?);
        let bar = Bar::AtMost(OFF);
        Ok(run.finding(&what, (self.off(ours), ""), bar).with_note(&note))
    }
}

/// Reads the reviews, and checks what must hold for each quantity.
///
/// # Errors
///
/// It is no such file; a quantity is unknown, has a figure that is no range, or has fewer than
/// three reviews and no reason.
pub fn reviews(text: &str) -> Result<Vec<Reviewed>> {
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

/// Those that a form measures: of its classes, what any review gives.
fn measured(text: &str, form: Form) -> Result<Vec<Reviewed>> {
    let is_wanted = |it: &Reviewed| form == Form::Full || SHORT.contains(&&*it.class);
    let all = reviews(text)?.into_iter();
    Ok(all.filter(|it| !it.reviews.is_empty() && is_wanted(it)).collect())
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let text = keep_table(context, REVIEWS, KEPT)?;
    let mut done: Vec<String> = Vec::new();
    for reviewed in measured(&text, context.form())? {
        let name = reviewed.run()?;
        if done.contains(&name) {
            continue;
        }
        let way = reviewed.quantity()?.way;
        let target = format!("sim:{},capacity={},fill=none", reviewed.class, way.capacity);
        context.run_well(&name, way.method, (&target, way.options))?;
        done.push(name);
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let all = measured(&raw.text(KEPT)?, raw.form())?;
    all.iter().map(|reviewed| reviewed.finding(raw)).collect()
}
