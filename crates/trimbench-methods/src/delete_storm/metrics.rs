//! The metrics of the method, each with the values of steps that it comes from.

use Direction::{Lower, Neither};
use trimbench_results::{Direction, Metric, Role};

use super::scene::StormPhase;
use super::steps::{StormLocatedStep, StormPhaseStep};

const STALLED: Metric = Metric::new("second-stall", "second round's writers stalled", "s", Lower)
    .headline()
    .of_role(Role::StallAfterDeletion);

/// A value of the step of a phase.
pub(super) type OfPhase = (StormPhase, fn(&StormPhaseStep) -> Option<f64>);

/// What is measured in one phase.
pub(super) fn single() -> [(Metric, OfPhase); 11] {
    use StormPhase::{Delete, Read, Rewrite, SecondWrite, Trim, Write};
    let time = |id, title| Metric::new(id, title, "s", Lower);
    [
        (STALLED, (SecondWrite, stall)),
        (time("second-stall-longest", "the longest of it"), (SecondWrite, longest_stall)),
        (time("write-time", "writing alone"), (Write, duration)),
        (time("rewrite-time", "reading and writing again"), (Rewrite, duration)),
        (time("read-time", "reading back"), (Read, duration)),
        (time("delete-time", "deleting"), (Delete, duration)),
        (time("trim-time", "from the deletion to the last discard"), (Trim, duration)),
        (time("second-write-time", "writing beside the discards"), (SecondWrite, duration)),
        (time("probe-alone", "slowest probe, writing alone"), (Write, probe)),
        (time("probe-trim", "slowest probe, discards alone"), (Trim, probe)),
        (time("probe-second", "slowest probe, second round"), (SecondWrite, probe)),
    ]
}

/// What is a ratio of two of these.
pub(super) fn ratios() -> [(Metric, OfPhase, OfPhase); 3] {
    use StormPhase::{SecondWrite, Trim, Write};
    let ratio = |id, title, direction| Metric::new(id, title, "", direction);
    [
        (
            ratio("trim-over-write", "discards, over writing alone", Lower),
            (Trim, duration),
            (Write, duration),
        ),
        (
            ratio("stall-over-trim", "second round's stall, over the discards alone", Lower),
            (SecondWrite, stall),
            (Trim, duration),
        ),
        (
            share("stalled-without-write", "while no drive completed a write"),
            (SecondWrite, |it| Some(it.stall?.stalled_without_write_s)),
            (SecondWrite, stall),
        ),
    ]
}

/// The time of stalls in a place.
type OfPlace = fn(&StormLocatedStep) -> f64;

/// What is a share of the stalls whose place is known.
pub(super) fn places() -> [(Metric, OfPlace); 4] {
    [
        (share("located-device", "in the device"), |it| it.located_device_s),
        (share("located-tags", "in the device, seen from above: no free tags"), |it| {
            it.located_tags_s
        }),
        (share("located-block-layer", "in the block layer"), |it| it.located_block_layer_s),
        (share("located-above", "above: nothing of it was sent"), |it| it.located_above_s),
    ]
}

/// All of them.
pub(super) fn metrics() -> Vec<Metric> {
    let single = single().map(|(metric, _)| metric);
    let ratios = ratios().map(|(metric, ..)| metric);
    let places = places().map(|(metric, _)| metric);
    single.into_iter().chain(ratios).chain(places).collect()
}

fn share(id: &'static str, what: &str) -> Metric {
    Metric::member(id, format!("of the stall, {what}"), "", Neither)
}

fn duration(of: &StormPhaseStep) -> Option<f64> {
    of.duration_s
}

fn probe(of: &StormPhaseStep) -> Option<f64> {
    of.meter.as_ref()?.probe_latency_s_max
}

fn stall(of: &StormPhaseStep) -> Option<f64> {
    Some(of.stall?.stall_s)
}

fn longest_stall(of: &StormPhaseStep) -> Option<f64> {
    Some(of.stall?.stall_s_longest)
}
