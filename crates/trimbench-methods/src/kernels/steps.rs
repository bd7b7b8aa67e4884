//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{LatencyHistogram, Series, Step, StepTable as _, steps};

use super::session::{DELETION, SKIPPED, WEAR};

steps! {
    /// The deletions under one system.
    #[derive(Clone, Debug, Default)]
    pub(super) struct KernelsDeletionStep {
        /// space that files can take on the target's own filesystem
        set room_bytes: Bytes;
        /// longest read before the deletion, from its intended start
        measured read_response_s_max_before: Option<f64>;
        /// longest fsync before the deletion
        measured fsync_s_max_before: Option<f64>;
        /// the foreground beside the deletion
        part window: KernelsWindowStep;
        /// bytes of the removed files
        measured deleted_bytes: Bytes;
        /// time beyond the mean before the deletion, of probes that took longer than all before it
        measured stutter_s: Option<f64>;
        /// bytes that the drive discarded in `watched_s`
        measured discarded_bytes: Bytes;
        /// discards that it completed in `watched_s`
        measured discard_count: u64;
        /// their service times together
        measured discard_time_s: f64;
        /// from the start of the deletion to the end of the foreground
        measured watched_s: f64;
        /// from the start of the deletion to the end of the last discard; absent if some still wait
        measured all_discarded_s: Option<f64>;
        /// the deletion right before the unmount
        part unmount: KernelsUnmountStep;
    }

    /// The foreground in the window that counts.
    #[derive(Clone, Debug, Default)]
    pub(super) struct KernelsWindowStep {
        /// longest read that was meant to begin in the window, from its intended start
        measured read_response_s_max: Option<f64>;
        /// longest fsync that began in the window
        measured fsync_s_max: Option<f64>;
        /// reads that were meant to begin in the window, from their intended start
        histogram read_response: LatencyHistogram = "read-response";
        /// fsyncs that began in the window
        measured fsync_count: u64;
        /// when the window began, from the start of the deletion on
        measured window_begin_s: f64;
        /// longest read of each piece of time, against the end of the piece
        series read_ms_max: Option<Series> = "read-ms-max";
    }

    /// The second deletion, and the unmount that follows at once.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct KernelsUnmountStep {
        /// how long the unmount took
        measured unmount_s: f64;
        /// bytes of the files removed before it
        measured deleted_before_unmount_bytes: Bytes;
        /// bytes that the filesystem freed from this deletion on
        measured freed_before_unmount_bytes: Bytes;
        /// bytes that it gave up undiscarded
        measured given_up_bytes: Bytes;
        /// `given_up_bytes` over `freed_before_unmount_bytes`; absent if a program discards
        measured lost_at_unmount_share: Option<f64>;
    }

    /// The wear under one system.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct KernelsWearStep {
        /// space that files can take on the target's own filesystem
        set room_bytes: Bytes;
        /// drive writes under churn
        set drive_writes: u32;
        /// bytes sent to the drive in the last drive write
        measured host_written_bytes: Bytes;
        /// bytes that the drive programmed meanwhile
        measured media_written_bytes: Bytes;
        /// free space for which the drive still holds data, after the last drive write
        measured untrimmed_bytes: Bytes;
        /// `media_written_bytes` over `host_written_bytes`
        measured write_amplification: Option<f64>;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let Ok(wear) = step.read::<KernelsWearStep>() else { return LiveFigures::default() };
    let ratio = wear.write_amplification;
    LiveFigures {
        headline: ratio.map(|ratio| ("write amplification", ratio, "")),
        ..LiveFigures::default()
    }
}

/// What each kind of step holds.
pub(super) fn tables() -> StepKinds {
    vec![
        (DELETION, KernelsDeletionStep::rows("")),
        (WEAR, KernelsWearStep::rows("")),
        (SKIPPED, Vec::new()),
    ]
}
