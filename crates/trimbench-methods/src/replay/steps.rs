//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{LatencyHistogram, Series, Step, StepTable as _, steps};

steps! {
    /// What the survey found in the trace.
    #[derive(Clone, Copy, Debug)]
    pub struct ReplaySurveyStep {
        /// its reads
        part read: ReplayKindStep = "read_";
        /// its writes
        part write: ReplayKindStep = "write_";
        /// its TRIMs
        part trim: ReplayKindStep = "trim_";
        /// its flushes
        part flush: ReplayKindStep = "flush_";
        /// share of the writes that begin where the write before ended
        measured sequential_share: f64;
        /// share of the device that is trimmed and not written again, at the end
        measured trimmed_share: f64;
        /// end of the last byte that is accessed
        measured span_bytes: Bytes;
        /// commands that end beyond the device
        measured beyond_count: u64;
        /// latest time of a command; in a trace with times
        measured duration_s: Option<f64>;
        /// commands that are earlier than one before them; in a trace with times
        measured backwards_count: Option<u64>;
    }

    /// Commands of one kind in the trace.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ReplayKindStep {
        /// commands of this kind in the trace
        measured count: u64;
        /// bytes of these commands
        measured bytes: Bytes;
    }

    /// A pass.
    #[derive(Clone, Debug, Default)]
    pub struct ReplayPassStep {
        /// commands outstanding, TRIMs not counted; as fast as possible
        set queue_depth: Option<u64>;
        /// factor by which the trace's times are stretched; at the trace's own times
        set time_scale: Option<f64>;
        /// the trace's TRIMs: 0 left out, 1 issued, 2 left out and others synthesised
        set trims: u64;
        /// commands that were due while too many were outstanding; at the trace's own times
        measured held_count: Option<u64>;
        /// what became of the trace
        part feed: ReplayFeedStep;
        /// what was measured
        part meter: ReplayMeterStep;
    }

    /// What a pass made of the trace.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ReplayFeedStep {
        /// commands whose place or length is not the trace's
        measured altered_count: u64;
        /// altered commands of which nothing is left
        measured dropped_count: u64;
        /// TRIMs of the trace that were left out
        measured stripped_trim_count: u64;
        /// reads of the trace that were left out
        measured stripped_read_count: u64;
        /// TRIMs that were issued as several commands
        measured split_trim_count: u64;
        /// TRIMs that are not the trace's
        measured synthesised_trim_count: u64;
    }

    /// What a pass came to.
    #[derive(Clone, Debug, Default)]
    pub struct ReplayMeterStep {
        /// from the beginning to the end of the last command
        measured elapsed_s: f64;
        /// writes that ended
        measured write_count: u64;
        /// bytes of these writes
        measured written_bytes: Bytes;
        /// reads that ended
        measured read_count: u64;
        /// flushes that ended
        measured flush_count: u64;
        /// TRIMs that ended, each part of a split one for itself
        measured discard_count: u64;
        /// bytes of these TRIMs
        measured discarded_bytes: Bytes;
        /// writes over the time from the beginning to the end of the last command that is no TRIM
        measured write_iops: Option<f64>;
        /// bytes of the writes over the same time
        measured throughput_mb_per_s: Option<f64>;
        /// mean time of a write from its issue to its end
        measured service_ms_mean: Option<f64>;
        /// longest time of a write from its issue to its end
        measured service_ms_max: f64;
        /// mean time of a write from when it was due to its end
        measured response_ms_mean: Option<f64>;
        /// longest time of a write from when it was due to its end
        measured response_ms_max: f64;
        /// service times of the writes
        histogram write_service: LatencyHistogram = "write-service";
        /// where there were TRIMs
        part discards: Option<ReplayDiscardStep>;
        /// at the trace's own times
        part lateness: Option<ReplayLatenessStep>;
        /// bytes programmed over bytes written, by the drive's counters
        measured write_amplification_ratio: Option<f64>;
        /// window by window
        part windows: ReplayWindowsStep;
    }

    /// How long TRIMs took.
    #[derive(Clone, Debug)]
    pub struct ReplayDiscardStep {
        /// longest time of a TRIM from its issue to its end
        measured discard_service_ms_max: f64;
        /// service times of the TRIMs
        histogram discard_service: LatencyHistogram = "discard-service";
    }

    /// How late commands were issued.
    #[derive(Clone, Debug)]
    pub struct ReplayLatenessStep {
        /// longest time of a command from when it was due to its issue
        measured lateness_ms_max: f64;
        /// from when each command was due to its issue
        histogram lateness: LatencyHistogram;
    }

    /// A pass, window by window of the trace.
    #[derive(Clone, Debug, Default)]
    pub struct ReplayWindowsStep {
        /// writes that ended in a window over the time since the window before ended
        series iops: Option<Series> = "iops-window";
        /// bytes of these writes over the same time
        series throughput: Option<Series> = "throughput-window";
        /// mean service time of these writes
        series service: Option<Series> = "service-window";
        /// mean response time of these writes; at the trace's own times
        series response: Option<Series> = "response-window";
        /// bytes programmed over bytes written, by the drive's counters; on emulated drives
        series write_amplification: Option<Series> = "write-amplification-window";
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let Ok(pass) = step.read::<ReplayPassStep>() else { return LiveFigures::default() };
    let wear = pass.meter.write_amplification_ratio.map(|ratio| ("write amplification", ratio, ""));
    LiveFigures {
        throughput: pass.meter.throughput_mb_per_s.map(|rate| (rate, "MB/s")),
        latency: Some((pass.meter.response_ms_max, "ms")),
        headline: wear.or(pass.meter.write_iops.map(|rate| ("writes", rate, "IOPS"))),
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![("survey", ReplaySurveyStep::rows("")), ("pass", ReplayPassStep::rows(""))]
}
