//! Computes figures from recorded steps. A pure function of the record: a resumed run, a later
//! report and the run itself compute the same.
//!
//! Per trial: `S` = sum of (latency - baseline) of the serial probe, `A` = sum of (response time -
//! baseline) of the open-loop load; both baselines are the means over all placebo windows (a median
//! would leave the mean of the noise in every sum). A full stop of T at rate r gives S = T and
//! A = r T^2 / 2, so `T_eq = sqrt(2 A / r)`. S is regressed on size (Theil and Sen); A never is: it
//! grows with the square, and its exponent is printed.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat};
use trimbench_results::statistics::{
    Bootstrap, bootstrap_interval, bootstrap_mean, curvature, mean, power_exponent, sen_interval,
    theil_sen,
};
use trimbench_results::{Figure, Interval, LatencyHistogram, Metric, Quantile, Step, Verdict};

use super::metrics::{
    CURVATURE, EXPONENT, INTERCEPT, LARGEST_DELAY, OVERDUE, PER_DELETION, READS_AT_REST,
    SLOW_READS, SLOW_TIME, STUTTER, of_largest, response,
};
use super::options::DeleteStall;
use super::window::READ_RATE;
use trimbench_engine::Findings;

/// Level of all intervals.
const LEVEL: f64 = 0.95;
/// Placebo windows with more overdue time than this share make the baseline unsteady.
const UNSTEADY_SHARE: f64 = 0.01;

/// Placebos that make a baseline.
const PLACEBOS_MIN: usize = 2;

/// What the analysis reads of a step.
struct Trial<'a> {
    step: &'a Step,
    /// The size that it stands for, GB.
    gigabytes: f64,
    stutter: f64,
    delay: f64,
}

/// The means that a quiet window has.
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
    let Some(baseline) = baseline(steps) else {
        caveats.push(Caveat::TooFewPoints);
        return Findings::new(Vec::new(), caveats);
    };
    if unsteady(steps) {
        caveats.push(Caveat::UnsteadyBaseline);
    }
    let at_rest = (method.readers > 0).then(|| reads_at_rest(steps)).flatten();
    let rate = 1e9 / method.gap.0 as f64;
    for step in steps.iter_mut() {
        let (stutter, delay) = sums(step, &baseline);
        step.measure("stutter_s", stutter);
        if method.readers > 0 {
            slowness(step, at_rest.unwrap_or(0.0));
        } else {
            step.measure("delay_request_s", delay);
            step.measure("equivalent_stop_s", (2.0 * delay.max(0.0) / rate).sqrt());
        }
    }
    let trials: Vec<Trial> = steps.iter().filter_map(Trial::of).collect();
    let mut figures = Vec::new();
    let placebos: Vec<f64> = steps
        .iter()
        .filter(|step| step.kind == "placebo" && !spoiled(step))
        .map(|step| sums(step, &baseline).0)
        .collect();
    figures.extend(stutter(&trials, &placebos));
    if !figures.iter().any(|figure| figure.headline) {
        caveats.push(Caveat::TooFewPoints);
    }
    let differs =
        figures.first().is_some_and(|figure| figure.verdict == Some(Verdict::DiffersFromPlacebo));
    let largest = at_largest(method, &trials, rng);
    // The exponent of a delay that may be nothing says nothing.
    let delayed = largest.iter().any(|figure| {
        figure.id == LARGEST_DELAY && figure.interval.is_some_and(|interval| interval.low > 0.0)
    });
    figures.extend(shape(method, &trials, rng, differs && delayed));
    figures.extend(largest);
    figures.extend(READS_AT_REST.measured(at_rest));
    if method.readers == 0 {
        figures.extend(percentiles(steps));
    }
    if let Some(figure) = figures.first_mut() {
        figure.inherit(&*steps);
    }
    Findings::new(figures, caveats)
}

/// An effect within this of zero, in s/GB or in s, prints as S1's 0.000.
const NOTICEABLE: f64 = 0.000_5;

impl<'a> Trial<'a> {
    /// What a deletion came to; `None` for a placebo.
    fn of(step: &'a Step) -> Option<Self> {
        if step.kind == "placebo" {
            return None;
        }
        let (stutter, delay) = (metric(step, "stutter_s"), metric(step, "delay_request_s"));
        Some(Self { step, gigabytes: step.parameter("label_bytes")? / 1e9, stutter, delay })
    }
}

fn metric(step: &Step, key: &str) -> f64 {
    step.metric(key).unwrap_or(0.0)
}

/// `S` and `A` of a step, in seconds and request-seconds.
fn sums(step: &Step, baseline: &Baseline) -> (f64, f64) {
    let over = |sum, count, base: f64| metric(step, sum) - metric(step, count) * base;
    (
        over("probe_latency_s_sum", "probe_count", baseline.probe),
        over("load_response_s_sum", "load_count", baseline.load),
    )
}

/// Whether other load on the device spoiled the step.
fn spoiled(step: &Step) -> bool {
    step.caveats.iter().any(|id| id == Caveat::OtherLoad.id())
}

/// The means over the placebos; those that other load spoiled are left out while enough remain.
fn baseline(steps: &[Step]) -> Option<Baseline> {
    let mut placebos: Vec<&Step> = steps.iter().filter(|step| step.kind == "placebo").collect();
    if placebos.iter().filter(|step| !spoiled(step)).count() >= PLACEBOS_MIN {
        placebos.retain(|step| !spoiled(step));
    }
    let total = |key: &str| -> f64 { placebos.iter().map(|step| metric(step, key)).sum() };
    let (probes, loads) = (total("probe_count"), total("load_count"));
    (probes > 0.0 && loads > 0.0).then(|| Baseline {
        probe: total("probe_latency_s_sum") / probes,
        load: total("load_response_s_sum") / loads,
    })
}

fn unsteady(steps: &[Step]) -> bool {
    steps.iter().filter(|step| step.kind == "placebo").any(|step| {
        let window = step.parameter("window_s").unwrap_or(0.0);
        metric(step, "overdue_s") > UNSTEADY_SHARE * window
    })
}

fn points(trials: &[Trial], y: impl Fn(&Trial) -> f64) -> Vec<(f64, f64)> {
    trials.iter().map(|trial| (trial.gigabytes, y(trial))).collect()
}

/// The headline, the slope of S on size, and beside it what a deletion of any size costs: a stop
/// that is the same for every size has no slope.
fn stutter(trials: &[Trial], placebos: &[f64]) -> Vec<Figure> {
    let points = points(trials, |trial| trial.stutter);
    let each = per_deletion(&points, placebos);
    let slope = theil_sen(&points).map(|line| line.slope);
    let Some(headline) = STUTTER.measured(slope) else { return each.into_iter().collect() };
    let interval = sen_interval(&points, LEVEL);
    let mut headline = headline.with_n(points.len() as u64).with_interval(interval);
    let stalls = each.as_ref().is_some_and(|figure| figure.value > 0.0 && noticeable(figure));
    let small = headline.value.abs() <= NOTICEABLE;
    let within = |slope: Interval| slope.low > -NOTICEABLE && slope.high < NOTICEABLE;
    headline.verdict = match headline.interval {
        None => None,
        Some(_) if noticeable(&headline) => Some(Verdict::DiffersFromPlacebo),
        Some(_) if stalls => Some(Verdict::StallsAtAnySize),
        Some(slope) if within(slope) || small && !slope.contains(0.0) => {
            Some(Verdict::NothingToNotice)
        }
        Some(_) => Some(Verdict::NotToldFromPlacebo),
    };
    if headline.interval.is_none() {
        headline.caveat(Caveat::TooFewPoints);
    }
    if headline.verdict.as_ref().is_some_and(Verdict::is_noise) {
        headline.caveat(Caveat::Noise);
    }
    std::iter::once(headline).chain(each).collect()
}

/// Whether an effect is surely there and not so small that it prints as nothing.
fn noticeable(figure: &Figure) -> bool {
    let sure = figure.interval.is_some_and(|interval| !interval.contains(0.0));
    sure && figure.value.abs() > NOTICEABLE
}

/// By how much the stutter of a deletion, whatever its size, exceeds that of a placebo: the median
/// of all differences, with the interval of the rank test \[HODG63\], which is Theil's and Sen's
/// over two positions.
fn per_deletion(points: &[(f64, f64)], placebos: &[f64]) -> Option<Figure> {
    let deleted = points.iter().map(|&(_, stutter)| (1.0, stutter));
    let both: Vec<(f64, f64)> =
        placebos.iter().map(|&stutter| (0.0, stutter)).chain(deleted).collect();
    let shift = theil_sen(&both)?.slope;
    let figure = PER_DELETION.measured(shift)?;
    Some(figure.with_interval(sen_interval(&both, LEVEL)).with_n(both.len() as u64))
}

/// Reads a second of a closed loop after placebos.
fn reads_at_rest(steps: &[Step]) -> Option<f64> {
    let rates = steps.iter().filter(|step| step.kind == "placebo").filter_map(|step| {
        let window = step.parameter("window_s").filter(|window| *window > 0.0)?;
        Some(metric(step, "load_count") / window)
    });
    let rates: Vec<f64> = rates.collect();
    mean(&rates)
}

/// For how long less than half of the reads at rest ended after a deletion, and how many a second.
fn slowness(step: &mut Step, at_rest: f64) {
    let (Some(curve), Some(&deleted_at)) =
        (step.series.get(READ_RATE), step.parameters.get("deleted_at_s"))
    else {
        return;
    };
    let width = curve.x.get(1).copied().unwrap_or(0.0);
    let after = curve.x.iter().zip(&curve.y).filter(|(x, _)| **x >= deleted_at);
    let slow: Vec<f64> = after.filter_map(|(_, y)| y.filter(|y| *y < at_rest / 2.0)).collect();
    step.measure(SLOW_TIME, slow.len() as f64 * width);
    if let Some(rate) = mean(&slow) {
        step.measure(SLOW_READS, rate);
    }
}

/// What else the points say: intercept, curvature, the cross-check by overdue time, the exponent.
fn shape(method: &DeleteStall, trials: &[Trial], rng: &mut Rng, delayed: bool) -> Vec<Figure> {
    let stutter = points(trials, |trial| trial.stutter);
    let overdue = points(trials, |trial| metric(trial.step, "overdue_s"));
    let delay = points(trials, |trial| trial.delay);
    let mut figures = Vec::new();
    let mut add = |metric: &Metric, value: f64, interval: Option<Interval>| {
        let figure = metric.measured(value);
        let n = trials.len() as u64;
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

/// The largest size: what each measure of one deletion came to, in the mean.
fn at_largest(method: &DeleteStall, trials: &[Trial], rng: &mut Rng) -> Vec<Figure> {
    let Some(largest) = trials.iter().map(|trial| trial.gigabytes).max_by(f64::total_cmp) else {
        return Vec::new();
    };
    let chosen: Vec<&Trial> = trials.iter().filter(|trial| trial.gigabytes >= largest).collect();
    let size = Bytes(trimbench_core::units::rounded(largest * 1e9));
    let mut figures = Vec::new();
    for (metric_of, key) in of_largest(method, size) {
        let values: Vec<f64> = chosen.iter().filter_map(|trial| trial.step.metric(key)).collect();
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
fn percentiles(steps: &[Step]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for placebo in [false, true] {
        let mut merged = LatencyHistogram::new();
        for step in steps.iter().filter(|step| (step.kind == "placebo") == placebo) {
            step.histogram("response-time").iter().for_each(|histogram| merged.merge(histogram));
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
