//! Computes figures from recorded rates. A pure function of the record.

use trimbench_core::units::rounded;
use trimbench_core::{Caveat, Nanos};
use trimbench_results::{Figure, Metric, Step, StepOf, Verdict};

use super::metrics::{self, RatePoint, rate_kept};
use super::options::LatencyUnderLoad;
use super::session::SUSTAINED;
use super::steps::{OfferedRateStep, ResponseStep, SustainedStep};
use super::watch::Class;
use trimbench_engine::Findings;

type Rate<'a> = StepOf<'a, OfferedRateStep>;

/// Computes all figures.
pub fn analyse(method: &LatencyUnderLoad, steps: &[Step]) -> Findings {
    let find = |id: &str| steps.iter().find(|step| step.id == id);
    let mut figures: Vec<Figure> = Vec::new();
    let rate = |id: String| find(&id).and_then(Rate::read);
    let sustained = find(SUSTAINED).and_then(StepOf::<SustainedStep>::read);
    let iops = sustained.as_ref().map(|step| step.iops).filter(|iops| *iops > 0.0);
    for &trim_rate in &method.trim_rates {
        let of_curve = |id: fn(RatePoint) -> String| {
            let points = metrics::points(method).filter(|point| point.trim_rate == trim_rate);
            let mut rates: Vec<Rate<'_>> = points.filter_map(|point| rate(id(point))).collect();
            rates.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
            rates
        };
        let (rates, confirmed) = (of_curve(RatePoint::id), of_curve(RatePoint::confirmation));
        let first = figures.first().filter(|_| trim_rate > 0 && method.trim_rates[0] == 0);
        let beside = (iops, first.map(|figure| figure.value));
        figures.extend(headline(method, trim_rate, (&rates, &confirmed), beside));
    }
    figures.extend(sustained.as_ref().and_then(|sustained| {
        let mut figure = metrics::SUSTAINED.measured(sustained.iops)?;
        figure.rests_on([sustained.step]);
        Some(figure)
    }));
    for point in metrics::points(method) {
        figures.extend(rate(point.id()).iter().flat_map(|rate| of_rate(point, rate)));
    }
    let unsteady = |id: &String| *id == Caveat::NoSteadyState.id();
    let caveats = sustained.filter(|sustained| sustained.step.caveats.iter().any(unsteady));
    let caveats = caveats.map(|_| Caveat::NoSteadyState);
    Findings::new(figures, caveats.into_iter().collect())
}

/// Whether the drive kept up with a rate, and reads and writes keep the stated response time: at
/// the 99th percentile, or at all where there are too few for one.
pub(super) fn is_good(method: &LatencyUnderLoad, rate: &OfferedRateStep) -> bool {
    let keeps = |class: &ResponseStep| {
        let response = class.percentiles.p99.unwrap_or(class.max);
        Nanos::from_seconds(response) <= method.keep
    };
    rate.kept_up && rate.accesses().all(keeps)
}

/// Whether it does, and the p99 of neither grows with the length of the run.
pub(super) fn is_steady(method: &LatencyUnderLoad, rate: &OfferedRateStep) -> bool {
    let grows = |class: &ResponseStep| class.growth.is_some_and(|growth| growth.grows);
    is_good(method, rate) && !rate.accesses().any(grows)
}

/// The highest rate that is good, as all below it are, and stayed so when it was run for longer; of
/// rates in ascending order, each with its confirmation. Beside it what the drive sustains, and the
/// rate without TRIMs.
fn headline(
    method: &LatencyUnderLoad,
    trim_rate: u64,
    (rates, confirmed): (&[Rate<'_>], &[Rate<'_>]),
    (sustained, without): (Option<f64>, Option<f64>),
) -> Option<Figure> {
    let good = rates.iter().take_while(|rate| is_good(method, rate)).count();
    let looked_at = rates.get(..=good).unwrap_or(rates);
    // An older record, or one that was interrupted, has none.
    let candidates = if confirmed.is_empty() { &rates[..good] } else { confirmed };
    let steady = candidates.iter().filter(|rate| is_steady(method, rate));
    let chosen = steady.max_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    // The figure's definition: 0 if none is kept.
    let value = chosen.map_or(0.0, |rate| rate.offered_per_s);
    let mut figure = rate_kept(method, trim_rate).measured((!rates.is_empty()).then_some(value))?;
    figure.rests_on(looked_at.iter().chain(confirmed).map(|rate| rate.step));
    let accesses = chosen.into_iter().flat_map(|rate| rate.accesses()).map(|class| class.count);
    let figure = figure.with_n(accesses.sum::<u64>().max(1));
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
fn of_rate(point: RatePoint, rate: &Rate<'_>) -> Vec<Figure> {
    let figure = |metric: Metric, value: Option<f64>, n: u64| {
        let mut figure = metric.measured(value)?.with_n(n);
        figure.rests_on([rate.step]);
        Some(figure)
    };
    let mut figures = Vec::new();
    figures.extend(figure(point.achieved(), rate.achieved_per_s, 1));
    for class in Class::ALL.into_iter().filter(|_| rate.kept_up) {
        let Some(found) = rate.responses(class) else { continue };
        let ms = |seconds: f64| Some(seconds * 1e3);
        for (quantile, response) in found.percentiles.present() {
            figures.extend(figure(point.percentile(class, quantile), ms(response), found.count));
        }
        figures.extend(figure(point.mean(class), ms(found.mean), found.count));
        figures.extend(figure(point.longest(class), ms(found.max), found.count));
    }
    figures
}
