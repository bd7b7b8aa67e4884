//! Computes figures from recorded cycles. A pure function of the record.
//!
//! For each policy the last cycles count, as many as the criterion looks at: their response times
//! together, their bytes together. Counters are those since mkfs.

use trimbench_core::{Caveat, Ppm};
use trimbench_results::{Figure, LatencyHistogram, Quantile, Step};

use super::options::{PACED, PolicyLab};
use super::session::{
    AMPLIFICATION, HOST, LONGEST, MADE, MEDIA, RESPONSE, SPAN, UNTRIMMED, WAITING, WAITING_MAX,
    WITHHELD_MAX, criterion,
};
use trimbench_engine::method::Findings;

/// What is known of a policy: figures of one row of the tables.
struct Life<'a> {
    policy: &'static str,
    /// All cycles, in their order.
    cycles: Vec<&'a Step>,
    /// The last of them, which count.
    last: Vec<&'a Step>,
    responses: LatencyHistogram,
    steady: bool,
}

/// A column of the tables: key, title, unit.
type Column = (&'static str, &'static str, &'static str);

/// Columns that are percentiles.
const PERCENTILES: [(Column, Quantile); 3] = [
    (("p50", "p50", "ms"), Quantile::P50),
    (("p99", "p99", "ms"), Quantile::P99),
    ((TAIL, "p99.9", "ms"), Quantile::P99_9),
];
const TAIL: &str = "p99.9";
const WORST: Column = ("max", "max", "ms");
const WAF: Column = ("amplification", "write amplification", "");
const RATE: Column = ("throughput", "files made", "MB/s");
const CYCLES: Column = ("cycles", "cycles", "");
/// The state at the end, and maxima.
const LEFT: Column = ("untrimmed", "left untrimmed", "B");
const WAITED: Column = ("waited", "waited at most", "B");
const WITHHELD: Column = ("withheld", "withheld at most", "B");
const TRIM: Column = ("trim", "longest TRIM", "ms");
/// Bytes counted since the filesystem was made, and the metrics that they are the sum of.
const BYTES: [(Column, &[&str]); 4] = [
    (("freed", "freed", "B"), &["freed_bytes"]),
    (("trimmed", "trimmed", "B"), &["issued_bytes"]),
    (("not-trimmed", "not trimmed", "B"), &["skipped_bytes", WAITING]),
    (("rewritten", "rewritten", "B"), &["invalidated_bytes"]),
];
/// Numbers counted since then.
const COUNTS: [(Column, &[&str]); 4] = [
    (("issued", "issued", ""), &["issued_count"]),
    (("deferred", "deferred", ""), &["deferred_count"]),
    (("skipped", "skipped", ""), &["skipped_count"]),
    (("invalidated", "invalidated", ""), &["invalidated_count"]),
];
/// How a figure's id goes on behind its column.
const UNDER: &str = "-under-";

/// Computes all figures.
pub fn analyse(method: &PolicyLab, steps: &[Step]) -> Findings {
    let lives: Vec<Life> =
        method.policies.iter().filter_map(|(policy, _)| Life::of(method, policy, steps)).collect();
    let points: Vec<Point> = lives.iter().filter_map(Point::of).collect();
    let choice = choose(&points, method);
    let mut figures: Vec<Figure> = Vec::new();
    let front: Vec<&str> =
        points.iter().filter(|it| it.is_best(&points)).map(|it| it.policy).collect();
    if let Some(choice) = choice {
        let title = "p99.9 of the foreground under the policy to choose";
        let verdict = format!(
            "`{}`: the lowest p99.9 of those within {} of the least write amplification, of those \
             within {} of the highest throughput; not beaten in both p99.9 and amplification: {}",
            choice.policy,
            method.slack,
            method.lost,
            front.join(", ")
        );
        let figure = Figure::new("policy", title, choice.tail, "ms");
        figures.extend(figure.map(|figure| Figure {
            headline: true,
            n: points.len() as u64,
            verdict: Some(verdict),
            ..figure
        }));
    }
    figures.extend(target(method, &lives));
    for life in &lives {
        figures.extend(life.figures(choice.map(|it| it.policy), &front));
    }
    let few = choice.is_none().then_some(Caveat::TooFewPoints);
    let unsteady = lives.iter().any(|life| !life.steady).then_some(Caveat::NoSteadyState);
    if let (Some(caveat), Some(figure)) = (unsteady, figures.first_mut()) {
        figure.caveat(caveat);
    }
    Findings { figures, caveats: few.into_iter().collect() }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures(method: &PolicyLab) -> Vec<(String, &'static str)> {
    let mut announced = vec![("policy".to_owned(), "ms")];
    if method.policies.iter().any(|(policy, _)| *policy == PACED) {
        announced.push((TARGET.to_owned(), ""));
    }
    for (policy, _) in &method.policies {
        let columns = columns().map(|(key, _, unit)| (format!("{key}{UNDER}{policy}"), unit));
        announced.extend(columns);
    }
    announced
}

/// All columns, in their order.
fn columns() -> impl Iterator<Item = Column> {
    let percentiles = PERCENTILES.into_iter().map(|(column, _)| column);
    let counted = BYTES.into_iter().chain(COUNTS).map(|(column, _)| column);
    let between = [WORST, WAF, RATE, CYCLES, LEFT, WAITED, WITHHELD, TRIM];
    percentiles.chain(between).chain(counted)
}

/// Where a policy stands: the two things that it is charged for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) policy: &'static str,
    /// p99.9 of the foreground, ms.
    pub(super) tail: f64,
    /// Write amplification.
    pub(super) amplification: f64,
    /// Bytes of files made in a second, MB/s.
    pub(super) throughput: f64,
}

impl Point {
    fn of(life: &Life) -> Option<Self> {
        Some(Self {
            policy: life.policy,
            tail: life.percentile(Quantile::P99_9)?,
            amplification: life.amplification()?,
            throughput: life.throughput()?,
        })
    }

    /// Whether no other is as good in both and better in one.
    pub(super) fn is_best(&self, all: &[Self]) -> bool {
        !all.iter().any(|other| {
            let as_good = other.tail <= self.tail && other.amplification <= self.amplification;
            as_good && (other.tail < self.tail || other.amplification < self.amplification)
        })
    }
}

/// Of those that are nearly as fast as the fastest, and then of those that wear the drive nearly as
/// little as the least: the lowest p99.9; of equal ones the least amplification.
pub(super) fn choose<'a>(points: &'a [Point], method: &PolicyLab) -> Option<&'a Point> {
    let share = |ppm: Ppm| f64::from(ppm.0) / 1e6;
    let fastest = points.iter().map(|point| point.throughput).reduce(f64::max)?;
    let fast = |point: &&Point| point.throughput >= fastest * (1.0 - share(method.lost));
    let fast = points.iter().filter(fast);
    let least = fast.clone().map(|point| point.amplification).reduce(f64::min)?;
    fast.filter(|point| point.amplification <= least * (1.0 + share(method.slack)))
        .min_by(|a, b| a.tail.total_cmp(&b.tail).then(a.amplification.total_cmp(&b.amplification)))
}

/// Whether `paced` kept its target.
const TARGET: &str = "paced-over-target";

fn target(method: &PolicyLab, lives: &[Life]) -> Option<Figure> {
    let life = |policy: &str| lives.iter().find(|life| life.policy == policy);
    let tail = |life: &Life| life.percentile(Quantile::P99_9);
    let paced = life(PACED)?;
    let target = method.target.0 as f64 / 1e6;
    let (over, longest) = (tail(paced)? / target, most(&paced.cycles, LONGEST) * 1e3);
    let without = life("none").and_then(tail).map_or(0.0, |tail| tail / target);
    let one_trim = format!("one TRIM takes {longest:.3} ms");
    let verdict = match (over <= 1.0, longest > target) {
        (true, false) => "kept".to_owned(),
        (true, true) => format!("kept by trimming rarely: {one_trim}"),
        (false, true) if without > 1.0 => {
            format!("not possible: {one_trim}; missed without any TRIM too")
        }
        (false, true) => format!("not possible: {one_trim}"),
        (false, false) if without > 1.0 => "missed, and without any TRIM too".to_owned(),
        (false, false) => "missed".to_owned(),
    };
    let title = format!("p99.9 under `paced`, over its target of {}", method.target);
    let figure = Figure::new(TARGET, &title, over, "")?;
    Some(Figure { n: paced.responses.count(), verdict: Some(verdict), ..figure })
}

impl<'a> Life<'a> {
    fn of(method: &PolicyLab, policy: &'static str, steps: &'a [Step]) -> Option<Self> {
        let cycles: Vec<&Step> = steps.iter().filter(|step| step.kind == policy).collect();
        let last = cycles[cycles.len().saturating_sub(method.window)..].to_vec();
        let values = |steps: &[&Step]| -> Vec<f64> {
            steps.iter().filter_map(|step| step.metrics.get(AMPLIFICATION).copied()).collect()
        };
        let steady = criterion(method).judge(&values(&last)).is_some_and(|it| it.steady);
        let mut responses = LatencyHistogram::new();
        for text in last.iter().filter_map(|step| step.histograms.get(RESPONSE)) {
            responses.merge(&LatencyHistogram::from_text(text).ok()?);
        }
        (!last.is_empty()).then_some(Self { policy, cycles, last, responses, steady })
    }

    /// The sum of a metric over the cycles that count.
    fn sum(&self, key: &str) -> f64 {
        self.last.iter().filter_map(|step| step.metrics.get(key)).sum()
    }

    /// A metric at the end.
    fn end(&self, key: &str) -> f64 {
        self.cycles.last().and_then(|step| step.metrics.get(key).copied()).unwrap_or(0.0)
    }

    /// Bytes written in the drive over those written to it.
    fn amplification(&self) -> Option<f64> {
        let host = self.sum(HOST);
        (host > 0.0).then(|| self.sum(MEDIA) / host)
    }

    /// In MB/s.
    fn throughput(&self) -> Option<f64> {
        let span = self.sum(SPAN);
        (span > 0.0).then(|| self.sum(MADE) / span / 1e6)
    }

    /// In ms.
    fn percentile(&self, quantile: Quantile) -> Option<f64> {
        self.responses.percentile(quantile).map(|latency| latency.0 as f64 / 1e6)
    }

    fn figures(&self, chosen: Option<&str>, front: &[&str]) -> Vec<Figure> {
        let values = PERCENTILES.map(|(column, quantile)| (column, self.percentile(quantile)));
        let of_end = |keys: &[&str]| Some(keys.iter().map(|key| self.end(key)).sum::<f64>());
        let between = [
            (WORST, self.responses.max().map(|latency| latency.0 as f64 / 1e6)),
            (WAF, self.amplification()),
            (RATE, self.throughput()),
            (CYCLES, Some(self.cycles.len() as f64)),
            (LEFT, Some(self.end(UNTRIMMED))),
            (WAITED, Some(most(&self.last, WAITING_MAX))),
            (WITHHELD, Some(most(&self.last, WITHHELD_MAX))),
            (TRIM, Some(most(&self.cycles, LONGEST) * 1e3)),
        ];
        let counted = BYTES.iter().chain(&COUNTS).map(|(column, keys)| (*column, of_end(keys)));
        let all = values.into_iter().chain(between).chain(counted);
        let figure = |((key, title, unit), value): (Column, Option<f64>)| {
            let (id, title) =
                (format!("{key}{UNDER}{}", self.policy), format!("{title}, under {}", self.policy));
            let mut figure = Figure::new(&id, &title, value?, unit)?;
            figure.n = match unit {
                "ms" if key != TRIM.0 => self.responses.count(),
                _ => self.last.len() as u64,
            };
            if key == TAIL {
                figure.verdict = self.verdict(chosen, front);
            }
            if !self.steady && (key == TAIL || key == WAF.0) {
                figure.caveat(Caveat::NoSteadyState);
            }
            Some(figure)
        };
        all.filter_map(figure).collect()
    }

    fn verdict(&self, chosen: Option<&str>, front: &[&str]) -> Option<String> {
        let words =
            [(chosen == Some(self.policy), "to choose"), (front.contains(&self.policy), "front")];
        words.into_iter().find(|(holds, _)| *holds).map(|(_, word)| word.to_owned())
    }
}

/// The most of a metric.
fn most(steps: &[&Step], key: &str) -> f64 {
    steps.iter().filter_map(|step| step.metrics.get(key).copied()).fold(0.0, f64::max)
}
