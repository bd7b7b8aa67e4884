//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_results::{Figure, Step, Verdict};

use super::metrics::{LOCATED, OfPhase, ratios, single};
use super::scene::StormPhase;
use trimbench_engine::Findings;

/// Computes all figures.
pub fn analyse(steps: &[Step]) -> Findings {
    let step = |phase: StormPhase| steps.iter().find(|step| step.id == phase.id());
    let value = |(phase, key): OfPhase| step(phase)?.metric(key);
    let mut figures = Vec::new();
    for (metric, of) in single() {
        let Some(mut figure) = metric.measured(value(of)) else { continue };
        if metric.headline {
            figure = figure.judged(verdict(&value));
        }
        carry_caveats(&mut figure, metric.headline, &[step(of.0)]);
        figures.push(figure);
    }
    for (metric, upper, lower) in ratios() {
        let ratio = value(upper).zip(value(lower)).filter(|(_, lower)| *lower > 0.0);
        let ratio = ratio.map(|(upper, lower)| upper / lower);
        let Some(mut figure) = metric.measured(ratio) else { continue };
        carry_caveats(&mut figure, lower.1 == LOCATED, &[step(upper.0), step(lower.0)]);
        figures.push(figure);
    }
    Findings::new(figures, Vec::new())
}

/// Where the stall lies.
fn verdict(value: &impl Fn(OfPhase) -> Option<f64>) -> Option<Verdict> {
    let of = |key| value((StormPhase::SecondWrite, key));
    let Some(located) = of(LOCATED) else { return Some(Verdict::StallNotLocated) };
    if located <= 0.0 {
        return Some(Verdict::NothingStalled);
    }
    let places = [
        ("device", &["located_device_s", "located_tags_s"][..]),
        ("block layer", &["located_block_layer_s"]),
        ("above", &["located_above_s"]),
    ];
    let time = |keys: &[&'static str]| keys.iter().filter_map(|key| of(key)).sum::<f64>();
    let most = places.map(|(name, keys)| (name, time(keys)));
    let most = most.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    most.map(|(layer, time)| Verdict::StallIn {
        layer: layer.to_owned(),
        percent: (100.0 * time / located).round_ties_even(),
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
