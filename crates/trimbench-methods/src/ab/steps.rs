//! Tables of the method's steps.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{DeletionDiscardsStep, LatencyHistogram, Step, StepTable as _, steps};

steps! {
    /// A visit of an arm.
    #[derive(Clone, Debug, Default)]
    pub struct AbVisitStep {
        /// the block, from 1 on
        set block: u64;
        /// the place of the visit among all, from 1 on
        set place: u64;
        /// bytes that are deleted; 0 with a command of the user's, of which that is not known
        set deleted_bytes: Bytes;
        /// of the device's counters
        part discards: DeletionDiscardsStep;
        /// discards completed, from the start of the load to the end of the visit
        measured discard_commands: u64;
        /// the load that is built in, or a trace
        part load: Option<AbLoadStep>;
        /// a command of the user's
        part program: Option<AbProgramStep>;
    }

    /// What the load that is built in waited for.
    #[derive(Clone, Debug, Default)]
    pub struct AbLoadStep {
        /// from the deletion to the end of the window
        set window_s: f64;
        /// reads and writes that were to start in the window
        measured load_count: u64;
        /// reads and writes that ended in the window, a second
        measured served_per_s: f64;
        /// longest response time of a read or write
        measured response_s_max: f64;
        /// from the deletion to the end of its last unlink
        measured deletion_s: f64;
        /// longest write with its fsync
        measured fsync_s_max: Option<f64>;
        /// longest start of a program
        measured start_s_max: Option<f64>;
        /// response times of reads and writes
        histogram response_time: LatencyHistogram = "response-time";
        /// times of small writes with their fsync
        histogram fsync_time: Option<LatencyHistogram> = "fsync-time";
        /// times of starts of a program
        histogram start_time: Option<LatencyHistogram> = "start-time";
    }

    /// What a command of the user's came to.
    #[derive(Clone, Debug, Default)]
    pub struct AbProgramStep {
        /// from its start to its end
        measured program_s: f64;
        /// bytes that the device read meanwhile
        measured program_read_bytes: Bytes;
        /// bytes that the device wrote meanwhile
        measured program_written_bytes: Bytes;
        /// longest read, write or flush of the devices below, whoever sent it
        measured request_s_max: Option<f64>;
        /// reads, writes and flushes of the devices below
        histogram request_time: Option<LatencyHistogram> = "request-time";
        /// what the command says of itself
        part reported: Option<AbReportedStep>;
    }

    /// Latencies that the command reports: of the worst of its jobs, in fio's JSON.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AbReportedStep {
        /// median
        measured reported_s_p50: f64;
        /// 99th percentile
        measured reported_s_p99: f64;
        /// 99.9th percentile
        measured reported_s_p999: f64;
        /// longest
        measured reported_s_max: f64;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let longest = step.read::<AbVisitStep>().ok().and_then(|visit| match visit {
        AbVisitStep { load: Some(load), .. } => Some(load.response_s_max),
        AbVisitStep { program, .. } => program?.request_s_max,
    });
    LiveFigures { latency: longest.map(|it| (it, "s")), ..LiveFigures::default() }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![("nodiscard, discard, discard-async, fstrim, trimpace", AbVisitStep::rows(""))]
}
