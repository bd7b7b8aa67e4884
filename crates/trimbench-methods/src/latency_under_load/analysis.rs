//! Computes figures from recorded rates. A pure function of the record.

use trimbench_core::units::rounded;
use trimbench_core::{Caveat, Nanos};
use trimbench_results::{Figure, Metric, Quantile, Step, Verdict};

use super::metrics::{self, RatePoint, rate_kept};
use super::options::LatencyUnderLoad;
use super::session::SUSTAINED;
use super::watch::Class;
use trimbench_engine::Findings;

/// Computes all figures.
pub fn analyse(method: &LatencyUnderLoad, steps: &[Step]) -> Findings {
    let find = |id: &str| steps.iter().find(|step| step.id == id);
    let mut figures: Vec<Figure> = Vec::new();
    let sustained = find(SUSTAINED);
    for &trim_rate in &method.trim_rates {
        let of_curve = |id: fn(RatePoint) -> String| {
            let points = metrics::points(method).filter(|point| point.trim_rate == trim_rate);
            let mut rates: Vec<&Step> = points.filter_map(|point| find(&id(point))).collect();
            rates.sort_by(|a, b| offered(a).total_cmp(&offered(b)));
            rates
        };
        let (rates, confirmed) = (of_curve(RatePoint::id), of_curve(RatePoint::confirmation));
        let first = figures.first().filter(|_| trim_rate > 0 && method.trim_rates[0] == 0);
        let beside = (sustained, first.map(|figure| figure.value));
        figures.extend(headline(method, trim_rate, (&rates, &confirmed), beside));
    }
    figures.extend(sustained.and_then(|step| {
        let mut figure = metrics::SUSTAINED.measured(step.metric("iops"))?;
        figure.rests_on([step]);
        Some(figure)
    }));
    for point in metrics::points(method) {
        figures.extend(find(&point.id()).into_iter().flat_map(|step| of_rate(point, step)));
    }
    let unsteady = |step: &&Step| step.caveats.iter().any(|id| *id == Caveat::NoSteadyState.id());
    let caveats = sustained.filter(unsteady).map(|_| Caveat::NoSteadyState);
    Findings::new(figures, caveats.into_iter().collect())
}

fn offered(step: &Step) -> f64 {
    step.parameter("offered_per_s").unwrap_or(0.0)
}

fn keeps_up(step: &Step) -> bool {
    step.metric("kept_up").is_some_and(|kept| kept > 0.5)
}

/// Whether the drive kept up with a rate, and reads and writes keep the stated response time: at
/// the
/// 99th percentile, or at all where there are too few for one.
pub(super) fn is_good(method: &LatencyUnderLoad, step: &Step) -> bool {
    let keeps = |class: Class| {
        let p99 = step.metric(&class.key(&Quantile::P99.to_string()));
        let response = p99.or_else(|| step.metric(&class.key("max")));
        response.is_none_or(|response| Nanos::from_seconds(response) <= method.keep)
    };
    keeps_up(step) && keeps(Class::Read) && keeps(Class::Write)
}

/// Whether it does, and the p99 of neither grows with the length of the run.
pub(super) fn is_steady(method: &LatencyUnderLoad, step: &Step) -> bool {
    let grows = |class: Class| step.metric(&class.key("p99_grows")).is_some_and(|it| it > 0.5);
    is_good(method, step) && !grows(Class::Read) && !grows(Class::Write)
}

/// The highest rate that is good, as all below it are, and stayed so when it was run for longer; of
/// rates in ascending order, each with its confirmation.
fn headline(
    method: &LatencyUnderLoad,
    trim_rate: u64,
    (rates, confirmed): (&[&Step], &[&Step]),
    (sustained, without): (Option<&Step>, Option<f64>),
) -> Option<Figure> {
    let good = |step: &&&Step| is_good(method, step);
    let kept: Vec<&Step> = rates.iter().take_while(good).copied().collect();
    let looked_at = rates.get(..=kept.len()).unwrap_or(rates);
    // An older record, or one that was interrupted, has none.
    let chosen = match confirmed {
        [] => kept.iter().rfind(|step| is_steady(method, step)).copied(),
        all => all
            .iter()
            .filter(|step| is_steady(method, step))
            .max_by(|a, b| offered(a).total_cmp(&offered(b)))
            .copied(),
    };
    let value = chosen.map_or(0.0, offered);
    let mut figure = rate_kept(method, trim_rate).measured((!rates.is_empty()).then_some(value))?;
    figure.rests_on(looked_at.iter().chain(confirmed).copied());
    let count = |step: &Step, class: Class| step.metric(&format!("{}_count", class.id()));
    let accesses = chosen.map_or(0.0, |step| {
        [Class::Read, Class::Write].into_iter().filter_map(|class| count(step, class)).sum()
    });
    let figure = figure.with_n(rounded(accesses).max(1));
    let sustained = sustained.and_then(|step| step.metric("iops")).filter(|iops| *iops > 0.0);
    Some(match sustained {
        Some(sustained) => figure.judged(verdict(value, sustained, without)),
        None => figure,
    })
}

/// What the rate is of what the drive sustains, and beside TRIMs what it is `without` them.
fn verdict(value: f64, sustained: f64, without: Option<f64>) -> Verdict {
    let percent = (1e3 * value / sustained).round() / 10.0;
    let (sustained, without) = (rounded(sustained), without.map(rounded));
    match (value > 0.0, without) {
        (true, None) => Verdict::RateKept { percent, sustained },
        (true, Some(without)) => Verdict::RateKeptBeside { percent, sustained, without },
        (false, None) => Verdict::NoRateKept { sustained },
        (false, Some(without)) => Verdict::NoRateKeptBeside { sustained, without },
    }
}

/// The figures of one rate; of one that the drive did not keep up with only what it served.
fn of_rate(point: RatePoint, step: &Step) -> Vec<Figure> {
    let figure = |metric: Metric, value: Option<f64>, n: u64| {
        let mut figure = metric.measured(value)?.with_n(n);
        figure.rests_on([step]);
        Some(figure)
    };
    let mut figures = Vec::new();
    figures.extend(figure(point.achieved(), step.metric("achieved_per_s"), 1));
    for class in Class::ALL.into_iter().filter(|_| keeps_up(step)) {
        let Some(count) = step.metric(&format!("{}_count", class.id())) else { continue };
        let ms = |key: &str| step.metric(&class.key(key)).map(|seconds| seconds * 1e3);
        for quantile in Quantile::STANDARD {
            let metric = point.percentile(class, quantile);
            figures.extend(figure(metric, ms(&quantile.to_string()), rounded(count)));
        }
        figures.extend(figure(point.mean(class), ms("mean"), rounded(count)));
        figures.extend(figure(point.longest(class), ms("max"), rounded(count)));
    }
    figures
}
