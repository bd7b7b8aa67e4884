//! Measurements of a pass: totals, and the same for each window of the trace.
//!
//! A window ends when the last of its commands other than TRIMs has completed; the duration of a
//! TRIM shows in those. Service time counts from the issue of a command, response time from when it
//! was due. Units: time in `Nanos` on the target's clock.

use trimbench_core::{BlockCommand, BlockSize, Bytes, Instant, Nanos, Wear};
use trimbench_results::{LatencyHistogram, Series};

use super::feed::Boundaries;
use super::steps::{ReplayDiscardStep, ReplayLatenessStep, ReplayMeterStep, ReplayWindowsStep};
use trimbench_engine::{Observer, Sample};

/// Writes of a window, or of the whole pass.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    count: u64,
    bytes: Bytes,
    /// Sums, and the longest.
    service: u128,
    response: u128,
    service_max: Nanos,
    response_max: Nanos,
}

impl Writes {
    #[inline]
    fn add(&mut self, bytes: Bytes, service: Nanos, response: Nanos) {
        self.count += 1;
        self.bytes += bytes;
        self.service += u128::from(service.0);
        self.response += u128::from(response.0);
        self.service_max = self.service_max.max(service);
        self.response_max = self.response_max.max(response);
    }

    fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.service += other.service;
        self.response += other.response;
        self.service_max = self.service_max.max(other.service_max);
        self.response_max = self.response_max.max(other.response_max);
    }
}

/// A window that has ended.
#[derive(Clone, Copy, Debug)]
struct Window {
    writes: Writes,
    ended: Instant,
    /// The drive's counters at its end; `None` where they are not read.
    wear: Option<Wear>,
}

/// Observes a pass.
pub(super) struct Meter<'a> {
    boundaries: &'a Boundaries,
    logical_block: BlockSize,
    begun: Instant,
    /// When the last command other than a TRIM ended, and how many have.
    last: Instant,
    others: u64,
    /// When the last TRIM ended.
    last_discard: Instant,
    /// Of the window that has not ended.
    current: Writes,
    windows: Vec<Window>,
    /// The wear at the beginning.
    wear: Option<Wear>,
    /// A window has ended, and the wear is not read yet.
    unread: bool,
    reads: u64,
    flushes: u64,
    discards: u64,
    discarded: Bytes,
    service: LatencyHistogram,
    discard_service: LatencyHistogram,
    discard_service_max: Nanos,
    /// How late commands were issued; `None` where they are never late.
    lateness: Option<LatencyHistogram>,
    lateness_max: Nanos,
}

impl<'a> Meter<'a> {
    /// Of a pass that begins now; `paced` if commands have times of their own.
    pub(super) fn new(
        boundaries: &'a Boundaries,
        begun: Instant,
        wear: Option<Wear>,
        logical_block: BlockSize,
        paced: bool,
    ) -> Self {
        Self {
            boundaries,
            logical_block,
            begun,
            last: begun,
            others: 0,
            last_discard: begun,
            current: Writes::default(),
            windows: Vec::new(),
            wear,
            unread: false,
            reads: 0,
            flushes: 0,
            discards: 0,
            discarded: Bytes(0),
            service: LatencyHistogram::new(),
            discard_service: LatencyHistogram::new(),
            discard_service_max: Nanos::ZERO,
            lateness: paced.then(LatencyHistogram::new),
            lateness_max: Nanos::ZERO,
        }
    }

    pub(super) fn written(&self) -> Bytes {
        let ended = self.windows.iter().fold(Bytes(0), |sum, window| sum + window.writes.bytes);
        ended + self.current.bytes
    }

    /// The wear now, if a window has just ended.
    pub(super) fn read_wear(&mut self, wear: impl FnOnce() -> Option<Wear>) {
        if self.unread {
            self.unread = false;
            if let (Some(window), Some(_)) = (self.windows.last_mut(), self.wear) {
                window.wear = wear();
            }
        }
    }

    /// How late one command in a hundred was issued; `None` where they have no times of their own.
    pub(super) fn lateness(&self) -> Option<Nanos> {
        self.lateness.as_ref()?.percentile("p99".parse().expect("a percentile"))
    }

    /// All of it. `wear` is the drive's at the end.
    pub(super) fn step(&self, wear: Option<Wear>) -> ReplayMeterStep {
        let mut total = self.current;
        self.windows.iter().for_each(|window| total.join(&window.writes));
        let written_in = self.last.since(self.begun).seconds();
        let count = total.count as f64;
        let per_second = |amount: f64| (written_in > 0.0).then(|| amount / written_in);
        let mean = |sum: u128| (total.count > 0).then(|| sum as f64 / 1e6 / count);
        let ms = |span: Nanos| span.seconds() * 1e3;
        ReplayMeterStep {
            elapsed_s: self.last.max(self.last_discard).since(self.begun).seconds(),
            write_count: total.count,
            written_bytes: total.bytes,
            read_count: self.reads,
            flush_count: self.flushes,
            discard_count: self.discards,
            discarded_bytes: self.discarded,
            write_iops: per_second(count),
            throughput_mb_per_s: per_second(total.bytes.0 as f64 / 1e6),
            service_ms_mean: mean(total.service),
            service_ms_max: ms(total.service_max),
            response_ms_mean: mean(total.response),
            response_ms_max: ms(total.response_max),
            write_service: self.service.clone(),
            discards: (self.discards > 0).then(|| ReplayDiscardStep {
                discard_service_ms_max: ms(self.discard_service_max),
                discard_service: self.discard_service.clone(),
            }),
            lateness: self.lateness.clone().map(|lateness| ReplayLatenessStep {
                lateness_ms_max: ms(self.lateness_max),
                lateness,
            }),
            write_amplification_ratio: amplification(self.wear, wear),
            windows: self.curves(),
        }
    }

    /// The curves over the windows, of which the trace's rest is none.
    fn curves(&self) -> ReplayWindowsStep {
        let (mut before, mut wear) = (self.begun, self.wear);
        let mut curves: [Vec<Option<f64>>; 5] = Default::default();
        for window in &self.windows {
            let Window { writes, ended, wear: after } = window;
            let seconds = ended.since(before).seconds();
            let count = writes.count as f64;
            let per_second = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
            let mean = |sum: u128| (writes.count > 0).then(|| sum as f64 / 1e6 / count);
            curves[0].push(per_second(count));
            curves[1].push(per_second(writes.bytes.0 as f64 / 1e6));
            curves[2].push(mean(writes.service));
            curves[3].push(mean(writes.response));
            curves[4].push(amplification(wear, *after));
            (before, wear) = (*ended, *after);
        }
        let curve = |unit: &str, y: Vec<Option<f64>>| {
            let x = (1..=y.len()).map(|number| number as f64).collect();
            Series::new("window", unit, x, y)
        };
        let [iops, throughput, service, response, amplification] = curves;
        ReplayWindowsStep {
            iops: curve("IOPS", iops),
            throughput: curve("MB/s", throughput),
            service: curve("ms", service),
            response: curve("ms", response).filter(|_| self.lateness.is_some()),
            write_amplification: curve("", amplification).filter(|_| self.wear.is_some()),
        }
    }
}

/// Write amplification between two readings.
fn amplification(before: Option<Wear>, after: Option<Wear>) -> Option<f64> {
    after?.amplification_since(before?)
}

impl Observer<BlockCommand> for Meter<'_> {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        let service = sample.latency();
        if let Some(lateness) = &mut self.lateness {
            let late = sample.issued.since(sample.intended);
            lateness.record(late);
            self.lateness_max = self.lateness_max.max(late);
        }
        match sample.command {
            BlockCommand::Write { range, .. } => {
                let bytes = range.length().bytes(self.logical_block);
                self.current.add(bytes, service, sample.response_time());
                self.service.record(service);
            }
            BlockCommand::Discard(range) => {
                self.discards += 1;
                self.discarded += range.length().bytes(self.logical_block);
                self.discard_service.record(service);
                self.discard_service_max = self.discard_service_max.max(service);
                self.last_discard = sample.completed;
                return;
            }
            BlockCommand::Read(_) => self.reads += 1,
            BlockCommand::Flush => self.flushes += 1,
        }
        self.last = sample.completed;
        self.others += 1;
        if self.boundaries.pass(self.others) {
            let writes = std::mem::take(&mut self.current);
            self.windows.push(Window { writes, ended: self.last, wear: None });
            self.unread = true;
        }
    }

    #[inline]
    fn pauses(&self) -> bool {
        self.unread
    }
}
