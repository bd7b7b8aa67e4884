//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{LatencyHistogram, PercentilesStep, Step, StepTable as _, steps};

steps! {
    /// How the drive was purged, which its kind says.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct SweepPurgeStep {
        /// rows that were planned
        set rows: u64;
        /// 0 if the drive could be purged by TRIM only, which leaves these rows out
        set never_written_rows: Option<u64>;
    }

    /// The load without discards.
    #[derive(Clone, Debug)]
    pub struct LoadAloneStep {
        /// accesses a second of the first rate that was tried
        set asked_per_s: u64;
        /// accesses a second of the last one
        set load_per_s: u64;
        /// of the first rate: accesses over the time until the last one ended
        measured asked_served_per_s: Option<f64>;
        /// of the last rate: accesses over `duration_s`
        measured served_per_s: Option<f64>;
        /// the longer median wait of the reads and the writes that arrived in the last fifth
        measured late_response_s_p50: f64;
        /// 1 if the drive serves the load
        measured is_served: bool;
        /// from the beginning until the last access ended
        measured duration_s: f64;
        /// its accesses
        part load: SweepLoadStep;
        /// their response times
        histogram response_time: LatencyHistogram = "response-time";
    }

    /// A row, without its histograms: there are many rows, and each histogram takes memory.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct TrimRowStep {
        /// bytes of a discard
        set size_bytes: Bytes;
        /// discards outstanding
        set queue_depth: u32;
        /// discards, if time suffices
        set commands_planned: u64;
        /// all discards begin and end at multiples of it
        set alignment_bytes: Bytes;
        /// accesses a second beside the discards
        set load_per_s: Option<u64>;
        /// discards that the method issued
        measured commands_issued: u64;
        /// discards that the device counted
        measured commands_completed: u64;
        /// bytes of the discards that the method issued
        measured discarded_bytes_issued: Bytes;
        /// bytes of the discards that the device counted
        measured discarded_bytes_completed: Bytes;
        /// first submission of a discard to last completion
        measured duration_s: f64;
        /// sum of the latencies of the discards over `duration_s`
        measured outstanding_mean: Option<f64>;
        /// discards over `duration_s`; not under load, where they are paced
        measured commands_per_s: Option<f64>;
        /// bytes discarded over `duration_s`; not under load, where they are paced
        measured discarded_bytes_per_s: Option<f64>;
        /// of the discards
        part latency_s: TrimLatencyStep = "latency_s_";
        /// accesses beside them
        part load: Option<SweepLoadStep>;
    }

    /// The histograms of a row.
    #[derive(Clone, Debug)]
    pub struct TrimRowTimesStep {
        /// latencies of the discards
        histogram latency: LatencyHistogram;
        /// response times of the accesses beside them
        histogram response_time: Option<LatencyHistogram> = "response-time";
    }

    /// How long discards took.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct TrimLatencyStep {
        /// the shortest latency of a discard, exact
        measured min: Option<f64>;
        /// mean latency of the discards, exact
        measured mean: Option<f64>;
        /// the longest latency of a discard, exact
        measured max: Option<f64>;
        /// from the histogram, but the exact median
        part percentiles: PercentilesStep;
        /// lower end of the 95 % interval of the median
        measured p50_low: Option<f64>;
        /// upper end of the 95 % interval of the median
        measured p50_high: Option<f64>;
    }

    /// The reads and writes of a load.
    #[derive(Clone, Copy, Debug)]
    pub struct SweepLoadStep {
        /// reads and writes that ended
        measured accesses: u64;
        /// the longest response time, from the intended start
        measured response_s_max: f64;
        /// the longest response time of a read
        measured read_response_s_max: f64;
        /// the longest response time of a write
        measured write_response_s_max: f64;
        /// of the response times
        part response_s: PercentilesStep = "response_s_";
        /// 98.5th percentile, with at least 667 samples
        measured response_s_p98_5: Option<f64>;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let Ok(row) = step.read::<TrimRowStep>() else { return LiveFigures::default() };
    let longest = row.load.map(|load| load.response_s_max).or(row.latency_s.max);
    LiveFigures {
        throughput: row.discarded_bytes_per_s.map(|rate| (rate, "B/s")),
        latency: longest.map(|longest| (longest, "s")),
        headline: row.latency_s.percentiles.p50.map(|median| ("median", median, "s")),
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    let rows = "never-written, mapped, mapped-unaligned, mapped-loaded, trimmed, \
        trimmed-unaligned, mapped-whole, trimmed-whole";
    vec![
        ("purge-by-MEANS", SweepPurgeStep::rows("")),
        ("load-alone", LoadAloneStep::rows("")),
        (rows, [TrimRowStep::rows(""), TrimRowTimesStep::rows("")].concat()),
    ]
}
