//! The foreground: reads at a rate, a serial probe, an fsync in each interval; and what of them is
//! recorded.

use std::cell::Cell;
use std::ops::Range;

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{
    Bytes, Errno, FileCommand, FileId, Instant, Nanos, Next, Payload, Ppm, Status, Stream, Workload,
};
use trimbench_results::{LatencyHistogram, Series};

use super::options::{Kernels, LOADED, LOG};
use super::steps::KernelsWindowStep;
use trimbench_engine::{
    FileArea, InOrder, OpenLoop, RandomAccess, Sample, SerialProbe, Several, UNIT,
};

/// Streams of a run, in the order of [`ForegroundLoad::streams`].
const PROBE: usize = 1;
const READS: usize = 2;
const FSYNCS: usize = 3;

/// The picture shows the longest read in each piece of this length.
const PIECE: Nanos = Nanos::from_millis(50);
/// A curve has at most so many points; neighbours are then taken together.
const POINTS: usize = 400;

/// The window of a system whose discards come late begins so long before the first of them: the
/// fsync that waits for them began before.
const LEAD: Nanos = Nanos::from_secs(1);

/// A script, and the foreground beside it.
#[derive(Debug)]
pub(super) struct ForegroundLoad {
    pub(super) script: InOrder<FileCommand>,
    probe: SerialProbe<FileArea>,
    reads: OpenLoop<FileArea>,
    fsyncs: SerialFsync,
}

impl ForegroundLoad {
    /// Begins at `begin`, and ends when no one asks it for more.
    pub(super) fn new(
        method: &Kernels,
        script: Vec<FileCommand>,
        begin: Instant,
        rng: &Rng,
    ) -> Self {
        let area = FileArea { file: LOADED, length: method.span };
        let access = |name| RandomAccess::new(area, method.access, Ppm::ONE, rng.split(name));
        let times = begin..Instant::NEVER;
        let (gap, arrivals) = (method.gap, method.arrivals);
        Self {
            script: InOrder::new(script, 1),
            probe: SerialProbe::new(access("probe"), method.probe_interval, times.clone()),
            reads: OpenLoop::new(access("reads"), arrivals, gap, times),
            fsyncs: SerialFsync::new(LOG, method.fsync_interval, begin),
        }
    }

    pub(super) fn streams(&mut self) -> Several<'_, FileCommand> {
        Several(vec![&mut self.script, &mut self.probe, &mut self.reads, &mut self.fsyncs])
    }
}

/// A file that grows by a block in each interval and is then made durable, as a log does it. Where
/// an fsync took longer than the interval, the next one starts on the grid again.
#[derive(Debug)]
pub(super) struct SerialFsync {
    file: FileId,
    interval: Nanos,
    due: Instant,
    state: FsyncState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FsyncState {
    Idle,
    Outstanding,
    /// It grew, and is to be made durable.
    Grown,
}

impl SerialFsync {
    pub(super) fn new(file: FileId, interval: Nanos, begin: Instant) -> Self {
        Self { file, interval, due: begin, state: FsyncState::Idle }
    }
}

impl Workload for SerialFsync {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> Next<FileCommand> {
        let file = self.file;
        let command = match self.state {
            FsyncState::Outstanding => return Next::Await,
            FsyncState::Idle if self.due > now => return Next::NotBefore(self.due),
            FsyncState::Idle => {
                let late = now - self.due;
                self.due += self.interval.times(late.0 / self.interval.0 + 1);
                let stream = Stream { piece: 4_096, buffered: false, payload: Payload::Random };
                FileCommand::Append { file, length: Bytes(UNIT), stream }
            }
            FsyncState::Grown => FileCommand::Fsync { file },
        };
        self.state = FsyncState::Outstanding;
        Next::Issue { intended: now, command }
    }

    fn completed(&mut self, command: &FileCommand, _: Instant) {
        self.state = match command {
            FileCommand::Fsync { .. } => FsyncState::Idle,
            _ => FsyncState::Grown,
        };
    }
}

/// What became of a foreground.
#[derive(Debug)]
pub(super) struct ForegroundTimes {
    begin: Instant,
    /// Reads that count only if the window holds their start: that, and their response time.
    reads: Vec<(Instant, Nanos)>,
    /// The same of fsyncs.
    fsyncs: Vec<(Instant, Nanos)>,
    /// What counts; it begins later where discards do.
    window: Range<Instant>,
    probes: ProbeTimes,
    /// Of the probes, those that took longer than any in the quiet before.
    late: ProbeTimes,
    /// The longest probe in the quiet before; `None` in the quiet itself.
    late_after: Option<Nanos>,
    /// The longest read that was meant to start in each piece of time.
    longest: Vec<Nanos>,
    failure: Option<(FileCommand, Errno)>,
}

/// Probes together.
#[derive(Clone, Copy, Debug, Default)]
struct ProbeTimes {
    sum: u128,
    count: u64,
    longest: Nanos,
}

impl ProbeTimes {
    fn add(&mut self, latency: Nanos) {
        self.sum += u128::from(latency.0);
        self.count += 1;
        self.longest = self.longest.max(latency);
    }
}

impl ForegroundTimes {
    /// From `begin` on, after a quiet time if there was one. Of reads and fsyncs those count that
    /// begin within `window`.
    pub(super) fn new(begin: Instant, window: Nanos, quiet: Option<&Self>) -> Self {
        Self {
            begin,
            reads: Vec::new(),
            fsyncs: Vec::new(),
            window: begin..begin + window,
            probes: ProbeTimes::default(),
            late: ProbeTimes::default(),
            late_after: quiet.map(|quiet| quiet.probes.longest),
            longest: Vec::new(),
            failure: None,
        }
    }

    /// The first discard was issued at this time: the window begins shortly before, as long as it
    /// was, but not before the script.
    pub(super) fn first_discard(&mut self, issued: Instant) {
        let length = self.window.end - self.window.start;
        let start = (self.begin + issued.since(self.begin).saturating_sub(LEAD)).max(self.begin);
        self.window = start..start + length;
        for times in [&mut self.reads, &mut self.fsyncs] {
            times.retain(|(begun, _)| *begun >= start);
        }
    }

    /// The end of what counts.
    pub(super) fn window_end(&self) -> Instant {
        self.window.end
    }

    /// Of these, what began within the window.
    fn counted(&self, times: &[(Instant, Nanos)]) -> impl Iterator<Item = Nanos> {
        times.iter().filter(|(begun, _)| self.window.contains(begun)).map(|(_, time)| *time)
    }

    /// Takes in a command that ended; one that failed ends the run.
    pub(super) fn note(&mut self, sample: &Sample<FileCommand>, stop: &Cell<bool>) {
        if let Status::Failed(errno) = sample.status {
            self.failure.get_or_insert((sample.command, errno));
            stop.set(true);
            return;
        }
        match (sample.stream, sample.command) {
            (PROBE, _) => {
                let latency = sample.latency();
                self.probes.add(latency);
                if self.late_after.is_some_and(|longest| latency > longest) {
                    self.late.add(latency);
                }
            }
            (READS, _) => {
                let response = sample.response_time();
                self.reads.push((sample.intended, response));
                let piece = index(sample.intended.since(self.begin).0 / PIECE.0);
                if self.longest.len() <= piece {
                    self.longest.resize(piece + 1, Nanos::ZERO);
                }
                self.longest[piece] = self.longest[piece].max(response);
            }
            (FSYNCS, FileCommand::Fsync { .. }) => {
                self.fsyncs.push((sample.issued, sample.latency()));
            }
            _ => {}
        }
    }

    /// The first command that failed.
    pub(super) fn failure(&self) -> Option<(FileCommand, Errno)> {
        self.failure
    }

    /// By how much the probes that were later than any in the `quiet` before exceeded its mean,
    /// together, in seconds. The length of a full stop; the noise of many probes is not in it.
    pub(super) fn stutter_since(&self, quiet: &Self) -> Option<f64> {
        let ProbeTimes { sum, count, .. } = quiet.probes;
        let mean = (count > 0).then(|| sum as f64 / count as f64)?;
        Some((self.late.sum as f64 - mean * self.late.count as f64) / 1e9)
    }

    /// The longest read of the window, in seconds.
    pub(super) fn longest_read(&self) -> Option<f64> {
        self.counted(&self.reads).max().map(Nanos::seconds)
    }

    /// The longest fsync of the window, in seconds.
    pub(super) fn longest_fsync(&self) -> Option<f64> {
        self.counted(&self.fsyncs).max().map(Nanos::seconds)
    }

    /// What counts, and the picture of all reads.
    pub(super) fn in_window(&self) -> KernelsWindowStep {
        let mut reads = LatencyHistogram::new();
        self.counted(&self.reads).for_each(|response| reads.record(response));
        let together = self.longest.len().div_ceil(POINTS).max(1);
        let chunks = self.longest.chunks(together);
        let longest = |chunk: &[Nanos]| chunk.iter().max().copied().filter(|it| *it > Nanos::ZERO);
        let y = chunks.map(|chunk| longest(chunk).map(|it| it.0 as f64 / 1e6)).collect::<Vec<_>>();
        let width = PIECE.seconds() * together as f64;
        // Where each piece ends, so that a logarithmic axis has a place for the first.
        let x = (1..=y.len()).map(|piece| piece as f64 * width).collect();
        KernelsWindowStep {
            read_response_s_max: self.longest_read(),
            fsync_s_max: self.longest_fsync(),
            read_response: reads,
            fsync_count: self.counted(&self.fsyncs).count() as u64,
            window_begin_s: (self.window.start - self.begin).seconds(),
            read_ms_max: Series::new("s", "ms", x, y),
        }
    }
}
