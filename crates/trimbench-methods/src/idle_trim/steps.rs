//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{Series, Step, StepTable as _, steps};

steps! {
    /// The drive is purged, and the span that was never written discarded.
    #[derive(Clone, Debug)]
    pub(super) struct IdlePurgeStep {
        /// bytes from the start of the device that the method discards
        set span_bytes: Bytes;
        /// absent where TRIM is the only purge: nothing then counts as never written
        part never_written: Option<TimedTrimStep> = "never_written_";
        /// GB discarded against time, in the span that was never written; some 200 points
        series trimmed_never_written: Option<Series> = "trimmed-never-written";
    }

    /// A repetition: a TRIM of the empty span, and the same of the full span.
    #[derive(Clone, Debug, Default)]
    pub struct IdleRoundStep {
        /// bytes from the start of the device that are filled and discarded
        set span_bytes: Bytes;
        /// bytes of the device; older records lack it
        set device_bytes: Option<Bytes>;
        /// bytes of each discard, at most
        set piece_bytes: Bytes;
        /// outstanding discards
        set queue_depth: u32;
        /// writing the span, with the flush
        measured fill_s: f64;
        /// the TRIM of the empty span
        part empty: TimedTrimStep = "empty_";
        /// the TRIM of the full span
        part full: TimedTrimStep = "full_";
        /// GB discarded against time, in the empty span; some 200 points
        series trimmed_empty: Option<Series> = "trimmed-empty";
        /// GB discarded against time, in the full span; some 200 points
        series trimmed_full: Option<Series> = "trimmed-full";
    }

    /// A timed TRIM of the span, in the state that its prefix names.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct TimedTrimStep {
        /// the timed TRIM of the span, first submission to last completion
        measured trim_s: f64 = "s";
        /// longest single discard of that TRIM
        measured command_s_max: f64;
        /// discards of that TRIM, as issued
        measured commands_issued: u64;
        /// discards of that TRIM, as counted by the device
        measured commands_completed: u64;
        /// bytes of that TRIM, as counted by the device
        measured bytes_completed: Bytes;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let Ok(round) = step.read::<IdleRoundStep>() else { return LiveFigures::default() };
    LiveFigures {
        throughput: None,
        latency: Some((round.full.command_s_max, "s")),
        headline: Some(("whole TRIM", round.full.trim_s, "s")),
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![("purge-by-MEANS", IdlePurgeStep::rows("")), ("one-go, chunks", IdleRoundStep::rows(""))]
}
