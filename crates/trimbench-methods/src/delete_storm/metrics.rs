//! The metrics of the method, with the metrics of steps that they come from.

use Direction::{Lower, Neither};
use trimbench_results::{Direction, Metric, Role};

use super::scene::StormPhase;

/// Metrics of a step: how long it took; in the second round, how long the writers stalled in all,
/// and in one go; how long the stalls whose place is known.
pub(super) const DURATION: &str = "duration_s";
pub(super) const STALL: &str = "stall_s";
pub(super) const STALL_LONGEST: &str = "stall_s_longest";
pub(super) const LOCATED: &str = "located_s";
const PROBE: &str = "probe_latency_s_max";

const STALLED: Metric = Metric::new("second-stall", "second round's writers stalled", "s", Lower)
    .headline()
    .of_role(Role::StallAfterDeletion);

/// A metric of the step of a phase.
pub(super) type OfPhase = (StormPhase, &'static str);

/// What is measured in one phase.
pub(super) fn single() -> [(Metric, OfPhase); 11] {
    use StormPhase::{Delete, Read, Rewrite, SecondWrite, Trim, Write};
    let time = |id, title| Metric::new(id, title, "s", Lower);
    [
        (STALLED, (SecondWrite, STALL)),
        (time("second-stall-longest", "the longest of it"), (SecondWrite, STALL_LONGEST)),
        (time("write-time", "writing alone"), (Write, DURATION)),
        (time("rewrite-time", "reading and writing again"), (Rewrite, DURATION)),
        (time("read-time", "reading back"), (Read, DURATION)),
        (time("delete-time", "deleting"), (Delete, DURATION)),
        (time("trim-time", "from the deletion to the last discard"), (Trim, DURATION)),
        (time("second-write-time", "writing beside the discards"), (SecondWrite, DURATION)),
        (time("probe-alone", "slowest probe, writing alone"), (Write, PROBE)),
        (time("probe-trim", "slowest probe, discards alone"), (Trim, PROBE)),
        (time("probe-second", "slowest probe, second round"), (SecondWrite, PROBE)),
    ]
}

/// What is a ratio of two of these.
pub(super) fn ratios() -> [(Metric, OfPhase, OfPhase); 7] {
    use StormPhase::{SecondWrite, Trim, Write};
    let share = |id, what, key, of| {
        let title = format!("of the stall, {what}");
        (Metric::member(id, title, "", Neither), (SecondWrite, key), (SecondWrite, of))
    };
    [
        (
            Metric::new("trim-over-write", "discards, over writing alone", "", Lower),
            (Trim, DURATION),
            (Write, DURATION),
        ),
        (
            Metric::new(
                "stall-over-trim",
                "second round's stall, over the discards alone",
                "",
                Lower,
            ),
            (SecondWrite, STALL),
            (Trim, DURATION),
        ),
        share(
            "stalled-without-write",
            "while no drive completed a write",
            "stalled_without_write_s",
            STALL,
        ),
        share("located-device", "in the device", "located_device_s", LOCATED),
        share(
            "located-tags",
            "in the device, seen from above: no free tags",
            "located_tags_s",
            LOCATED,
        ),
        share("located-block-layer", "in the block layer", "located_block_layer_s", LOCATED),
        share("located-above", "above: nothing of it was sent", "located_above_s", LOCATED),
    ]
}

/// All of them.
pub(super) fn metrics() -> Vec<Metric> {
    let single = single().map(|(metric, _)| metric);
    single.into_iter().chain(ratios().map(|(metric, ..)| metric)).collect()
}
