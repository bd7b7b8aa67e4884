//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_core::rng::Rng;
use trimbench_results::statistics::{Bootstrap, bootstrap_mean, mean};
use trimbench_results::{Figure, Step};

use super::session::{PURGE, Way};
use trimbench_engine::method::Findings;

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
        let title = "whole TRIM of what was never written";
        let value = step.metrics.get("never_written_s");
        figures
            .extend(value.and_then(|value| figure("never-written", title, *value, "s", &[step])));
    }
    if !figures.iter().any(|figure| figure.headline) {
        caveats.push(Caveat::TooFewPoints);
    }
    Findings { figures, caveats }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures() -> Vec<(String, &'static str)> {
    let of_way = |prefix: &str| {
        let figures = [
            ("", "s/GB"),
            ("-spread", "s/GB"),
            ("-empty", "s"),
            ("-full", "s"),
            ("-rate", "GB/s"),
            ("-command-max", "s"),
        ];
        figures.map(|(suffix, unit)| (format!("{prefix}{suffix}"), unit))
    };
    let mut figures: Vec<_> = [of_way("idle-trim"), of_way("chunked")].concat();
    figures.push(("never-written".to_owned(), "s"));
    figures
}

/// A figure over some rounds, with their caveats.
fn figure(id: &str, title: &str, value: f64, unit: &str, rounds: &[&Step]) -> Option<Figure> {
    let mut figure = Figure::new(id, title, value, unit)?;
    figure.n = rounds.len() as u64;
    for id in rounds.iter().flat_map(|round| &round.caveats) {
        if let Some(caveat) = Caveat::from_id(id) {
            figure.caveat(caveat);
        }
    }
    Some(figure)
}

/// What a GB costs in one round; `None` if something was not measured.
fn cost(round: &Step) -> Option<f64> {
    let difference = round.metrics.get("full_s")? - round.metrics.get("empty_s")?;
    Some(difference / (round.parameters.get("span_bytes")? / 1e9))
}

fn of_way(way: Way, rounds: &[&Step], rng: &mut Rng) -> Vec<Figure> {
    let (prefix, how) = match way {
        Way::OneGo => ("idle-trim", "in one go"),
        Way::Chunks => ("chunked", "in chunks"),
    };
    let costs: Vec<f64> = rounds.iter().filter_map(|round| cost(round)).collect();
    let Some(middle) = mean(&costs) else { return Vec::new() };
    let (low, high) = ends(&costs);
    let mut figures = Vec::new();
    let title = format!("cost of a GB on an idle drive, {how}");
    if let Some(mut main) = figure(prefix, &title, middle, "s/GB", rounds) {
        main.headline = way == Way::OneGo;
        if high > low {
            main.interval = bootstrap_mean(&costs, rng, Bootstrap::default());
        } else if costs.len() > 1 {
            // Copies of one observation have no spread to make an interval of.
            main.n = 1;
            main.verdict = Some(format!("{} repetitions came to the same", costs.len()));
        }
        let copies = high <= low && costs.len() > 1;
        if costs.len() < FEW && !copies {
            main.caveat(Caveat::TooFewPoints);
        }
        figures.push(main);
    }
    let mut add = |suffix: &str, title: &str, value: Option<f64>, unit: &str| {
        let id = format!("{prefix}-{suffix}");
        let title = format!("{title}, {how}");
        figures.extend(value.and_then(|value| figure(&id, &title, value, unit, rounds)));
    };
    let spread = (costs.len() > 1).then_some(high - low);
    add("spread", "largest less smallest cost of a GB", spread, "s/GB");
    let all = |key: &str| -> Vec<f64> {
        rounds.iter().filter_map(|round| round.metrics.get(key).copied()).collect()
    };
    add("empty", "whole TRIM of an empty drive", mean(&all("empty_s")), "s");
    add("full", "whole TRIM of a full drive", mean(&all("full_s")), "s");
    let rates: Vec<f64> = rounds
        .iter()
        .filter_map(|round| {
            Some(round.parameters.get("span_bytes")? / 1e9 / round.metrics.get("full_s")?)
        })
        .collect();
    add("rate", "bytes discarded a second on a full drive", mean(&rates), "GB/s");
    let longest = all("full_command_s_max");
    let longest = (!longest.is_empty()).then(|| ends(&longest).1);
    add("command-max", "longest single TRIM of a full drive", longest, "s");
    figures
}

/// The smallest and the largest of values that are there.
fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}
