//! One running row: the discards, the load during them, and the results of both.

use trimbench_core::{
    BlockCommand, Bytes, Instant, LbaRange, Nanos, Next, Operation, OperationKind, Workload,
};
use trimbench_results::{LatencyHistogram, PercentilesStep, Quantile, statistics};

use super::options::TrimSweep;
use super::steps::{SweepLoadStep, TrimLatencyStep};
use trimbench_engine::{DeviceArea, InOrder, Observer, OpenLoop, Sample, Streams};

/// Bytes of an access of the load.
pub(super) const ACCESS: Bytes = Bytes(4_096);
/// What the limits of \[HLK\] ask for.
const P98_5: u32 = 985_000;
/// The streams of [`Side`].
const DISCARDS: usize = 0;
const LOAD: usize = 1;
/// The level of the interval of a median.
const LEVEL: f64 = 0.95;
/// Standard deviations that hold the middle 95 % of a normal distribution.
const MIDDLE: f64 = 1.959_964;

/// Discards, and accesses beside them for as long as the discards go on.
pub(super) struct Side {
    discards: InOrder<BlockCommand>,
    load: Option<OpenLoop<DeviceArea>>,
}

impl Side {
    /// The discards of a row that begins at `now`, and its load.
    ///
    /// Beside a load (with its accesses a second) the discards are spread over the row, so that
    /// there are accesses enough to speak of; a drive that is slower is given one after the other.
    pub(super) fn new(
        method: &TrimSweep,
        discards: Vec<LbaRange>,
        queue_depth: u32,
        load: Option<(OpenLoop<DeviceArea>, u64)>,
        now: Instant,
    ) -> Self {
        let count = discards.len() as u64;
        let commands = discards.into_iter().map(BlockCommand::Discard).collect();
        let discards = InOrder::new(commands, queue_depth);
        let discards = if let Some((_, rate)) = load {
            let pace = Nanos(method.loaded_length(rate).0 / count.max(1));
            discards.paced(now, pace).until(now + method.loaded_time_max(rate))
        } else {
            discards.until(now + method.row_time_max)
        };
        Self { discards, load: load.map(|(load, _)| load) }
    }
}

impl Streams for Side {
    type Command = BlockCommand;

    fn next(&mut self, now: Instant) -> (usize, Next<BlockCommand>) {
        let discards = match self.discards.next(now) {
            issue @ Next::Issue { .. } => return (DISCARDS, issue),
            other => other,
        };
        let Some(load) = &mut self.load else { return (DISCARDS, discards) };
        if self.discards.is_over(now) {
            return (LOAD, Next::Done);
        }
        match (discards, load.next(now)) {
            (Next::NotBefore(first), Next::NotBefore(second)) => {
                (LOAD, Next::NotBefore(first.min(second)))
            }
            (_, next) => (LOAD, next),
        }
    }

    fn completed(&mut self, stream: usize, command: &BlockCommand, at: Instant) {
        if stream == DISCARDS {
            self.discards.completed(command, at);
        }
    }
}

/// What was seen of a row.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Latencies of the discards.
    latencies: Vec<Nanos>,
    pub(super) histogram: LatencyHistogram,
    discarded: u64,
    first_issued: Option<Instant>,
    last_completed: Instant,
    pub(super) response: LatencyHistogram,
    response_max: Nanos,
    read_max: Nanos,
    write_max: Nanos,
    accesses: u64,
}

impl Observer<BlockCommand> for Seen {
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        if let BlockCommand::Discard(range) = sample.command {
            self.latencies.push(sample.latency());
            self.histogram.record(sample.latency());
            self.discarded += range.length().0;
            self.first_issued =
                Some(self.first_issued.map_or(sample.issued, |at| at.min(sample.issued)));
            self.last_completed = self.last_completed.max(sample.completed);
            return;
        }
        let response = sample.response_time();
        self.accesses += 1;
        self.response.record(response);
        self.response_max = self.response_max.max(response);
        let of_kind = match sample.command.kind() {
            OperationKind::Read => &mut self.read_max,
            _ => &mut self.write_max,
        };
        *of_kind = (*of_kind).max(response);
    }
}

impl Seen {
    /// Discards that ended.
    pub(super) fn commands(&self) -> u64 {
        self.latencies.len() as u64
    }

    pub(super) fn blocks(&self) -> u64 {
        self.discarded
    }

    /// Reads and writes of the load that ended.
    pub(super) const fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Bytes that the load read and wrote.
    pub(super) fn accessed(&self) -> Bytes {
        Bytes(self.accesses * ACCESS.0)
    }

    /// Mean number of discards outstanding from the first one's start to the last one's end.
    pub(super) fn outstanding(&self) -> f64 {
        let time: f64 = self.latencies.iter().map(|latency| latency.seconds()).sum();
        time / self.span().seconds()
    }

    /// From the first one's start to the last one's end.
    pub(super) fn span(&self) -> Nanos {
        self.first_issued.map_or(Nanos::ZERO, |first| self.last_completed.since(first))
    }

    /// What it says of how long the discards took.
    pub(super) fn latency(&mut self) -> TrimLatencyStep {
        self.latencies.sort_unstable();
        let seconds: Vec<f64> = self.latencies.iter().map(|latency| latency.seconds()).collect();
        let mut percentiles = PercentilesStep::of(&self.histogram);
        // The median to the nanosecond: a line through many sizes would show the histogram's steps.
        percentiles.p50 = percentiles.p50.and(statistics::median(&seconds));
        let ends = percentiles.p50.map(|_| median_interval(seconds.len()));
        TrimLatencyStep {
            min: seconds.first().copied(),
            mean: statistics::mean(&seconds),
            max: seconds.last().copied(),
            percentiles,
            p50_low: ends.map(|(low, _)| seconds[low]),
            p50_high: ends.map(|(_, high)| seconds[high]),
        }
    }

    /// What it says of the load.
    pub(super) fn load(&self) -> SweepLoadStep {
        let asked = Quantile::from_millionths(P98_5);
        let asked = asked.and_then(|quantile| self.response.percentile(quantile));
        SweepLoadStep {
            accesses: self.accesses,
            response_s_max: self.response_max.seconds(),
            read_response_s_max: self.read_max.seconds(),
            write_response_s_max: self.write_max.seconds(),
            response_s: PercentilesStep::of(&self.response),
            response_s_p98_5: asked.map(Nanos::seconds),
        }
    }
}

/// The positions, among `count` of at least 20 ascending values, of the ends of the 95 % interval
/// of their median: that of the sign test, by its normal approximation, rounded outwards.
pub(super) fn median_interval(count: usize) -> (usize, usize) {
    debug_assert!(count >= 20, "few values have no median here");
    let half = count as f64 / 2.0;
    let low = (half - MIDDLE * (count as f64).sqrt() / 2.0).floor().max(1.0);
    let low = trimbench_core::units::index(trimbench_core::units::rounded(low)) - 1;
    (low, count - 1 - low)
}

/// The level of [`median_interval`].
pub(super) const fn median_level() -> f64 {
    LEVEL
}
