//! Computes figures from recorded cycles. A pure function of the record.
//!
//! For each policy the last cycles count, as many as the criterion looks at: their response times
//! together, their bytes together. Counters are those since mkfs.

use trimbench_core::{Caveat, Ppm};
use trimbench_results::number::quantity;
use trimbench_results::{Figure, LatencyHistogram, Quantile, Step, Verdict};

use super::metrics::{self, CHOICE_OVER_NONE, COLUMNS, Column, Source, over_target};
use super::options::{PACED, PolicyLab};
use super::session::criterion;
use super::steps::PolicyCycleStep;
use trimbench_engine::Findings;

/// What is known of a policy: figures of one row of the tables.
struct Life {
    policy: &'static str,
    /// All cycles, in their order.
    cycles: Vec<PolicyCycleStep>,
    /// The place of the first of the last ones, which count.
    first_that_counts: usize,
    responses: LatencyHistogram,
    /// Cycles until the criterion first held; `None` if it never did.
    stable_after: Option<usize>,
}

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
        let verdict = Verdict::PolicyToChoose {
            policy: words(choice.policy),
            slack: method.slack.to_string(),
            lost: method.lost.to_string(),
            front: front.join(", "),
        };
        let none = points.iter().find(|point| point.policy == "none");
        let over = none.filter(|none| none.tail > 0.0).map(|none| choice.tail / none.tail);
        let n = points.len() as u64;
        let figure = metrics::choice(method).measured(choice.tail);
        figures.extend(figure.map(|figure| figure.with_n(n).judged(verdict)));
        figures.extend(CHOICE_OVER_NONE.measured(over).map(|figure| figure.with_n(n)));
    }
    figures.extend(target(method, &lives));
    for life in &lives {
        figures.extend(life.figures(choice.map(|it| it.policy), &front));
    }
    let few = choice.is_none().then_some(Caveat::TooFewPoints);
    let unsteady =
        lives.iter().any(|life| life.stable_after.is_none()).then_some(Caveat::NoSteadyState);
    if let (Some(caveat), Some(figure)) = (unsteady, figures.first_mut()) {
        figure.caveat(caveat);
    }
    Findings::new(figures, few.into_iter().collect())
}

/// A policy in words, with the releases of the kernel where they differ.
fn words(policy: &str) -> String {
    if policy == "ext4" { "ext4 (Linux 6.8 on)".to_owned() } else { policy.to_owned() }
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

/// Eras of ext4 that are past: they show what was, and nobody can be told to go back to them.
const PAST: [&str; 3] = ["ext4-5.15", "ext4-4.13", "ext4-2.6.33"];

/// Of those of today that are nearly as fast as the fastest, and then of those that wear the drive
/// nearly as little as the least: the lowest p99.9; of equal ones the least amplification.
pub(super) fn choose<'a>(points: &'a [Point], method: &PolicyLab) -> Option<&'a Point> {
    let share = |ppm: Ppm| f64::from(ppm.0) / 1e6;
    let points = points.iter().filter(|point| !PAST.contains(&point.policy));
    let fastest = points.clone().map(|point| point.throughput).reduce(f64::max)?;
    let fast = |point: &&Point| point.throughput >= fastest * (1.0 - share(method.lost));
    let fast = points.filter(fast);
    let least = fast.clone().map(|point| point.amplification).reduce(f64::min)?;
    fast.filter(|point| point.amplification <= least * (1.0 + share(method.slack)))
        .min_by(|a, b| a.tail.total_cmp(&b.tail).then(a.amplification.total_cmp(&b.amplification)))
}

/// Whether `paced` kept its target.
fn target(method: &PolicyLab, lives: &[Life]) -> Option<Figure> {
    let life = |policy: &str| lives.iter().find(|life| life.policy == policy);
    let tail = |life: &Life| life.percentile(Quantile::P99_9);
    let paced = life(PACED)?;
    let target = method.target.0 as f64 / 1e6;
    let (over, longest) = (tail(paced)? / target, paced.longest_trim()?);
    let missed_anyway = life("none").and_then(tail).is_some_and(|tail| tail / target > 1.0);
    let trim = quantity(longest, "ms");
    let verdict = match (over <= 1.0, longest > target) {
        (true, false) => Verdict::TargetKept,
        (true, true) => Verdict::TargetKeptRarely { trim },
        (false, true) if missed_anyway => Verdict::TargetNeverPossible { trim },
        (false, true) => Verdict::TargetNotPossible { trim },
        (false, false) if missed_anyway => Verdict::TargetMissedAnyway,
        (false, false) => Verdict::TargetMissed,
    };
    let figure = over_target(method.target).measured(over)?;
    Some(figure.with_n(paced.responses.count()).judged(verdict))
}

impl Life {
    fn of(method: &PolicyLab, policy: &'static str, steps: &[Step]) -> Option<Self> {
        let cycles = steps.iter().filter(|step| step.kind == policy);
        let cycles: Vec<PolicyCycleStep> = cycles.filter_map(|step| step.read().ok()).collect();
        let first_that_counts = cycles.len().saturating_sub(method.window);
        let mut responses = LatencyHistogram::new();
        for cycle in &cycles[first_that_counts..] {
            responses.merge(&cycle.load.response_time);
        }
        let amplifications: Vec<f64> =
            cycles.iter().filter_map(|cycle| cycle.counted.write_amplification).collect();
        let stable_after = criterion(method).steady_at(&amplifications);
        let life = Self { policy, cycles, first_that_counts, responses, stable_after };
        (!life.last().is_empty()).then_some(life)
    }

    /// The cycles that count.
    fn last(&self) -> &[PolicyCycleStep] {
        &self.cycles[self.first_that_counts..]
    }

    /// The sum over the cycles that count.
    fn sum(&self, of: fn(&PolicyCycleStep) -> f64) -> f64 {
        self.last().iter().map(of).sum()
    }

    /// Bytes written in the drive over those written to it.
    fn amplification(&self) -> Option<f64> {
        let host = self.sum(|cycle| cycle.counted.host_written_bytes.0 as f64);
        let media = self.sum(|cycle| cycle.counted.media_written_bytes.0 as f64);
        (host > 0.0).then(|| media / host)
    }

    /// In MB/s.
    fn throughput(&self) -> Option<f64> {
        let span = self.sum(|cycle| cycle.load.cycle_s);
        let made = self.sum(|cycle| cycle.load.files_made_bytes.0 as f64);
        (span > 0.0).then(|| made / span / 1e6)
    }

    /// Of all cycles, in ms.
    fn longest_trim(&self) -> Option<f64> {
        let trims = self.cycles.iter().map(|cycle| cycle.counted.discard_s_max);
        trims.reduce(f64::max).map(|seconds| seconds * 1e3)
    }

    /// In ms.
    fn percentile(&self, quantile: Quantile) -> Option<f64> {
        self.responses.percentile(quantile).map(|latency| latency.0 as f64 / 1e6)
    }

    fn value(&self, of: Source) -> Option<f64> {
        match of {
            Source::Percentile(quantile) => self.percentile(quantile),
            Source::Worst => self.responses.max().map(|latency| latency.0 as f64 / 1e6),
            Source::Amplification => self.amplification(),
            Source::Throughput => self.throughput(),
            Source::Cycles => self.stable_after.map(|cycles| cycles as f64),
            Source::AtEnd(of) => self.cycles.last().map(|cycle| of(&cycle.counted) as f64),
            Source::Most(of) => {
                self.last().iter().map(|cycle| of(&cycle.counted)).max().map(|most| most as f64)
            }
            Source::LongestTrim => self.longest_trim(),
        }
    }

    fn figures(&self, chosen: Option<&str>, front: &[&str]) -> Vec<Figure> {
        let figure = |column: Column| {
            let mut figure = column.under(self.policy).measured(self.value(column.of))?;
            figure.n = match column.of {
                Source::Percentile(_) | Source::Worst => self.responses.count(),
                _ => self.last().len() as u64,
            };
            let is_tail = matches!(column.of, Source::Percentile(Quantile::P99_9));
            if is_tail {
                figure.verdict = self.verdict(chosen, front);
            }
            let is_wear = matches!(column.of, Source::Amplification);
            if self.stable_after.is_none() && (is_tail || is_wear) {
                figure.caveat(Caveat::NoSteadyState);
            }
            Some(figure)
        };
        COLUMNS.into_iter().filter_map(figure).collect()
    }

    fn verdict(&self, chosen: Option<&str>, front: &[&str]) -> Option<Verdict> {
        if chosen == Some(self.policy) {
            return Some(Verdict::ToChoose);
        }
        front.contains(&self.policy).then_some(Verdict::Front)
    }
}
