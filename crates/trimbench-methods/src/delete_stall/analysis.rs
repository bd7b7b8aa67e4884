//! Computes figures from recorded steps. A pure function of the record: a resumed run, a later
//! report and the run itself compute the same.
//!
//! Per trial: `S` = sum of (latency - baseline) of the serial probe, `A` = sum of (response time -
//! baseline) of the open-loop load; both baselines are the means over the placebo windows of the
//! same size (a median would leave the mean of the noise in every sum). A full stop of T at rate r
//! gives S = T and A = r T^2 / 2, so `T_eq = sqrt(2 A / r)`. A deletion less its placebo is a pair;
//! the S of pairs is regressed on size (Theil and Sen). A never is: it grows with the square, and
//! its exponent is printed.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat};
use trimbench_results::statistics::{
    Bootstrap, bootstrap_interval, bootstrap_mean, curvature, mean, power_exponent, sen_interval,
    theil_sen,
};
use trimbench_results::{Figure, Interval, LatencyHistogram, Metric, Quantile, Step};

use super::metrics::{
    CURVATURE, EXPONENT, INTERCEPT, LARGEST_DELAY, OVERDUE, READS_AT_REST, RESPONSE_MAX,
    SLOW_READS, SLOW_TIME, WORST_RESPONSE, of_largest, response,
};
use super::options::DeleteStall;
use super::window::READ_RATE;
use trimbench_engine::{Findings, is_spoiled_by_others};

mod verdict;

/// Level of all intervals.
const LEVEL: f64 = 0.95;
/// Placebo windows with more overdue time than this share make the baseline unsteady.
const UNSTEADY_SHARE: f64 = 0.01;

/// A deletion, and the placebo of the same size in the same block.
#[derive(Clone, Copy)]
struct Pair<'a> {
    /// The size that it stands for, GB.
    gigabytes: f64,
    deletion: &'a Step,
    placebo: &'a Step,
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
    if Baseline::of(steps, |_| true).is_none() {
        caveats.push(Caveat::TooFewPoints);
        return Findings::new(Vec::new(), caveats);
    }
    if unsteady(steps) {
        caveats.push(Caveat::UnsteadyBaseline);
    }
    if unresolved(steps) {
        caveats.push(Caveat::BelowResolution);
    }
    let at_rest = (method.readers > 0).then(|| reads_at_rest(steps)).flatten();
    measure_trials(method, steps, at_rest);
    let pairs = pairs(steps);
    let mut figures = verdict::stutter(&points(&pairs, "stutter_s"));
    if !figures.iter().any(|figure| figure.headline) {
        caveats.push(Caveat::TooFewPoints);
    }
    let differs = figures.first().is_some_and(verdict::is_slope_found);
    let deletions: Vec<&Step> = steps.iter().filter(|step| step.kind != "placebo").collect();
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
        figures.extend(percentiles(steps));
    }
    if let Some(figure) = figures.first_mut() {
        figure.rests_on(&*steps);
    }
    Findings::new(figures, caveats)
}

/// Adds to each step what it came to against the placebos of its size.
fn measure_trials(method: &DeleteStall, steps: &mut [Step], at_rest: Option<f64>) {
    let rate = 1e9 / method.gap.0 as f64;
    let sums: Vec<(f64, f64)> = steps.iter().map(|step| sums(step, steps)).collect();
    for (step, (stutter, delay)) in steps.iter_mut().zip(sums) {
        step.measure("stutter_s", stutter);
        if method.readers > 0 {
            slowness(step, at_rest.unwrap_or(0.0));
        } else {
            step.measure("delay_request_s", delay);
            step.measure("equivalent_stop_s", (2.0 * delay.max(0.0) / rate).sqrt());
        }
    }
}

/// The bytes that a trial stands for.
fn label(step: &Step) -> f64 {
    step.parameter("label_bytes").unwrap_or(0.0)
}

/// Each deletion with its placebo; without those beside which something else used the device, as
/// long as what remains gives an interval.
fn pairs(steps: &[Step]) -> Vec<Pair<'_>> {
    let of_kind =
        |is_placebo| steps.iter().filter(move |step| is_placebo == (step.kind == "placebo"));
    let suffix = |step: &'_ Step| step.id.split_once('-').map(|(_, suffix)| suffix.to_owned());
    let pair = |deletion| {
        let placebo = of_kind(true).find(|placebo| suffix(placebo) == suffix(deletion))?;
        Some(Pair { gigabytes: label(deletion) / 1e9, deletion, placebo })
    };
    let all: Vec<Pair<'_>> = of_kind(false).filter_map(pair).collect();
    let mut kept = all.clone();
    kept.retain(|pair| !spoiled(pair.deletion) && !spoiled(pair.placebo));
    if verdict::slope_interval(&points(&kept, "stutter_s")).is_some() { kept } else { all }
}

fn metric(step: &Step, key: &str) -> f64 {
    step.metric(key).unwrap_or(0.0)
}

/// `S` and `A` of a step, in seconds and request-seconds, against the placebos of its size; of all
/// sizes where that has none.
fn sums(step: &Step, steps: &[Step]) -> (f64, f64) {
    let is_alike = |placebo: &Step| label(placebo).total_cmp(&label(step)).is_eq();
    let baseline = Baseline::of(steps, is_alike).or_else(|| Baseline::of(steps, |_| true));
    let over = |sum, count, base: f64| metric(step, sum) - metric(step, count) * base;
    baseline.map_or((0.0, 0.0), |baseline| {
        (
            over("probe_latency_s_sum", "probe_count", baseline.probe),
            over("load_response_s_sum", "load_count", baseline.load),
        )
    })
}

/// Whether other load on the device spoiled the step.
fn spoiled(step: &Step) -> bool {
    step.caveats.iter().any(|id| is_spoiled_by_others(id))
}

impl Baseline {
    /// The means over these placebos; those that other load spoiled are left out if others remain.
    fn of(steps: &[Step], is_one: impl Fn(&Step) -> bool) -> Option<Self> {
        let is_placebo = |step: &&Step| step.kind == "placebo" && is_one(step);
        let mut placebos: Vec<&Step> = steps.iter().filter(is_placebo).collect();
        if placebos.iter().any(|step| !spoiled(step)) {
            placebos.retain(|step| !spoiled(step));
        }
        let total = |key: &str| -> f64 { placebos.iter().map(|step| metric(step, key)).sum() };
        let (probes, loads) = (total("probe_count"), total("load_count"));
        (probes > 0.0 && loads > 0.0).then(|| Self {
            probe: total("probe_latency_s_sum") / probes,
            load: total("load_response_s_sum") / loads,
        })
    }
}

fn unsteady(steps: &[Step]) -> bool {
    steps.iter().filter(|step| step.kind == "placebo").any(|step| {
        let window = step.parameter("window_s").unwrap_or(0.0);
        metric(step, "overdue_s") > UNSTEADY_SHARE * window
    })
}

/// Whether most probes beside placebos took no time.
fn unresolved(steps: &[Step]) -> bool {
    let mut latencies = LatencyHistogram::new();
    for step in steps.iter().filter(|step| step.kind == "placebo") {
        step.histogram("probe-latency").iter().for_each(|histogram| latencies.merge(histogram));
    }
    latencies.percentile(Quantile::P50).is_some_and(|median| median.0 == 0)
}

/// Size of each pair, and by how much the deletion's metric exceeds the placebo's.
fn points(pairs: &[Pair<'_>], key: &str) -> Vec<(f64, f64)> {
    let point =
        |pair: &Pair<'_>| (pair.gigabytes, metric(pair.deletion, key) - metric(pair.placebo, key));
    pairs.iter().map(point).collect()
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
fn shape(method: &DeleteStall, pairs: &[Pair<'_>], rng: &mut Rng, delayed: bool) -> Vec<Figure> {
    let stutter = points(pairs, "stutter_s");
    let overdue = points(pairs, "overdue_s");
    let delay = points(pairs, "delay_request_s");
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
fn worst_response(deletions: &[&Step]) -> Option<Figure> {
    let values: Vec<f64> = deletions.iter().filter_map(|step| step.metric(RESPONSE_MAX)).collect();
    let figure = WORST_RESPONSE.measured(values.iter().copied().reduce(f64::max))?;
    Some(figure.with_n(values.len() as u64))
}

/// The largest size: what each measure of one deletion came to, in the mean.
fn at_largest(method: &DeleteStall, deletions: &[&Step], rng: &mut Rng) -> Vec<Figure> {
    let Some(largest) = deletions.iter().map(|step| label(step)).max_by(f64::total_cmp) else {
        return Vec::new();
    };
    let chosen: Vec<&&Step> = deletions.iter().filter(|step| label(step) >= largest).collect();
    let size = Bytes(trimbench_core::units::rounded(largest));
    let mut figures = Vec::new();
    for (metric_of, key) in of_largest(method, size) {
        let values: Vec<f64> = chosen.iter().filter_map(|step| step.metric(key)).collect();
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
