//! Computes figures from recorded rates. A pure function of the record.

use trimbench_core::units::rounded;
use trimbench_core::{Caveat, Nanos};
use trimbench_results::{Figure, Metric, Quantile, Step};

use super::metrics::{self, RatePoint, rate_kept};
use super::options::LatencyUnderLoad;
use super::session::SUSTAINED;
use super::watch::Class;
use trimbench_engine::Findings;

/// Computes all figures.
pub fn analyse(method: &LatencyUnderLoad, steps: &[Step]) -> Findings {
    let find = |id: &str| steps.iter().find(|step| step.id == id);
    let mut figures = Vec::new();
    for &trim_rate in &method.trim_rates {
        let of_curve = metrics::points(method).filter(|point| point.trim_rate == trim_rate);
        let mut rates: Vec<&Step> = of_curve.filter_map(|point| find(&point.id())).collect();
        rates.sort_by(|a, b| offered(a).total_cmp(&offered(b)));
        figures.extend(headline(method, trim_rate, &rates));
    }
    let sustained = find(SUSTAINED);
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

/// The highest rate that, as all below it, the drive kept up with and whose reads and writes keep
/// the stated response time: at the 99th percentile, or at all where there are too few for one.
fn headline(method: &LatencyUnderLoad, trim_rate: u64, rates: &[&Step]) -> Option<Figure> {
    let keeps = |class: Class, step: &Step| {
        let p99 = step.metric(&class.key(&Quantile::P99.to_string()));
        let response = p99.or_else(|| step.metric(&class.key("max")));
        response.is_none_or(|response| Nanos::from_seconds(response) <= method.keep)
    };
    let good =
        |step: &&&Step| keeps_up(step) && keeps(Class::Read, step) && keeps(Class::Write, step);
    let kept: Vec<&Step> = rates.iter().take_while(good).copied().collect();
    let looked_at = rates.get(..=kept.len()).unwrap_or(rates);
    let value = kept.last().map_or(0.0, |step| offered(step));
    let mut figure = rate_kept(method, trim_rate).measured((!rates.is_empty()).then_some(value))?;
    figure.rests_on(looked_at.iter().copied());
    let count = |step: &Step, class: Class| step.metric(&format!("{}_count", class.id()));
    let accesses = kept.last().map_or(0.0, |step| {
        [Class::Read, Class::Write].into_iter().filter_map(|class| count(step, class)).sum()
    });
    Some(figure.with_n(rounded(accesses).max(1)))
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
