//! The metrics of the method.

use Direction::{Lower, Neither};
use trimbench_results::{Direction, Metric, Role};

pub(super) const NEIGHBOURS_LOST: Metric =
    blocks("neighbour-blocks-lost", "blocks beside TRIMs that lost their data")
        .headline()
        .of_role(Role::NeighboursLost);
pub(super) const PROMISE_BROKEN: Metric =
    blocks("promise-violations", "trimmed blocks that read against the promise")
        .of_role(Role::PromiseBroken);
pub(super) const REWRITTEN_LOST: Metric =
    blocks("rewritten-blocks-lost", "trimmed blocks that lost what was written later")
        .of_role(Role::RewrittenLost);
pub(super) const UNWRITTEN: Metric =
    blocks("unwritten-blocks", "blocks that lost what was written before any TRIM");
pub(super) const UNSTABLE: Metric =
    blocks("trimmed-unstable-blocks", "trimmed blocks that two reads found different");
pub(super) const FOREIGN: Metric =
    blocks("trimmed-foreign-blocks", "trimmed blocks that read as another block");
pub(super) const ZEROES: Metric = share("trimmed-zeroes-share", "trimmed: zeroes");
pub(super) const ONES: Metric = share("trimmed-ones-share", "trimmed: ones");
pub(super) const OLD: Metric =
    share("trimmed-old-data-share", "trimmed: old data").of_role(Role::OldDataRead);
pub(super) const OTHER: Metric = share("trimmed-other-share", "trimmed: anything else");
/// What a partly trimmed granule keeps is the drive's choice.
pub(super) const EDGE_OLD: Metric = Metric::new(
    "edge-old-data-blocks",
    "blocks in partly trimmed granules that keep their data",
    "blocks",
    Neither,
);

/// Those that must be 0: else TRIM, or the drive, does what it must not.
pub(super) const LIMITED: [Metric; 4] =
    [NEIGHBOURS_LOST, PROMISE_BROKEN, REWRITTEN_LOST, UNWRITTEN];

/// A number of blocks that should be 0.
const fn blocks(id: &'static str, title: &'static str) -> Metric {
    Metric::new(id, title, "blocks", Lower)
}

/// A share of the blocks in wholly trimmed granules.
const fn share(id: &'static str, title: &'static str) -> Metric {
    Metric::new(id, title, "%", Neither)
}

/// All of them, in the order of reports.
pub(super) fn metrics() -> Vec<Metric> {
    let others = [UNSTABLE, FOREIGN, ZEROES, ONES, OLD, OTHER, EDGE_OLD];
    LIMITED.into_iter().chain(others).collect()
}
