//! Computes figures from recorded steps. A pure function of the record: a resumed run, a later
//! report and the run itself compute the same.
//!
//! Per trial: `S` = sum of (latency - baseline) of the serial probe, `A` = sum of (response time -
//! baseline) of the open-loop load; both baselines are the means over the placebo windows of the
//! same size (a median would leave the mean of the noise in every sum). A full stop of T at rate r
//! gives S = T and A = r T^2 / 2, so `T_eq = sqrt(2 A / r)`. A deletion less its placebo is a pair;
//! the S of pairs is regressed on size (Theil and Sen). A never is: it grows with the square, and
//! its exponent is printed.

use trimbench_core::Caveat;
use trimbench_core::rng::Rng;
use trimbench_results::statistics::{
    Bootstrap, bootstrap_interval, bootstrap_mean, curvature, mean, power_exponent, sen_interval,
    theil_sen,
};
use trimbench_results::{Figure, Interval, LatencyHistogram, Metric, Quantile, Step, StepOf};

use super::metrics::{
    CURVATURE, EXPONENT, INTERCEPT, LARGEST_DELAY, OVERDUE, OfTrial, READS_AT_REST, WORST_RESPONSE,
    of_largest, response,
};
use super::options::DeleteStall;
use super::steps::{StallFoundStep, StallSlowStep, StallTrialStep, StallWindowStep};
use trimbench_engine::{Findings, is_spoiled_by_others};

mod verdict;

/// Level of all intervals.
const LEVEL: f64 = 0.95;
/// Placebo windows with more overdue time than this share make the baseline unsteady.
const UNSTEADY_SHARE: f64 = 0.01;

/// The stutter of a trial.
const STUTTER: OfTrial = |trial| Some(trial.found?.stutter_s);

type Measured<'a> = StepOf<'a, StallTrialStep>;

/// A deletion, and the placebo of the same size in the same block.
#[derive(Clone, Copy)]
struct Pair<'a> {
    /// The size that it stands for, GB.
    gigabytes: f64,
    deletion: &'a Measured<'a>,
    placebo: &'a Measured<'a>,
}

/// The means that a quiet window has.
#[derive(Clone, Copy)]
struct Baseline {
    probe: f64,
    load: f64,
}

/// Computes all figures and adds what each trial came to to its step.
pub fn analyse(method: &DeleteStall, steps: &mut [Step], rng: &mut Rng) -> Findings {
    let mut caveats = Vec::new();
    if method.placebo_only {
        caveats.push(Caveat::PlaceboOnly);
    }
    let trials = measured(steps);
    let Some(baseline) = Baseline::of(&trials, |_| true) else {
        caveats.push(Caveat::TooFewPoints);
        return Findings::new(Vec::new(), caveats);
    };
    if unsteady(&trials) {
        caveats.push(Caveat::UnsteadyBaseline);
    }
    if unresolved(&trials) {
        caveats.push(Caveat::BelowResolution);
    }
    let at_rest = (method.readers > 0).then(|| reads_at_rest(&trials)).flatten();
    measure_trials(method, steps, (baseline, at_rest));
    let trials = measured(steps);
    let pairs = pairs(&trials);
    let mut figures = verdict::stutter(&points(&pairs, STUTTER));
    if !figures.iter().any(|figure| figure.headline) {
        caveats.push(Caveat::TooFewPoints);
    }
    let differs = figures.first().is_some_and(verdict::is_slope_found);
    let deletions: Vec<&Measured<'_>> = trials.iter().filter(|it| !is_placebo(it)).collect();
    let largest = at_largest(method, &deletions, rng);
    // The exponent of a delay that may be nothing says nothing.
    let delayed = largest.iter().any(|figure| {
        figure.id == LARGEST_DELAY && figure.interval.is_some_and(|interval| interval.low > 0.0)
    });
    figures.extend(shape(method, &pairs, rng, differs && delayed));
    figures.extend(worst_response(&deletions));
    figures.extend(largest);
    figures.extend(READS_AT_REST.measured(at_rest));
    if method.readers == 0 {
        figures.extend(percentiles(&trials));
    }
    if let Some(figure) = figures.first_mut() {
        figure.rests_on(&*steps);
    }
    Findings::new(figures, caveats)
}

fn measured(steps: &[Step]) -> Vec<Measured<'_>> {
    steps.iter().filter_map(StepOf::read).collect()
}

fn is_placebo(trial: &Measured<'_>) -> bool {
    trial.step.kind == "placebo"
}

/// Adds to each step what it came to against the placebos of its size; of all sizes where that has
/// none.
fn measure_trials(
    method: &DeleteStall,
    steps: &mut [Step],
    (baseline, at_rest): (Baseline, Option<f64>),
) {
    let trials = measured(steps);
    let found = |step: &Step| {
        let trial: StallTrialStep = step.read().ok()?;
        let is_alike = |placebo: &Measured<'_>| placebo.label_bytes == trial.label_bytes;
        let baseline = Baseline::of(&trials, is_alike).unwrap_or(baseline);
        Some(found(method, &trial, (baseline, at_rest)))
    };
    let found: Vec<Option<StallFoundStep>> = steps.iter().map(found).collect();
    for (step, found) in steps.iter_mut().zip(&found) {
        step.store(found);
    }
}

/// `S` and `A` of a trial, and what follows from them; how slow a closed loop was.
fn found(
    method: &DeleteStall,
    trial: &StallTrialStep,
    (baseline, at_rest): (Baseline, Option<f64>),
) -> StallFoundStep {
    let window = &trial.window;
    let delay = window.load_response_s_sum - window.load_count as f64 * baseline.load;
    let delay = (method.readers == 0).then_some(delay);
    let rate = 1e9 / method.gap.0 as f64;
    StallFoundStep {
        stutter_s: window.probe_latency_s_sum - window.probe_count as f64 * baseline.probe,
        delay_request_s: delay,
        equivalent_stop_s: delay.map(|delay| (2.0 * delay.max(0.0) / rate).sqrt()),
        slow: at_rest.and_then(|at_rest| slowness(trial, at_rest)),
    }
}

/// Each deletion with its placebo; without those beside which something else used the device, as
/// long as what remains gives an interval.
fn pairs<'a>(trials: &'a [Measured<'a>]) -> Vec<Pair<'a>> {
    let suffix =
        |trial: &Measured<'_>| trial.step.id.split_once('-').map(|(_, suffix)| suffix.to_owned());
    let pair = |deletion: &'a Measured<'a>| {
        let mut placebos = trials.iter().filter(|it| is_placebo(it));
        let placebo = placebos.find(|placebo| suffix(placebo) == suffix(deletion))?;
        Some(Pair { gigabytes: deletion.label_bytes.0 as f64 / 1e9, deletion, placebo })
    };
    let all: Vec<Pair<'_>> = trials.iter().filter(|it| !is_placebo(it)).filter_map(pair).collect();
    let mut kept = all.clone();
    kept.retain(|pair| !spoiled(pair.deletion) && !spoiled(pair.placebo));
    if verdict::slope_interval(&points(&kept, STUTTER)).is_some() { kept } else { all }
}

/// Whether other load on the device spoiled the trial.
fn spoiled(trial: &Measured<'_>) -> bool {
    trial.step.caveats.iter().any(|id| is_spoiled_by_others(id))
}

impl Baseline {
    /// The means over these placebos; those that other load spoiled are left out if others remain.
    fn of(trials: &[Measured<'_>], is_one: impl Fn(&Measured<'_>) -> bool) -> Option<Self> {
        let mut placebos: Vec<&Measured<'_>> =
            trials.iter().filter(|it| is_placebo(it) && is_one(it)).collect();
        if placebos.iter().any(|placebo| !spoiled(placebo)) {
            placebos.retain(|placebo| !spoiled(placebo));
        }
        let total = |value: fn(&StallWindowStep) -> f64| -> f64 {
            placebos.iter().map(|placebo| value(&placebo.window)).sum()
        };
        let (probes, loads) = (total(|it| it.probe_count as f64), total(|it| it.load_count as f64));
        (probes > 0.0 && loads > 0.0).then(|| Self {
            probe: total(|it| it.probe_latency_s_sum) / probes,
            load: total(|it| it.load_response_s_sum) / loads,
        })
    }
}

fn unsteady(trials: &[Measured<'_>]) -> bool {
    let is_unsteady = |it: &StallWindowStep| it.overdue_s > UNSTEADY_SHARE * it.window_s;
    trials.iter().filter(|it| is_placebo(it)).any(|it| is_unsteady(&it.window))
}

/// Whether most probes beside placebos took no time.
fn unresolved(trials: &[Measured<'_>]) -> bool {
    let mut latencies = LatencyHistogram::new();
    for placebo in trials.iter().filter(|it| is_placebo(it)) {
        latencies.merge(&placebo.window.probe_latency);
    }
    latencies.percentile(Quantile::P50).is_some_and(|median| median.0 == 0)
}

/// Size of each pair, and by how much the deletion's value exceeds the placebo's.
fn points(pairs: &[Pair<'_>], value: OfTrial) -> Vec<(f64, f64)> {
    let point =
        |pair: &Pair<'_>| Some((pair.gigabytes, value(pair.deletion)? - value(pair.placebo)?));
    pairs.iter().filter_map(point).collect()
}

/// Reads a second of a closed loop after placebos.
fn reads_at_rest(trials: &[Measured<'_>]) -> Option<f64> {
    let windows = trials.iter().filter(|it| is_placebo(it)).map(|it| &it.window);
    let windows = windows.filter(|window| window.window_s > 0.0);
    let rates: Vec<f64> =
        windows.map(|window| window.load_count as f64 / window.window_s).collect();
    mean(&rates)
}

/// For how long less than half of the reads at rest ended after a deletion, and how many a second.
fn slowness(trial: &StallTrialStep, at_rest: f64) -> Option<StallSlowStep> {
    let curve = trial.curves.reads.as_ref()?;
    let width = curve.x.get(1)?;
    let after = curve.x.iter().zip(&curve.y).filter(|(x, _)| **x >= trial.deletion.deleted_at_s);
    let slow: Vec<f64> = after.filter_map(|(_, y)| y.filter(|y| *y < at_rest / 2.0)).collect();
    Some(StallSlowStep { slow_s: slow.len() as f64 * width, slow_reads_per_s: mean(&slow) })
}

/// What else the points say: intercept, curvature, the cross-check by overdue time, the exponent.
fn shape(method: &DeleteStall, pairs: &[Pair<'_>], rng: &mut Rng, delayed: bool) -> Vec<Figure> {
    let stutter = points(pairs, STUTTER);
    let overdue = points(pairs, |trial| Some(trial.window.overdue_s));
    let delay = points(pairs, |trial| trial.found?.delay_request_s);
    let mut figures = Vec::new();
    let mut add = |metric: &Metric, value: f64, interval: Option<Interval>| {
        let figure = metric.measured(value);
        let n = pairs.len() as u64;
        figures.extend(figure.map(|figure| figure.with_interval(interval).with_n(n)));
    };
    if let (0, Some(line)) = (method.readers, theil_sen(&overdue)) {
        add(&OVERDUE, line.slope, sen_interval(&overdue, LEVEL));
    }
    if let Some(line) = theil_sen(&stutter) {
        let of = |points: &[(f64, f64)]| theil_sen(points).map(|line| line.intercept);
        let interval = bootstrap_interval(&stutter, rng, Bootstrap::default(), of);
        add(&INTERCEPT, line.intercept, interval);
    }
    if let Some(value) = curvature(&stutter) {
        let quicker = Bootstrap { resamples: 400, ..Bootstrap::default() };
        add(&CURVATURE, value, bootstrap_interval(&stutter, rng, quicker, curvature));
    }
    if let (true, 0, Some(value)) = (delayed, method.readers, power_exponent(&delay)) {
        let interval = bootstrap_interval(&delay, rng, Bootstrap::default(), power_exponent);
        add(&EXPONENT, value, interval);
    }
    figures
}

/// The longest of all responses after deletions, of whatever size.
fn worst_response(deletions: &[&Measured<'_>]) -> Option<Figure> {
    let values: Vec<f64> = deletions.iter().filter_map(|it| it.window.response_s_max).collect();
    let figure = WORST_RESPONSE.measured(values.iter().copied().reduce(f64::max))?;
    Some(figure.with_n(values.len() as u64))
}

/// The largest size: what each measure of one deletion came to, in the mean.
fn at_largest(method: &DeleteStall, deletions: &[&Measured<'_>], rng: &mut Rng) -> Vec<Figure> {
    let Some(size) = deletions.iter().map(|it| it.label_bytes).max() else { return Vec::new() };
    let mut figures = Vec::new();
    for (metric_of, value) in of_largest(method, size) {
        let chosen = deletions.iter().filter(|it| it.label_bytes == size);
        let values: Vec<f64> = chosen.filter_map(|it| value(it)).collect();
        if values.is_empty() {
            continue;
        }
        let interval = bootstrap_mean(&values, rng, Bootstrap::default());
        let figure = metric_of.measured(mean(&values));
        let n = values.len() as u64;
        figures.extend(figure.map(|figure| figure.with_interval(interval).with_n(n)));
    }
    figures
}

/// Response times in two views: per access, and weighted by the time spent.
fn percentiles(trials: &[Measured<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for placebo in [false, true] {
        let mut merged = LatencyHistogram::new();
        for trial in trials.iter().filter(|it| is_placebo(it) == placebo) {
            merged.merge(&trial.window.response_time);
        }
        for quantile in Quantile::STANDARD {
            let of_accesses = merged.percentile(quantile);
            let of_time = merged.latency_weighted(quantile);
            for (weighted, value) in [(false, of_accesses), (true, of_time)] {
                let value = value.map(|value| value.0 as f64 / 1e6);
                let figure = response(quantile, weighted, placebo).measured(value);
                figures.extend(figure.map(|figure| figure.with_n(merged.count())));
            }
        }
    }
    figures
}
