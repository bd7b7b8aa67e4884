//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{Series, Step, StepTable as _, steps};

steps! {
    /// A phase.
    #[derive(Clone, Debug, Default)]
    pub struct StormPhaseStep {
        /// how long the phase took; one that waits for discards ends with the last of them
        measured duration_s: Option<f64>;
        /// the intervals of the phase, if there is one
        part meter: Option<StormMeterStep>;
        /// what became of freed space, where the target counts it
        part discards: Option<StormDiscardsStep>;
        /// in `second-write`: how the writers stalled
        part stall: Option<StormStallStep>;
        /// in `second-write`: where stalled writes waited, where the requests are visible
        part located: Option<StormLocatedStep>;
    }

    /// Sums and curves over the intervals of a phase.
    #[derive(Clone, Debug, Default)]
    pub struct StormMeterStep {
        /// bytes that the writers read
        measured callers_read_bytes: Bytes;
        /// bytes that the writers wrote
        measured callers_written_bytes: Bytes;
        /// the slowest probe
        measured probe_latency_s_max: Option<f64>;
        /// what the writers read a second
        series callers_read_throughput: Option<Series> = "callers-read-throughput";
        /// what the writers wrote a second
        series callers_write_throughput: Option<Series> = "callers-write-throughput";
        /// the slowest probe of each interval
        series probe_max: Option<Series> = "probe-max";
        /// reads of the devices
        part read: StormClassStep = "read";
        /// writes of the devices
        part write: StormClassStep = "write";
        /// discards of the devices
        part discard: StormClassStep = "discard";
    }

    /// Operations of one class at the devices.
    #[derive(Clone, Debug, Default)]
    pub struct StormClassStep {
        /// bytes that the devices completed of this class
        measured bytes: Bytes = "_bytes";
        /// operations that they completed
        measured count: u64 = "_count";
        /// the operations' time together over their number
        measured service_time_s_mean: Option<f64> = "_service_time_s_mean";
        /// bytes a second
        series throughput: Option<Series> = "-throughput";
        /// time of the operations over their number, where any completed
        series service_time: Option<Series> = "-service-time";
        /// time of the operations over that of the interval: outstanding on average
        series queue: Option<Series> = "-queue";
    }

    /// By how much the counters of freed space rose in a phase, up to the end of the interval in
    /// which it ended.
    #[derive(Clone, Debug, Default)]
    pub struct StormDiscardsStep {
        /// came up for a discard
        part freed: StormCounterStep = "freed";
        /// discards issued
        part issued: StormCounterStep = "issued";
        /// discards that were not issued when their space was freed
        part deferred: StormCounterStep = "deferred";
        /// given up without a discard
        part skipped: StormCounterStep = "skipped";
        /// written again before their discard
        part invalidated: StormCounterStep = "invalidated";
        /// bytes that wait for a discard at the end
        measured waiting_bytes: Bytes;
        /// the same, drive by drive
        series waiting_bytes_by_drive: Option<Series> = "waiting-bytes-by-drive";
    }

    /// By how much a counter rose.
    #[derive(Clone, Debug, Default)]
    pub struct StormCounterStep {
        /// by how many extents or discards the counter rose
        measured count: u64 = "_count";
        /// by how many bytes it rose
        measured bytes: Bytes = "_bytes";
        /// extents or discards, drive by drive
        series count_by_drive: Option<Series> = "-count-by-drive";
        /// bytes, drive by drive
        series bytes_by_drive: Option<Series> = "-bytes-by-drive";
    }

    /// The intervals in which the writers got less than 5 % of their mean rate in `write-again`.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct StormStallStep {
        /// sum of the intervals in which the writers got less than 5 % of their rate alone
        measured stall_s: f64;
        /// the longest run of such intervals
        measured stall_s_longest: f64;
        /// writes that the devices completed in them
        measured stalled_write_count: u64;
        /// discards that the devices completed in them
        measured stalled_discard_count: u64;
        /// of `stall_s`, the intervals in which the devices completed no write
        measured stalled_without_write_s: f64;
    }

    /// Where stalled writes waited.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct StormLocatedStep {
        /// time in which a write was stalled, longer than `threshold`
        measured located_s: f64;
        /// of `located_s`, while a device held what the write waited for
        measured located_device_s: f64;
        /// of `located_s`, while what the write waited for had no tag
        measured located_tags_s: f64;
        /// of `located_s`, while the block layer kept what the write waited for
        measured located_block_layer_s: f64;
        /// of `located_s`, while nothing was sent that the write could wait for
        measured located_above_s: f64;
        /// of `located_above_s`, while a device held discards
        measured located_above_discarding_s: f64;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let meter = step.read::<StormPhaseStep>().ok().and_then(|it| it.meter);
    LiveFigures {
        latency: meter.and_then(|it| it.probe_latency_s_max).map(|longest| (longest, "s")),
        ..LiveFigures::default()
    }
}

/// What each kind of step holds.
pub(super) fn tables() -> StepKinds {
    vec![("phase", StormPhaseStep::rows(""))]
}
