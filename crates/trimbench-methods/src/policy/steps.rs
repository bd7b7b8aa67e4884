//! What the steps of the method hold.

use trimbench_core::{Account, Bytes, DiscardAccount, DiscardCounts};
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{LatencyHistogram, Step, StepTable as _, steps};

steps! {
    /// A cycle under a policy.
    #[derive(Clone, Debug)]
    pub(super) struct PolicyCycleStep {
        /// its number, from 1 on
        set cycle: u32;
        /// what the files and the foreground did
        part load: PolicyLoadStep;
        /// what the drive and the policy counted
        part counted: PolicyCountedStep;
    }

    /// The load of a cycle.
    #[derive(Clone, Debug)]
    pub(super) struct PolicyLoadStep {
        /// from the beginning of the cycle to its end
        measured cycle_s: f64;
        /// bytes written to the files that come and go
        measured files_made_bytes: Bytes;
        /// response times of the foreground's reads and writes
        histogram response_time: LatencyHistogram = "response-time";
    }

    /// What was counted below the filesystem by the end of a cycle.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct PolicyCountedStep {
        /// bytes that the drive took from the filesystem in the cycle
        measured host_written_bytes: Bytes;
        /// bytes that it wrote to its flash in the cycle
        measured media_written_bytes: Bytes;
        /// `media_written_bytes` over `host_written_bytes`
        measured write_amplification: Option<f64>;
        /// free space for which the drive still holds data, at the end of the cycle
        measured untrimmed_bytes: Bytes;
        /// extents freed since mkfs
        part freed: PolicyTallyStep = "freed_";
        /// discards issued since mkfs
        part issued: PolicyTallyStep = "issued_";
        /// of these, the ones that did not go at the instant of their freeing
        part deferred: PolicyTallyStep = "deferred_";
        /// given up without a discard since mkfs
        part skipped: PolicyTallyStep = "skipped_";
        /// written again before their discard since mkfs
        part invalidated: PolicyTallyStep = "invalidated_";
        /// freed space that waits for a discard at the end of the cycle
        measured waiting_bytes: Bytes;
        /// the most space that was freed and waited for a discard in the cycle
        measured waiting_bytes_max: Bytes;
        /// the most space that discards in flight kept from being allocated in the cycle
        measured withheld_bytes_max: Bytes;
        /// the longest discard of the cycle, from issue to completion
        measured discard_s_max: f64;
    }

    /// What a policy did to extents since mkfs, in the way that the prefix names.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct PolicyTallyStep {
        /// extents or discards since mkfs
        measured count: u64;
        /// their bytes
        measured bytes: Bytes;
    }
}

impl PolicyCountedStep {
    /// What was counted from one account to the next.
    pub(super) fn between(before: &Account, after: &Account) -> Self {
        let (earlier, later) = (before.wear, after.wear);
        let DiscardAccount { totals, waiting_max, withheld_max, longest } =
            after.discards.unwrap_or_default();
        Self {
            host_written_bytes: later.host_written - earlier.host_written,
            media_written_bytes: later.media_written - earlier.media_written,
            write_amplification: later.amplification_since(earlier),
            untrimmed_bytes: after.untrimmed,
            freed: totals.freed.into(),
            issued: totals.issued.into(),
            deferred: totals.deferred.into(),
            skipped: totals.skipped.into(),
            invalidated: totals.invalidated.into(),
            waiting_bytes: totals.waiting,
            waiting_bytes_max: waiting_max,
            withheld_bytes_max: withheld_max,
            discard_s_max: longest.seconds(),
        }
    }
}

impl From<DiscardCounts> for PolicyTallyStep {
    fn from(DiscardCounts { count, bytes }: DiscardCounts) -> Self {
        Self { count, bytes }
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let Ok(cycle) = step.read::<PolicyCycleStep>() else { return LiveFigures::default() };
    let wear = cycle.counted.write_amplification;
    LiveFigures {
        throughput: None,
        latency: Some((cycle.counted.discard_s_max, "s")),
        headline: wear.map(|ratio| ("write amplification", ratio, "")),
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![("POLICY", PolicyCycleStep::rows(""))]
}
