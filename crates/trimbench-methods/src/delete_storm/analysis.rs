//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_results::{Figure, Step};

use super::scene::StormPhase;
use trimbench_engine::method::Findings;

/// Metrics of a step: how long it took; in the second round, how long the writers stalled in all,
/// and in one go.
pub(super) const DURATION: &str = "duration_s";
pub(super) const STALL: &str = "stall_s";
pub(super) const STALL_LONGEST: &str = "stall_s_longest";

/// Figures that are one metric of one step: id, title, step, metric, unit.
const SINGLE: [(&str, &str, StormPhase, &str, &str); 11] = [
    ("second-stall", "second round's writers stalled", StormPhase::SecondWrite, STALL, "s"),
    ("second-stall-longest", "the longest of it", StormPhase::SecondWrite, STALL_LONGEST, "s"),
    ("write-time", "writing alone", StormPhase::Write, DURATION, "s"),
    ("rewrite-time", "reading and writing again", StormPhase::Rewrite, DURATION, "s"),
    ("read-time", "reading back", StormPhase::Read, DURATION, "s"),
    ("delete-time", "deleting", StormPhase::Delete, DURATION, "s"),
    ("trim-time", "from the deletion to the last discard", StormPhase::Trim, DURATION, "s"),
    ("second-write-time", "writing beside the discards", StormPhase::SecondWrite, DURATION, "s"),
    ("probe-alone", "slowest probe, writing alone", StormPhase::Write, "probe_latency_s_max", "s"),
    ("probe-trim", "slowest probe, discards alone", StormPhase::Trim, "probe_latency_s_max", "s"),
    (
        "probe-second",
        "slowest probe, second round",
        StormPhase::SecondWrite,
        "probe_latency_s_max",
        "s",
    ),
];
/// A metric of a step.
type Metric = (StormPhase, &'static str);

/// Figures that are a ratio of two metrics: id, title, and both.
const RATIOS: [(&str, &str, Metric, Metric); 7] = [
    (
        "trim-over-write",
        "discards, over writing alone",
        (StormPhase::Trim, DURATION),
        (StormPhase::Write, DURATION),
    ),
    (
        "stall-over-trim",
        "second round's stall, over the discards alone",
        (StormPhase::SecondWrite, STALL),
        (StormPhase::Trim, DURATION),
    ),
    (
        "stalled-without-write",
        "of the stall, while no drive completed a write",
        (StormPhase::SecondWrite, "stalled_without_write_s"),
        (StormPhase::SecondWrite, STALL),
    ),
    (
        "located-device",
        "of the stall, in the device",
        (StormPhase::SecondWrite, "located_device_s"),
        (StormPhase::SecondWrite, "located_s"),
    ),
    (
        "located-tags",
        "of the stall, in the device, seen from above: no free tags",
        (StormPhase::SecondWrite, "located_tags_s"),
        (StormPhase::SecondWrite, "located_s"),
    ),
    (
        "located-block-layer",
        "of the stall, in the block layer",
        (StormPhase::SecondWrite, "located_block_layer_s"),
        (StormPhase::SecondWrite, "located_s"),
    ),
    (
        "located-above",
        "of the stall, above: nothing of it was sent",
        (StormPhase::SecondWrite, "located_above_s"),
        (StormPhase::SecondWrite, "located_s"),
    ),
];
/// The stall, and the verdict on it where requests are not seen.
const HEADLINE: &str = "second-stall";
const NOT_LOCATED: &str = "not located: the requests of its devices could not be seen";

/// Computes all figures.
pub fn analyse(steps: &[Step]) -> Findings {
    let step = |phase: StormPhase| steps.iter().find(|step| step.id == phase.id());
    let metric = |phase, key: &str| step(phase)?.metrics.get(key).copied();
    let mut figures = Vec::new();
    for (id, title, phase, key, unit) in SINGLE {
        let found = metric(phase, key).and_then(|value| Figure::new(id, title, value, unit));
        let Some(mut figure) = found else { continue };
        figure.headline = id == HEADLINE;
        if figure.headline {
            figure.verdict = Some(verdict(&metric));
        }
        carry_caveats(&mut figure, &[step(phase)]);
        figures.push(figure);
    }
    for (id, title, (upper, upper_key), (lower, lower_key)) in RATIOS {
        let ratio = metric(upper, upper_key).zip(metric(lower, lower_key));
        let ratio = ratio.filter(|(_, lower)| *lower > 0.0).map(|(upper, lower)| upper / lower);
        let Some(mut figure) = ratio.and_then(|ratio| Figure::new(id, title, ratio, "")) else {
            continue;
        };
        carry_caveats(&mut figure, &[step(upper), step(lower)]);
        figures.push(figure);
    }
    Findings { figures, caveats: Vec::new() }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures() -> Vec<(String, &'static str)> {
    let single = SINGLE.map(|(id, _, _, _, unit)| (id.to_owned(), unit));
    let ratios = RATIOS.map(|(id, _, _, _)| (id.to_owned(), ""));
    single.into_iter().chain(ratios).collect()
}

/// Where the stall lies, in a word.
fn verdict(metric: &impl Fn(StormPhase, &str) -> Option<f64>) -> String {
    let of = |key: &str| metric(StormPhase::SecondWrite, key);
    let Some(located) = of("located_s") else { return NOT_LOCATED.to_owned() };
    if located <= 0.0 {
        return "no write took longer than the threshold".to_owned();
    }
    let places = [
        ("device", &["located_device_s", "located_tags_s"][..]),
        ("block layer", &["located_block_layer_s"]),
        ("above", &["located_above_s"]),
    ];
    let time = |keys: &[&str]| keys.iter().filter_map(|key| of(key)).sum::<f64>();
    let most = places.map(|(name, keys)| (name, time(keys)));
    let most = most.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    most.map(|(name, time)| format!("{name}: {:.0} % of it", 100.0 * time / located))
        .unwrap_or_default()
}

/// What is wrong with the requests limits only what tells the place of the stall.
fn carry_caveats(figure: &mut Figure, steps: &[Option<&Step>]) {
    let tells_place = figure.headline || figure.id.starts_with("located");
    for id in steps.iter().flatten().flat_map(|step| &step.caveats) {
        let Some(caveat) = Caveat::from_id(id) else { continue };
        if tells_place || !matches!(caveat, Caveat::RequestsUnseen | Caveat::RequestsLost) {
            figure.caveat(caveat);
        }
    }
}
