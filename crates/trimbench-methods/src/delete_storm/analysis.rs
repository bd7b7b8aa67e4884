//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_results::{Figure, Step, StepOf, Verdict};

use super::metrics::{OfPhase, places, ratios, single};
use super::scene::StormPhase;
use super::steps::{StormLocatedStep, StormPhaseStep};
use trimbench_engine::Findings;

/// Computes all figures.
pub fn analyse(steps: &[Step]) -> Findings {
    let phases: Vec<StepOf<'_, StormPhaseStep>> = steps.iter().filter_map(StepOf::read).collect();
    let found = |phase: StormPhase| phases.iter().find(|it| it.step.id == phase.id());
    let step = |phase: StormPhase| found(phase).map(|it| it.step);
    let value = |(phase, of): OfPhase| of(found(phase)?);
    let second = StormPhase::SecondWrite;
    let located = found(second).and_then(|it| it.located);
    let mut figures = Vec::new();
    for (metric, of) in single() {
        let Some(mut figure) = metric.measured(value(of)) else { continue };
        if metric.headline {
            figure = figure.judged(verdict(located));
        }
        carry_caveats(&mut figure, metric.headline, &[step(of.0)]);
        figures.push(figure);
    }
    for (metric, upper, lower) in ratios() {
        let ratio = value(upper).zip(value(lower)).filter(|(_, lower)| *lower > 0.0);
        let ratio = ratio.map(|(upper, lower)| upper / lower);
        let Some(mut figure) = metric.measured(ratio) else { continue };
        carry_caveats(&mut figure, false, &[step(upper.0), step(lower.0)]);
        figures.push(figure);
    }
    let stalled = located.filter(|it| it.located_s > 0.0);
    for (metric, of) in places() {
        let share = stalled.map(|it| of(&it) / it.located_s);
        let Some(mut figure) = metric.measured(share) else { continue };
        carry_caveats(&mut figure, true, &[step(second)]);
        figures.push(figure);
    }
    Findings::new(figures, Vec::new())
}

/// Where the stall lies.
fn verdict(located: Option<StormLocatedStep>) -> Option<Verdict> {
    let Some(located) = located else { return Some(Verdict::StallNotLocated) };
    if located.located_s <= 0.0 {
        return Some(Verdict::NothingStalled);
    }
    let places = [
        ("device", located.located_device_s + located.located_tags_s),
        ("block layer", located.located_block_layer_s),
        ("above", located.located_above_s),
    ];
    let most = places.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    most.map(|(layer, time)| Verdict::StallIn {
        layer: layer.to_owned(),
        percent: (100.0 * time / located.located_s).round_ties_even(),
    })
}

/// What is wrong with the requests limits only what tells the place of the stall.
fn carry_caveats(figure: &mut Figure, tells_place: bool, steps: &[Option<&Step>]) {
    figure.rests_on(steps.iter().copied().flatten());
    if !tells_place {
        let of_requests = [Caveat::RequestsUnseen.id(), Caveat::RequestsLost.id()];
        figure.caveats.retain(|id| !of_requests.contains(&id.as_str()));
    }
}
