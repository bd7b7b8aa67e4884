//! Computes figures from recorded rounds. A pure function of the record.
//!
//! The figures of a trimmed share are those of the last drive write after the steady state, or of
//! its last window of rounds where there is none: the mean of the rounds' IOPS (Ave(y) of \[PTS\]),
//! the bytes programmed over the bytes written by the host, percentiles over all commands.

use std::slice::from_ref;

use trimbench_core::{Bytes, Caveat};
use trimbench_results::statistics::mean;
use trimbench_results::{Figure, LatencyHistogram, Metric, Series, Step, Verdict};

use super::metrics::{AGED_AMPLIFICATION, DRIFT, QUANTILES, ShareMetrics, aged_iops, gain};
use super::options::SteadyState;
use super::steps::{SteadyCurvesStep, SteadyRoundStep};
use trimbench_engine::settings::whole_percent;
use trimbench_engine::{Criterion, Findings, RateStep, WearStep};

/// A gain within this of 1 is none: half of what a steady state may rise by.
const NO_GAIN: f64 = 0.05;
/// A drift within this share is none: what a steady state may rise by \[PTS\].
const NO_DRIFT: f64 = 0.1;

/// A write amplification that changes by this share at the most, from one drive write to the next,
/// counts as settled. A window of \[PTS\] of which each round is a tenth of the drive is met
/// while it still falls by 10 %. Ours.
pub(super) const DRIFT_MAX: f64 = 0.01;
/// The kind of the rounds that follow the steady state.
pub(super) const SETTLE: &str = "settle";

/// The rounds of one trimmed share.
struct Share {
    percent: u32,
    /// All rounds until the steady state, in order.
    rounds: Vec<SteadyRoundStep>,
    /// The rounds of a drive write each that follow.
    settling: Vec<SteadyRoundStep>,
}

/// Computes all figures, and adds a step with the curves of the whole run.
pub fn analyse(method: &SteadyState, steps: &mut Vec<Step>) -> Findings {
    let mut figures = Vec::new();
    let mut caveats = Vec::new();
    let mut first = None;
    let percents = method.trimmed_shares.iter().filter_map(|share| whole_percent(*share));
    for percent in percents {
        let share = Share::of(steps, percent);
        if share.rounds.is_empty() {
            continue;
        }
        let steady = share.steady_at();
        if steady.is_none() && !caveats.contains(&Caveat::NoSteadyState) {
            caveats.push(Caveat::NoSteadyState);
        }
        let found = share.figures(steady);
        let iops = found.first().map(|figure| figure.value);
        figures.extend(found);
        match (percent, first, iops) {
            (0, _, iops) => {
                first = iops;
                figures.extend(ageing(steps, iops));
            }
            (_, Some(first), Some(iops)) => figures.extend(gained(percent, iops / first)),
            _ => {}
        }
    }
    if let Some(headline) = figures.first_mut().filter(|figure| figure.headline) {
        headline.rests_on(&*steps);
    }
    steps.extend(curves(steps));
    Findings::new(figures, caveats)
}

/// The last window of rounds, or all if there are fewer.
fn last_window(rounds: &[SteadyRoundStep]) -> &[SteadyRoundStep] {
    &rounds[rounds.len().saturating_sub(Criterion::PTS.window)..]
}

/// The rounds of these kinds, in order.
fn rounds_of(steps: &[Step], kinds: &[&str]) -> Vec<SteadyRoundStep> {
    let rounds = steps.iter().filter(|step| kinds.contains(&&*step.kind));
    rounds.filter_map(|step| step.read().ok()).collect()
}

/// The IOPS of each round that has them.
fn all_iops(rounds: &[SteadyRoundStep]) -> Vec<f64> {
    rounds.iter().filter_map(|round| round.round.iops).collect()
}

/// The change from one write amplification to the next, as a share of the first.
pub(super) fn drift(before: f64, now: f64) -> f64 {
    now / before - 1.0
}

/// Bytes programmed over bytes written by the host, over all rounds; `None` unless the drive said
/// so for each.
fn amplification(rounds: &[SteadyRoundStep]) -> Option<f64> {
    let sum = |bytes: fn(WearStep) -> Bytes| -> Option<f64> {
        rounds.iter().map(|round| round.phase.wear.map(|wear| bytes(wear).0 as f64)).sum()
    };
    let (host, media) = (sum(|it| it.host_written_bytes)?, sum(|it| it.media_written_bytes)?);
    (host > 0.0).then(|| media / host)
}

impl Share {
    fn of(steps: &[Step], percent: u32) -> Self {
        let of = |kind| {
            let mut rounds = rounds_of(steps, &[kind]);
            rounds.retain(|round| round.share.trimmed_percent == percent);
            rounds
        };
        Self { percent, rounds: of("round"), settling: of(SETTLE) }
    }

    /// The first round that ends a steady window; `None` if none does.
    fn steady_at(&self) -> Option<usize> {
        let iops: Option<Vec<f64>> = self.rounds.iter().map(|round| round.round.iops).collect();
        Criterion::PTS.steady_at(&iops?)
    }

    /// By what share the write amplification of the last drive write differs from that of the one
    /// before it.
    fn drift(&self) -> Option<f64> {
        let mut last = self.settling.iter().rev().map(|round| amplification(from_ref(round)));
        let (now, before) = (last.next()??, last.next()??);
        Some(drift(before, now))
    }

    /// What to say of the IOPS.
    fn verdict(&self, steady: Option<usize>) -> Verdict {
        let Some(round) = steady else {
            return Verdict::NotSteady { rounds: self.rounds.len() as u64 };
        };
        let (round, writes) = (round as u64, self.settling.len() as u64);
        let Some(drift) = self.drift() else { return Verdict::SteadyAt { round } };
        let percent = drift * 1e2;
        if drift.abs() <= DRIFT_MAX {
            Verdict::SteadyAndSettled { round, percent, writes }
        } else {
            Verdict::SteadyButDrifts { round, percent, writes }
        }
    }

    /// Its figures; the first is the IOPS.
    fn figures(&self, steady: Option<usize>) -> Vec<Figure> {
        let window = match self.settling.last() {
            Some(last) => from_ref(last),
            None => last_window(&self.rounds),
        };
        let throughputs: Vec<f64> =
            window.iter().filter_map(|round| round.phase.throughput_mb_per_s).collect();
        let of = ShareMetrics::of(self.percent);
        let mut figures = Vec::new();
        let mut add = |metric: &Metric, value: Option<f64>, n: u64| {
            figures.extend(metric.measured(value).map(|figure| figure.with_n(n)));
        };
        let n = window.len() as u64;
        add(&of.iops, mean(&all_iops(window)), n);
        add(&of.throughput, mean(&throughputs), n);
        add(&of.amplification, amplification(window), n);
        let mut latencies = LatencyHistogram::new();
        for round in window {
            latencies.merge(&round.latencies.latency.all);
        }
        for (metric, quantile) in of.latencies.iter().zip(QUANTILES) {
            let value = latencies.percentile(quantile).map(|value| value.0 as f64 / 1e6);
            add(metric, value, latencies.count());
        }
        add(&of.rounds, steady.map(|rounds| rounds as f64), self.rounds.len() as u64);
        add(&of.drift, self.drift().map(|drift| drift * 100.0), self.settling.len() as u64);
        if let Some(first) = figures.first_mut() {
            first.verdict = Some(self.verdict(steady));
        }
        if steady.is_none() {
            for figure in &mut figures {
                figure.caveat(Caveat::NoSteadyState);
            }
        }
        figures
    }
}

/// What trimming a share gained.
fn gained(percent: u32, ratio: f64) -> Option<Figure> {
    let verdict = match ratio {
        ratio if ratio > 1.0 + NO_GAIN => Verdict::TrimmedSpaceHelps,
        ratio if ratio < 1.0 - NO_GAIN => Verdict::SlowerThanWithout,
        _ => Verdict::NoDifference,
    };
    Some(gain(percent).measured(ratio)?.judged(verdict))
}

/// What became of the steady state in the long run, without any TRIM.
fn ageing(steps: &[Step], steady: Option<f64>) -> Vec<Figure> {
    let rounds = rounds_of(steps, &["ageing"]);
    let window = last_window(&rounds);
    let (Some(aged), Some(steady)) = (mean(&all_iops(window)), steady) else { return Vec::new() };
    let drift = aged / steady - 1.0;
    let verdict = match drift {
        drift if drift < -NO_DRIFT => Verdict::FallsInTheLongRun,
        drift if drift > NO_DRIFT => Verdict::RisesInTheLongRun,
        _ => Verdict::HoldsInTheLongRun,
    };
    let drifted = DRIFT.measured(drift * 100.0).map(|figure| figure.judged(verdict));
    let worn = AGED_AMPLIFICATION.measured(amplification(window));
    let figures = [aged_iops(rounds.len()).measured(aged), worn, drifted].into_iter().flatten();
    figures.map(|figure| figure.with_n(window.len() as u64)).collect()
}

/// The curves of the whole run, a point a round: against time, and against what was accessed.
fn curves(steps: &[Step]) -> Option<Step> {
    let rounds = rounds_of(steps, &["round", SETTLE, "ageing"]);
    let ended = |round: &SteadyRoundStep| round.round.began_s + round.phase.elapsed_s;
    let seconds: Vec<f64> = rounds.iter().map(ended).collect();
    let accessed = |round: &SteadyRoundStep| {
        // A phase that reads nothing, or writes nothing, does not note it.
        let bytes = [round.phase.read_bytes, round.phase.written_bytes].into_iter().flatten();
        round.round.began_gb + Bytes(bytes.map(|bytes| bytes.0).sum()).gigabytes()
    };
    let gigabytes: Vec<f64> = rounds.iter().map(accessed).collect();
    let curve = |x_unit, x: &[f64], unit, value: fn(&SteadyRoundStep) -> Option<f64>| {
        let series = Series::new(x_unit, unit, x.to_vec(), rounds.iter().map(value).collect());
        series.filter(|series| series.y.iter().any(Option::is_some))
    };
    let (iops, wear) = (|round: &SteadyRoundStep| round.round.iops, SteadyRoundStep::amplification);
    let curves = SteadyCurvesStep {
        iops: RateStep {
            by_time: curve("s", &seconds, "IOPS", iops),
            by_bytes: curve("GB", &gigabytes, "IOPS", iops),
        },
        wear_by_time: curve("s", &seconds, "", wear),
        wear_by_bytes: curve("GB", &gigabytes, "", wear),
    };
    let summary = Step::of("all-rounds", "summary", &curves);
    (!summary.series.is_empty()).then_some(summary)
}
