//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_core::rng::Rng;
use trimbench_results::number::quantity;
use trimbench_results::statistics::{Bootstrap, bootstrap_mean, mean};
use trimbench_results::{Figure, Metric, Step, StepOf, Verdict};

use super::metrics::{NEVER_WRITTEN, WayMetrics};
use super::session::{PURGE, Way};
use super::steps::{IdlePurgeStep, IdleRoundStep};
use trimbench_engine::Findings;

/// Repetitions that make an interval.
const FEW: usize = 3;

/// A repetition.
type Repetition<'a> = StepOf<'a, IdleRoundStep>;

/// Computes all figures.
pub fn analyse(steps: &[Step], rng: &mut Rng) -> Findings {
    let mut figures = Vec::new();
    let mut caveats = Vec::new();
    for way in [Way::OneGo, Way::Chunks] {
        let rounds = steps.iter().filter(|step| step.kind == way.id());
        let rounds: Vec<Repetition> = rounds.filter_map(Repetition::read).collect();
        figures.extend(of_way(way, &rounds, rng));
    }
    let purge = steps.iter().find(|step| step.id == PURGE);
    if let Some(purge) = purge.and_then(StepOf::<IdlePurgeStep>::read) {
        let trim = purge.never_written.map(|trim| trim.trim_s);
        figures.extend(figure(&NEVER_WRITTEN, trim, [purge.step]));
    }
    if !figures.iter().any(|figure| figure.headline) {
        caveats.push(Caveat::TooFewPoints);
    }
    Findings::new(figures, caveats)
}

/// A figure over some steps, with their caveats.
fn figure<'a>(
    metric: &Metric,
    value: Option<f64>,
    steps: impl IntoIterator<Item = &'a Step, IntoIter: ExactSizeIterator>,
) -> Option<Figure> {
    let steps = steps.into_iter();
    let mut figure = metric.measured(value)?.with_n(steps.len() as u64);
    figure.rests_on(steps);
    Some(figure)
}

/// A value of each round.
fn each(rounds: &[Repetition<'_>], value: fn(&IdleRoundStep) -> f64) -> Vec<f64> {
    rounds.iter().map(|round| value(round)).collect()
}

fn of_way(way: Way, rounds: &[Repetition<'_>], rng: &mut Rng) -> Vec<Figure> {
    let metrics = WayMetrics::of(way);
    let figure = |metric, value| figure(metric, value, rounds.iter().map(|round| round.step));
    // What a GB costs.
    let costs = each(rounds, |it| (it.full.trim_s - it.empty.trim_s) / it.span_bytes.gigabytes());
    let Some(middle) = mean(&costs) else { return Vec::new() };
    let (low, high) = ends(&costs);
    let copies = high <= low && costs.len() > 1;
    let mut main = figure(&metrics.cost, Some(middle));
    if let Some(main) = &mut main {
        if high > low {
            main.interval = bootstrap_mean(&costs, rng, Bootstrap::default());
        } else if copies {
            // Copies of one observation have no spread to make an interval of.
            main.n = 1;
        }
        main.verdict = of_span(rounds, copies);
        if costs.len() < FEW && !copies {
            main.caveat(Caveat::TooFewPoints);
        }
    }
    let spread = (costs.len() > 1).then_some(high - low);
    let rates = each(rounds, |round| round.span_bytes.gigabytes() / round.full.trim_s);
    let longest = each(rounds, |round| round.full.command_s_max).into_iter().reduce(f64::max);
    let others = [
        (&metrics.spread, spread),
        (&metrics.empty, mean(&each(rounds, |round| round.empty.trim_s))),
        (&metrics.full, mean(&each(rounds, |round| round.full.trim_s))),
        (&metrics.rate, mean(&rates)),
        (&metrics.command_max, longest),
    ];
    let others = others.into_iter().filter_map(|(metric, value)| figure(metric, value));
    main.into_iter().chain(others).collect()
}

/// What the span takes, full and empty, and how much of the drive that is: a drive whose commands
/// take long has 0 s/GB too.
fn of_span(rounds: &[Repetition<'_>], copies: bool) -> Option<Verdict> {
    let of = |seconds| mean(&each(rounds, seconds)).map(|seconds| quantity(seconds, "s"));
    let (full, empty) = (of(|round| round.full.trim_s)?, of(|round| round.empty.trim_s)?);
    let IdleRoundStep { span_bytes: span, device_bytes, .. } = rounds.first()?.values;
    // Older records do not say how large the device is.
    let span = match device_bytes {
        Some(device) if device > span => format!("the first {span} of {device}"),
        Some(_) => format!("all {span}"),
        None => span.to_string(),
    };
    let repetitions = rounds.len() as u64;
    Some(if copies {
        Verdict::SpanTrimsAlike { span, full, empty, repetitions }
    } else {
        Verdict::SpanTrims { span, full, empty }
    })
}

/// The smallest and the largest of values that are there.
fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}
