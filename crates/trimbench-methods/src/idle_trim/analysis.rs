//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::rng::Rng;
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Caveat};
use trimbench_results::number::quantity;
use trimbench_results::statistics::{Bootstrap, bootstrap_mean, mean};
use trimbench_results::{Figure, Metric, Step, Verdict};

use super::metrics::{NEVER_WRITTEN, WayMetrics};
use super::session::{DEVICE, PURGE, Way};
use trimbench_engine::Findings;

/// Repetitions that make an interval.
const FEW: usize = 3;

/// Computes all figures.
pub fn analyse(steps: &[Step], rng: &mut Rng) -> Findings {
    let mut figures = Vec::new();
    let mut caveats = Vec::new();
    for way in [Way::OneGo, Way::Chunks] {
        let rounds: Vec<&Step> = steps.iter().filter(|step| step.kind == way.id()).collect();
        figures.extend(of_way(way, &rounds, rng));
    }
    if let Some(step) = steps.iter().find(|step| step.id == PURGE) {
        figures.extend(figure(&NEVER_WRITTEN, step.metric("never_written_s"), &[step]));
    }
    if !figures.iter().any(|figure| figure.headline) {
        caveats.push(Caveat::TooFewPoints);
    }
    Findings::new(figures, caveats)
}

/// A figure over some rounds, with their caveats.
fn figure(metric: &Metric, value: Option<f64>, rounds: &[&Step]) -> Option<Figure> {
    let mut figure = metric.measured(value)?.with_n(rounds.len() as u64);
    figure.rests_on(rounds.iter().copied());
    Some(figure)
}

/// What a GB costs in one round; `None` if something was not measured.
fn cost(round: &Step) -> Option<f64> {
    let difference = round.metric("full_s")? - round.metric("empty_s")?;
    Some(difference / (round.parameter("span_bytes")? / 1e9))
}

fn of_way(way: Way, rounds: &[&Step], rng: &mut Rng) -> Vec<Figure> {
    let metrics = WayMetrics::of(way);
    let costs: Vec<f64> = rounds.iter().filter_map(|round| cost(round)).collect();
    let Some(middle) = mean(&costs) else { return Vec::new() };
    let (low, high) = ends(&costs);
    let copies = high <= low && costs.len() > 1;
    let mut main = figure(&metrics.cost, Some(middle), rounds);
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
    let all =
        |key: &str| -> Vec<f64> { rounds.iter().filter_map(|round| round.metric(key)).collect() };
    let rate = |round: &Step| Some(round.parameter("span_bytes")? / 1e9 / round.metric("full_s")?);
    let rates: Vec<f64> = rounds.iter().filter_map(|round| rate(round)).collect();
    let longest = all("full_command_s_max").into_iter().reduce(f64::max);
    let others = [
        (&metrics.spread, spread),
        (&metrics.empty, mean(&all("empty_s"))),
        (&metrics.full, mean(&all("full_s"))),
        (&metrics.rate, mean(&rates)),
        (&metrics.command_max, longest),
    ];
    let others = others.into_iter().filter_map(|(metric, value)| figure(metric, value, rounds));
    main.into_iter().chain(others).collect()
}

/// What the span takes, full and empty, and how much of the drive that is: a drive whose commands
/// take long has 0 s/GB too.
fn of_span(rounds: &[&Step], copies: bool) -> Option<Verdict> {
    let of = |key: &str| {
        let values: Vec<f64> = rounds.iter().filter_map(|round| round.metric(key)).collect();
        mean(&values).map(|seconds| quantity(seconds, "s"))
    };
    let (full, empty) = (of("full_s")?, of("empty_s")?);
    let bytes = |key: &str| rounds.first()?.parameter(key).map(|bytes| Bytes(rounded(bytes)));
    let span = bytes("span_bytes")?;
    // Older records do not say how large the device is.
    let span = match bytes(DEVICE) {
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
