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
use trimbench_results::{Figure, Interval, LatencyHistogram, Quantile, Step};

use super::options::DeleteStall;
use trimbench_engine::method::Findings;

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
        return Findings { figures: Vec::new(), caveats };
    };
    if unsteady(steps) {
        caveats.push(Caveat::UnsteadyBaseline);
    }
    let rate = 1e9 / method.gap.0 as f64;
    for step in steps.iter_mut() {
        let (stutter, delay) = sums(step, &baseline);
        step.measure("stutter_s", stutter);
        step.measure("delay_request_s", delay);
        step.measure("equivalent_stop_s", (2.0 * delay.max(0.0) / rate).sqrt());
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
    let differs = figures.first().is_some_and(|figure| figure.verdict.as_deref() == Some(DIFFERS));
    let largest = at_largest(&trials, rng);
    // The exponent of a delay that may be nothing says nothing.
    let delayed = largest.iter().any(|figure| {
        figure.id == "largest-delay" && figure.interval.is_some_and(|interval| interval.low > 0.0)
    });
    figures.extend(shape(&trials, rng, differs && delayed));
    figures.extend(largest);
    figures.extend(percentiles(steps));
    let inherited: Vec<Caveat> =
        steps.iter().flat_map(|step| &step.caveats).filter_map(|id| Caveat::from_id(id)).collect();
    if let Some(figure) = figures.first_mut() {
        for caveat in inherited {
            figure.caveat(caveat);
        }
    }
    Findings { figures, caveats }
}

/// The ids of all figures that the method may find, with their units, for limits and documents.
pub fn announced_figures() -> Vec<(String, &'static str)> {
    let fixed = [
        ("stutter", "s/GB"),
        ("stutter-per-deletion", "s"),
        ("overdue", "s/GB"),
        ("stutter-intercept", "s"),
        ("stutter-curvature", "s/GB^2"),
        ("delay-exponent", ""),
        ("largest-stutter", "s"),
        ("largest-delay", "request-s"),
        ("largest-equivalent-stop", "s"),
        ("largest-overdue", "s"),
        ("largest-read-gap", "s"),
        ("largest-write-gap", "s"),
        ("largest-response-max", "s"),
        ("largest-drained", "s"),
    ];
    let mut figures: Vec<(String, &str)> =
        fixed.iter().map(|(id, unit)| ((*id).to_owned(), *unit)).collect();
    for suffix in ["", "-placebo"] {
        for quantile in Quantile::STANDARD {
            let views = ["response", "weighted"];
            figures.extend(views.map(|view| (format!("{view}-{quantile}{suffix}"), "ms")));
        }
    }
    figures
}

/// Verdicts of the headline.
const DIFFERS: &str = "differs from placebo";
const NOISE: &str = "noise: not told apart from placebo";
const NOTHING: &str = "nothing to notice";
const FIXED: &str = "stalls, whatever the size";
/// An effect within this of zero, in s/GB or in s, prints as S1's 0.000.
const NOTICEABLE: f64 = 0.000_5;

impl<'a> Trial<'a> {
    /// What a deletion came to; `None` for a placebo.
    fn of(step: &'a Step) -> Option<Self> {
        if step.kind == "placebo" {
            return None;
        }
        let (stutter, delay) = (metric(step, "stutter_s"), metric(step, "delay_request_s"));
        Some(Self { step, gigabytes: step.parameters.get("label_bytes")? / 1e9, stutter, delay })
    }
}

fn metric(step: &Step, key: &str) -> f64 {
    step.metrics.get(key).copied().unwrap_or(0.0)
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
        let window = step.parameters.get("window_s").copied().unwrap_or(0.0);
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
    let Some(mut headline) = theil_sen(&points)
        .and_then(|line| Figure::new("stutter", "stutter per GB deleted", line.slope, "s/GB"))
    else {
        return each.into_iter().collect();
    };
    headline.headline = true;
    headline.n = points.len() as u64;
    headline.interval = sen_interval(&points, LEVEL);
    let stalls = each.as_ref().is_some_and(|figure| figure.value > 0.0 && noticeable(figure));
    let small = headline.value.abs() <= NOTICEABLE;
    let within = |slope: Interval| slope.low > -NOTICEABLE && slope.high < NOTICEABLE;
    headline.verdict = match headline.interval {
        None => None,
        Some(_) if noticeable(&headline) => Some(DIFFERS.to_owned()),
        Some(_) if stalls => Some(FIXED.to_owned()),
        Some(slope) if within(slope) || small && !slope.contains(0.0) => Some(NOTHING.to_owned()),
        Some(_) => Some(NOISE.to_owned()),
    };
    if headline.interval.is_none() {
        headline.caveat(Caveat::TooFewPoints);
    }
    if headline.verdict.as_deref() == Some(NOISE) {
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
    let title = "stutter per deletion of any size";
    let figure = Figure::new("stutter-per-deletion", title, shift, "s")?;
    Some(Figure { interval: sen_interval(&both, LEVEL), n: both.len() as u64, ..figure })
}

/// What else the points say: intercept, curvature, the cross-check by overdue time, the exponent.
fn shape(trials: &[Trial], rng: &mut Rng, delayed: bool) -> Vec<Figure> {
    let stutter = points(trials, |trial| trial.stutter);
    let overdue = points(trials, |trial| metric(trial.step, "overdue_s"));
    let delay = points(trials, |trial| trial.delay);
    let n = trials.len() as u64;
    let mut figures = Vec::new();
    let mut add = |figure: Option<Figure>, interval: Option<Interval>| {
        figures.extend(figure.map(|figure| Figure { interval, n, ..figure }));
    };
    if let Some(line) = theil_sen(&overdue) {
        let figure = Figure::new("overdue", "overdue time per GB deleted", line.slope, "s/GB");
        add(figure, sen_interval(&overdue, LEVEL));
    }
    if let Some(line) = theil_sen(&stutter) {
        let figure = Figure::new("stutter-intercept", "stutter at size 0", line.intercept, "s");
        let of = |points: &[(f64, f64)]| theil_sen(points).map(|line| line.intercept);
        add(figure, bootstrap_interval(&stutter, rng, Bootstrap::default(), of));
    }
    if let Some(value) = curvature(&stutter) {
        let figure = Figure::new("stutter-curvature", "curvature of the stutter", value, "s/GB^2");
        let quicker = Bootstrap { resamples: 400, ..Bootstrap::default() };
        add(figure, bootstrap_interval(&stutter, rng, quicker, curvature));
    }
    if let (true, Some(value)) = (delayed, power_exponent(&delay)) {
        let figure = Figure::new("delay-exponent", "exponent of the delay on size", value, "");
        add(figure, bootstrap_interval(&delay, rng, Bootstrap::default(), power_exponent));
    }
    figures
}

/// What a measure came to in one trial.
type OfTrial = fn(&Trial) -> f64;

/// The largest size: what each measure of one deletion came to, in the mean.
fn at_largest(trials: &[Trial], rng: &mut Rng) -> Vec<Figure> {
    let Some(largest) = trials.iter().map(|trial| trial.gigabytes).max_by(f64::total_cmp) else {
        return Vec::new();
    };
    let chosen: Vec<&Trial> = trials.iter().filter(|trial| trial.gigabytes >= largest).collect();
    let label = Bytes(trimbench_core::units::rounded(largest * 1e9));
    let mut figures = Vec::new();
    let table: [(&str, &str, &str, OfTrial); 8] = [
        ("largest-stutter", "stutter", "s", |trial| trial.stutter),
        ("largest-delay", "delay A", "request-s", |trial| trial.delay),
        ("largest-equivalent-stop", "equivalent stop T_eq", "s", |trial| {
            metric(trial.step, "equivalent_stop_s")
        }),
        ("largest-overdue", "overdue time", "s", |trial| metric(trial.step, "overdue_s")),
        ("largest-read-gap", "longest gap between reads", "s", |trial| {
            metric(trial.step, "read_gap_s")
        }),
        ("largest-write-gap", "longest gap between writes", "s", |trial| {
            metric(trial.step, "write_gap_s")
        }),
        ("largest-response-max", "worst response", "s", |trial| {
            metric(trial.step, "response_s_max")
        }),
        ("largest-drained", "time until nothing is overdue", "s", |trial| {
            metric(trial.step, "drained_s")
        }),
    ];
    for (id, title, unit, value) in table {
        let values: Vec<f64> = chosen.iter().map(|trial| value(trial)).collect();
        let title = format!("{title}, {label} deleted");
        let figure = mean(&values).and_then(|mean| Figure::new(id, &title, mean, unit));
        let interval = bootstrap_mean(&values, rng, Bootstrap::default());
        let n = values.len() as u64;
        figures.extend(figure.map(|figure| Figure { interval, n, ..figure }));
    }
    figures
}

/// Response times in two views: per access, and weighted by the time spent.
fn percentiles(steps: &[Step]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (suffix, title, placebo) in
        [("", "after a deletion", false), ("-placebo", "after a placebo", true)]
    {
        let mut merged = LatencyHistogram::new();
        for step in steps.iter().filter(|step| (step.kind == "placebo") == placebo) {
            let histogram = step.histograms.get("response-time");
            if let Some(Ok(histogram)) = histogram.map(|text| LatencyHistogram::from_text(text)) {
                merged.merge(&histogram);
            }
        }
        for quantile in Quantile::STANDARD {
            for (view, of, value) in [
                ("response", "of accesses", merged.percentile(quantile)),
                ("weighted", "of the time in accesses", merged.latency_weighted(quantile)),
            ] {
                let id = format!("{view}-{quantile}{suffix}");
                let title = format!("response time {title}, {quantile} {of}");
                let figure =
                    value.and_then(|value| Figure::new(&id, &title, value.0 as f64 / 1e6, "ms"));
                figures.extend(figure.map(|figure| Figure { n: merged.count(), ..figure }));
            }
        }
    }
    figures
}
