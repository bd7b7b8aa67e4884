//! Tables of the method's steps.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds, TailStep};
use trimbench_results::{
    DeletionDiscardsStep, DeletionStep, LatencyHistogram, Series, Step, StepTable as _, steps,
};

steps! {
    /// A trial: a deletion, a placebo or a mock.
    #[derive(Clone, Debug, Default)]
    pub struct StallTrialStep {
        /// what reports draw
        part deletion: DeletionStep;
        /// size of the pair: bytes of the file that was written before, by a placebo too
        set label_bytes: Bytes;
        /// extents of that file, where the filesystem tells
        set extents: Option<u64>;
        /// idle time between the writing and the load
        set rest_s: f64;
        /// how much longer than `rest_s` the trial waited for a flat lead
        measured waited_s: f64;
        /// of the device's counters
        part discards: DeletionDiscardsStep;
        /// discards completed, from the lead to the end of the trial
        measured discard_commands: u64;
        /// load and probe
        part window: StallWindowStep;
        /// over time
        part curves: StallCurvesStep;
        /// against the placebos
        part found: Option<StallFoundStep>;
    }

    /// What load and probe came to from the deletion on.
    #[derive(Clone, Debug, Default)]
    pub struct StallWindowStep {
        /// from the deletion to the end of the window
        set window_s: f64;
        /// sum of the probe's latencies
        measured probe_latency_s_sum: f64;
        /// requests of the probe
        measured probe_count: u64;
        /// sum of the load's response times
        measured load_response_s_sum: f64;
        /// requests of the load
        measured load_count: u64;
        /// length of the union of the spans, from intended start to completion, of the load's
        /// requests that took longer than `overdue-after`
        measured overdue_s: f64;
        /// from the deletion to the end of the last overdue request; 0 if there was none
        measured drained_s: f64;
        /// longest time between completions of the load's reads, from the deletion on
        measured read_gap_s: f64;
        /// longest time between completions of the load's writes, from the deletion on
        measured write_gap_s: f64;
        /// from the deletion to the end of its last command (sync, flush, fstrim)
        measured deletion_s: f64;
        /// 99th percentile of (submission - intended start) of the load, without the time in which
        /// the kernel held a submission
        measured lateness_s_p99: f64;
        /// from the deletion on, how long the kernel held submissions, for 0.1 ms each or more;
        /// only where it did
        measured held_s: Option<f64>;
        /// longest response time of the load
        measured response_s_max: Option<f64>;
        /// latencies of the probe
        histogram probe_latency: LatencyHistogram = "probe-latency";
        /// response times of the load
        histogram response_time: LatencyHistogram = "response-time";
    }

    /// Curves from the start of the load to the end of the window.
    #[derive(Clone, Debug, Default)]
    pub struct StallCurvesStep {
        /// MiB discarded since the start of the load, against time
        series discarded: Option<Series> = "discarded-mib";
        /// reads of a closed loop that ended in each slice, a second
        series reads: Option<Series> = "reads-per-second";
    }

    /// What a trial came to against the placebos of its size.
    #[derive(Clone, Copy, Debug)]
    pub struct StallFoundStep {
        /// S: sum over the probe's requests of (latency - their mean beside placebos of this size)
        measured stutter_s: f64;
        /// A: sum over the open-loop load's requests of (response time - their mean beside placebos
        /// of this size), in request-seconds
        measured delay_request_s: Option<f64>;
        /// T_eq: sqrt(2 max(A, 0) / r), r the rate of the load
        measured equivalent_stop_s: Option<f64>;
        /// beside a closed loop
        part slow: Option<StallSlowStep>;
    }

    /// How slow a closed loop was after a deletion.
    #[derive(Clone, Copy, Debug)]
    pub struct StallSlowStep {
        /// only with `readers`: time in slices of the window with less than half of the reads at
        /// rest
        measured slow_s: f64;
        /// reads a second in `slow_s`
        measured slow_reads_per_s: Option<f64>;
    }

    /// The load of the search, alone or beside deletions.
    #[derive(Clone, Debug)]
    pub(super) struct RateTryStep {
        /// the load
        part tail: TailStep;
        /// absent of the load alone
        part deletion: Option<RateDeletionStep>;
    }

    /// What is deleted beside it.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct RateDeletionStep {
        /// bytes of a chunk
        set chunk_bytes: Bytes;
        /// the rate that is tried
        set deletion_bytes_per_s: u64;
        /// the share of the chunks whose deletion began in time
        measured issued_of_planned_ratio: f64;
        /// discarded bytes over deleted ones
        measured discarded_of_deleted_ratio: f64;
        /// the time of the deletions over that of their discards, at most 1
        measured deletion_over_discard_time_ratio: f64;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    LiveFigures {
        latency: step
            .read::<StallTrialStep>()
            .ok()
            .and_then(|it| it.window.response_s_max)
            .map(|it| (it, "s")),
        ..LiveFigures::default()
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![
        ("delete, placebo, mock", StallTrialStep::rows("")),
        ("rate, rate-load-alone, rate-confirmation", RateTryStep::rows("")),
    ]
}
