//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_core::rng::Rng;
use trimbench_results::statistics::{Bootstrap, bootstrap_mean, mean, paired_ratio};
use trimbench_results::{Figure, Interval, Step, StepOf, Verdict};

use super::metrics::{PostmarkMetric, rows};
use super::session::REPETITION;
use super::steps::PostmarkStep;
use super::variants::Variant;
use trimbench_engine::Findings;

/// Repetitions that make an interval.
const FEW: usize = 3;

type RunOf<'a> = StepOf<'a, PostmarkStep>;

/// Computes all figures: of one filesystem as it is, or of each arm and what `discard` changes.
pub fn analyse(steps: &[Step], rng: &mut Rng) -> Findings {
    let of_kind = |kind: &str| -> Vec<RunOf<'_>> {
        steps.iter().filter(|step| step.kind == kind).filter_map(StepOf::read).collect()
    };
    let variants: Vec<(Variant, Vec<RunOf<'_>>)> =
        Variant::ALL.map(|variant| (variant, of_kind(&variant.id()))).into();
    let mut figures = Vec::new();
    for buffered in [true, false] {
        let steps = |discard| {
            let found =
                variants.iter().find(|(variant, _)| *variant == Variant { discard, buffered });
            found.map_or(&[][..], |(_, steps)| &steps[..])
        };
        figures.extend(differences(steps(false), steps(true), buffered));
    }
    for (variant, steps) in &variants {
        figures.extend(means(steps, Some(*variant), rng));
    }
    figures.extend(means(&of_kind(REPETITION), None, rng).into_iter().map(|figure| {
        let alone = figure.headline.then_some(Verdict::NothingToCompare);
        figure.judged(alone)
    }));
    Findings::new(figures, Vec::new())
}

/// The means over repetitions of one arm; of a directory without.
fn means(runs: &[RunOf<'_>], variant: Option<Variant>, rng: &mut Rng) -> Vec<Figure> {
    let mut figures = Vec::new();
    for row in rows() {
        let values: Vec<f64> = runs.iter().filter_map(|run| (row.value)(run)).collect();
        let Some(mut figure) = row.measured_with(variant).measured(mean(&values)) else { continue };
        figure.n = values.len() as u64;
        if values.len() < FEW {
            figure.caveat(Caveat::TooFewPoints);
        } else {
            figure.interval = bootstrap_mean(&values, rng, Bootstrap::default());
        }
        figure.rests_on(runs.iter().map(|run| run.step));
        figures.push(figure);
    }
    figures
}

/// What mounting with `discard` changes, in percent of what it is without, as \[S0\] has it: from
/// the means. Intervals and verdicts come from the repetitions, pair by pair.
fn differences(without: &[RunOf<'_>], with: &[RunOf<'_>], buffered: bool) -> Vec<Figure> {
    let mut figures = Vec::new();
    for row in rows() {
        let pairs: Vec<(f64, f64)> = pairs(without, with, row);
        let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (Some(before), Some(after)) = (mean(&before), mean(&after)) else { continue };
        if before <= 0.0 {
            continue;
        }
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let difference = row.difference(buffered).measured(percent(after / before));
        let Some(mut figure) = difference else { continue };
        figure.n = pairs.len() as u64;
        match paired_ratio(&pairs) {
            None => figure.caveat(Caveat::TooFewPoints),
            Some(Interval { low, high, level }) => {
                figure.interval = Interval::new(percent(low), percent(high), level);
                let noise = low <= 1.0 && high >= 1.0;
                figure.verdict = Some(if noise { Verdict::Noise } else { Verdict::Differs });
            }
        }
        figure.rests_on(without.iter().chain(with).map(|run| run.step));
        figures.push(figure);
    }
    figures
}

/// The metric without and with `discard`, of each repetition that has both.
fn pairs(without: &[RunOf<'_>], with: &[RunOf<'_>], row: PostmarkMetric) -> Vec<(f64, f64)> {
    let of = |run: &RunOf<'_>| Some((run.made?.repetition, (row.value)(run)?));
    let partner = |repetition: u64| {
        let mut after = with.iter().filter_map(of);
        after.find(|(other, _)| *other == repetition).map(|(_, after)| after)
    };
    let before = without.iter().filter_map(of);
    before.filter_map(|(repetition, before)| Some((before, partner(repetition)?))).collect()
}
