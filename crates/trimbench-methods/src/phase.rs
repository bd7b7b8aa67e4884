//! Phases of a procedure on a whole device, one after the other: purge, write, trim, rest.
//!
//! A phase begins and ends with nothing outstanding, so that the drive's wear counters can be read
//! on both sides of it. It ends at its last completion. What one phase leaves behind in the drive
//! is the next one's state: such a procedure cannot be taken up in the middle.
//!
//! Units: time in `Nanos` on the target's clock, rates in MB (10^6 bytes) a second.

use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Capabilities, Caveat, Data, Drive, Errno, Instant, LbaRange,
    Medium, Nanos, Next, PurgeMeans, Rejected, Status, Support, Target, Wear,
};
use trimbench_results::{LatencyHistogram, Step};

use crate::area::{Area, DeviceArea};
use crate::method::{Context, MethodError, Monitor, Stage, is_virtual};
use crate::runner::{Observer, RunError, Runner, Sample, Single, Streams};
use crate::workload::{Script, SequentialWrite};

#[cfg(test)]
pub(crate) mod tests;

/// How often a running phase looks at failures and at the time.
const SLICE: Nanos = Nanos::from_millis(50);
/// How often progress is shown, on the target's clock.
const SHOW_EVERY: Nanos = Nanos::from_secs(1);
/// How long a command may take before the device counts as hung.
const HUNG_AFTER: Nanos = Nanos::from_secs(1_800);
/// How long commands that are outstanding when one fails are waited for.
const DRAIN_FAILED: Nanos = Nanos::from_secs(5);
/// The largest discard of a TRIM, where the device takes as much.
const TRIM_PIECE_MAX: Bytes = Bytes::gib(1);
/// Bytes of others on a real device, over ours, that count as other load.
const FOREIGN_SHARE: u64 = 10;
/// What devices are assumed to write in estimates, bytes a second.
pub(crate) const ASSUMED_RATE: u64 = 500_000_000;

/// What all phases to come will take, for the estimate of what is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    /// Steps, at the most.
    pub(crate) steps: usize,
    /// Bytes that are read or written, at the most.
    pub(crate) bytes: u64,
}

/// A device under a sequence of phases.
pub(crate) struct Bench<'a, D> {
    device: &'a mut D,
    runner: Runner<BlockCommand>,
    monitor: &'a mut dyn Monitor,
    rng: &'a Rng,
    /// Steps kept so far.
    pub(crate) steps: Vec<Step>,
    planned: Planned,
    begun: Instant,
    accessed: u64,
    shown: Instant,
}

/// What a phase measured.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// When it began.
    pub(crate) begun: Instant,
    /// When its last command ended.
    pub(crate) ended: Instant,
    /// Commands that ended.
    pub(crate) commands: u64,
    /// Bytes read and written.
    pub(crate) read: Bytes,
    pub(crate) written: Bytes,
    /// Bytes discarded.
    discarded: Bytes,
    latencies: LatencyHistogram,
    longest: Nanos,
    /// Of the drive's counters before and after.
    wear: Option<(Wear, Wear)>,
    foreign: bool,
}

impl Phase {
    /// Commands a second; `None` if no time passed.
    pub(crate) fn rate(&self) -> Option<f64> {
        let seconds = self.ended.since(self.begun).seconds();
        (seconds > 0.0).then(|| self.commands as f64 / seconds)
    }

    /// Notes everything in a step.
    pub(crate) fn store(&self, step: &mut Step) {
        let seconds = self.ended.since(self.begun).seconds();
        step.measure("elapsed_s", seconds);
        step.measure("command_count", self.commands as f64);
        for (key, bytes) in [
            ("read_bytes", self.read),
            ("written_bytes", self.written),
            ("discarded_bytes", self.discarded),
        ] {
            if bytes.0 > 0 {
                step.measure(key, bytes.0 as f64);
            }
        }
        let accessed = (self.read + self.written).0;
        if accessed > 0 {
            step.measure("throughput_mb_per_s", accessed as f64 / 1e6 / seconds);
        }
        step.measure("latency_ns_max", self.longest.0 as f64);
        step.histograms.insert("latency".to_owned(), self.latencies.to_text());
        if let Some((before, after)) = self.wear
            && let Some(ratio) = after.amplification_since(before)
        {
            let host = after.host_written.saturating_sub(before.host_written);
            let media = after.media_written.saturating_sub(before.media_written);
            step.measure("host_written_bytes", host.0 as f64);
            step.measure("media_written_bytes", media.0 as f64);
            step.measure("write_amplification_ratio", ratio);
        }
        if self.foreign {
            step.caveat(Caveat::OtherLoad);
        }
    }
}

/// Counts what a phase does and passes it on.
struct Meter<'a, O> {
    inner: &'a mut O,
    logical_block: BlockSize,
    phase: Phase,
    failures: Option<(u64, Errno)>,
}

impl<O: Observer<BlockCommand>> Observer<BlockCommand> for Meter<'_, O> {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        self.phase.ended = self.phase.ended.max(sample.completed);
        if let Status::Failed(errno) = sample.status {
            let count = self.failures.map_or(0, |(count, _)| count);
            self.failures = Some((count + 1, errno));
            return;
        }
        self.phase.commands += 1;
        let latency = sample.latency();
        self.phase.latencies.record(latency);
        self.phase.longest = self.phase.longest.max(latency);
        match sample.command {
            BlockCommand::Read(range) => self.phase.read += self.bytes(range),
            BlockCommand::Write { range, .. } => self.phase.written += self.bytes(range),
            BlockCommand::Discard(range) => self.phase.discarded += self.bytes(range),
            BlockCommand::Flush => {}
        }
        self.inner.observe(sample);
    }
}

impl<O> Meter<'_, O> {
    fn bytes(&self, range: LbaRange) -> Bytes {
        range.length().bytes(self.logical_block)
    }
}

/// Issues nothing: what is outstanding runs to its end.
struct Nothing;

impl Streams for Nothing {
    type Command = BlockCommand;

    fn next(&mut self, _: Instant) -> (usize, Next<BlockCommand>) {
        (0, Next::Done)
    }

    fn completed(&mut self, _: usize, _: &BlockCommand, _: Instant) {}
}

/// The capacity and the logical block of a device.
pub(crate) fn medium(capabilities: &Capabilities) -> (Bytes, BlockSize) {
    match capabilities.medium {
        Medium::Device { capacity, logical_block } => (capacity, logical_block),
        Medium::Directory { .. } => unreachable!("what takes block commands is a device"),
    }
}

impl<'a, D> Bench<'a, D>
where
    D: Target<Command = BlockCommand> + Drive,
{
    /// Steps of an earlier run are left out: the drive is no longer in the state that they left.
    pub(crate) fn new<'c: 'a>(device: &'a mut D, context: Context<'c>, planned: Planned) -> Self {
        let Context { rng, interrupt, monitor, done: _ } = context;
        let begun = device.now();
        Self {
            device,
            runner: Runner::new(interrupt.clone()),
            monitor,
            rng,
            steps: Vec::new(),
            planned,
            begun,
            accessed: 0,
            shown: begun,
        }
    }

    /// The device.
    pub(crate) fn device(&self) -> &D {
        self.device
    }

    /// A generator for the component `label`.
    pub(crate) fn rng(&self, label: &str) -> Rng {
        self.rng.split(label)
    }

    /// The hash over all commands.
    pub(crate) fn trace_hash(&self) -> u64 {
        self.runner.trace_hash()
    }

    /// The first `length` bytes of the device.
    pub(crate) fn area(&self, length: Bytes, data: Data) -> DeviceArea {
        let (_, logical_block) = medium(self.device.capabilities());
        DeviceArea { start: Bytes(0), length, logical_block, data }
    }

    /// Steps and bytes that were planned and are not needed.
    pub(crate) fn forgo(&mut self, steps: usize, bytes: u64) {
        self.planned.steps = self.planned.steps.saturating_sub(steps);
        self.planned.bytes = self.planned.bytes.saturating_sub(bytes);
    }

    /// Keeps a step.
    pub(crate) fn keep(&mut self, step: Step) -> Result<(), MethodError> {
        self.monitor.keep(&step)?;
        self.steps.push(step);
        Ok(())
    }

    /// Purges the drive; the step's id says by what means.
    pub(crate) fn purge(&mut self, id: &str) -> Result<(), MethodError> {
        self.show(id, 0);
        let step = Step::new(format!("{id}-by-{}", self.device.purge_means().id()), "purge");
        self.device.purge()?;
        self.keep(step)
    }

    /// Whether the drive has a purge: its own, or TRIM.
    pub(crate) fn can_purge(&self) -> bool {
        let discard = self.device.capabilities().discard;
        self.device.purge_means() != PurgeMeans::Trim || discard != Support::None
    }

    /// Leaves the drive alone.
    pub(crate) fn rest(&mut self, span: Nanos) -> Result<(), MethodError> {
        let deadline = self.device.now() + span;
        Ok(self.runner.idle_until(self.device, deadline)?)
    }

    /// Makes everything durable, where the device knows how to.
    pub(crate) fn flush(&mut self, id: &str) -> Result<(), MethodError> {
        let mut flush = Single(Script::new(Instant::START, [vec![BlockCommand::Flush]]));
        match self.run(id, &mut flush, &mut |_: &Sample<BlockCommand>| {}) {
            Ok(_) | Err(MethodError::Run(RunError::Rejected(Rejected::Unsupported { .. }))) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the area once, in order.
    pub(crate) fn write<O>(
        &mut self,
        id: &str,
        area: DeviceArea,
        (piece, queue_depth): (Bytes, u32),
        observer: &mut O,
    ) -> Result<Phase, MethodError>
    where
        O: Observer<BlockCommand>,
    {
        debug_assert!(area.length().0 > 0, "an area to be written is not empty");
        self.run(id, &mut Single(SequentialWrite::new(area, piece, queue_depth)), observer)
    }

    /// Discards `[start, end)`, one command after the other, each as large as the device takes.
    pub(crate) fn trim(
        &mut self,
        id: &str,
        (start, end): (Bytes, Bytes),
    ) -> Result<(), MethodError> {
        let Capabilities { discard_max, discard_granularity, .. } = *self.device.capabilities();
        let (_, logical_block) = medium(self.device.capabilities());
        let unit = discard_granularity.0.max(logical_block.bytes().0);
        let piece = (discard_max.min(TRIM_PIECE_MAX).0 / unit * unit).max(unit);
        let origin = self.device.discard_alignment().0 % unit;
        let mut from = start.0;
        let ranges = std::iter::from_fn(|| {
            // Pieces end where units do: one that is cut in two is freed by neither half.
            let reach = from + piece;
            let whole = reach.saturating_sub(origin) / unit * unit + origin;
            let to = if whole > from { whole.min(reach) } else { reach }.min(end.0);
            let length = Bytes(to - from);
            let range = (length.0 > 0).then(|| {
                LbaRange::from_bytes(Bytes(from), length, logical_block)
                    .expect("shares are whole logical blocks")
            });
            from = to;
            range.map(|range| vec![BlockCommand::Discard(range)])
        });
        let mut script = Single(Script::new(Instant::START, ranges));
        let phase = self.run(id, &mut script, &mut |_: &Sample<BlockCommand>| {})?;
        let mut step = Step::new(id, "trim");
        phase.store(&mut step);
        self.keep(step)
    }

    /// Runs to the end; nothing is outstanding afterwards.
    pub(crate) fn run<S, O>(
        &mut self,
        id: &str,
        streams: &mut S,
        observer: &mut O,
    ) -> Result<Phase, MethodError>
    where
        S: Streams<Command = BlockCommand>,
        O: Observer<BlockCommand>,
    {
        let (_, logical_block) = medium(self.device.capabilities());
        let (wear, before) = (self.device.wear(), self.device.statistics());
        let begun = self.device.now();
        let phase = Phase {
            begun,
            ended: begun,
            commands: 0,
            read: Bytes(0),
            written: Bytes(0),
            discarded: Bytes(0),
            latencies: LatencyHistogram::new(),
            longest: Nanos::ZERO,
            wear: None,
            foreign: false,
        };
        let mut meter = Meter { inner: observer, logical_block, phase, failures: None };
        loop {
            let now = self.device.now();
            if now == begun || now.since(self.shown) >= SHOW_EVERY {
                self.show(id, (meter.phase.read + meter.phase.written).0);
            }
            let done = self.runner.run_until(self.device, streams, &mut meter, now + SLICE);
            let failures = meter.failures.or(refusal(&done));
            if let Some((count, errno)) = failures {
                let until = self.device.now() + DRAIN_FAILED;
                // What else fails on the way out changes nothing.
                let _ = self.runner.run_until(self.device, &mut Nothing, &mut meter, until);
                let count = meter.failures.map_or(count, |(count, _)| count);
                return Err(MethodError::Broken { step: id.to_owned(), count, errno });
            }
            if done? {
                break;
            }
            let outstanding = self.runner.outstanding();
            if outstanding > 0 && self.device.now().since(meter.phase.ended) >= HUNG_AFTER {
                return Err(RunError::Hung { outstanding, limit: HUNG_AFTER }.into());
            }
        }
        let mut phase = meter.phase;
        phase.wear = wear.zip(self.device.wear());
        let ours = (phase.read + phase.written).0;
        self.accessed += ours;
        if !is_virtual(self.device) {
            let after = self.device.statistics();
            let total = (after.read.bytes + after.write.bytes)
                .saturating_sub(before.read.bytes + before.write.bytes);
            phase.foreign = total.0.saturating_sub(ours) > ours / FOREIGN_SHARE;
        }
        Ok(phase)
    }

    /// Shows progress, `here` bytes into the phase.
    fn show(&mut self, text: &str, here: u64) {
        let now = self.device.now();
        self.shown = now;
        let seconds = now.since(self.begun).seconds();
        let accessed = self.accessed + here;
        let measured = accessed as f64 / seconds;
        let known = seconds >= 1.0 && measured > 0.0;
        let rate = if known { measured } else { ASSUMED_RATE as f64 };
        let left = self.planned.bytes.saturating_sub(accessed) as f64 / rate;
        let done = self.steps.len();
        let total = self.planned.steps.max(done);
        let left = Nanos::from_seconds(left);
        self.monitor.stage(&Stage { done, total, text, now, left });
    }
}

/// The operating system's refusal of a submission, as a failure of the device.
fn refusal(done: &Result<bool, RunError>) -> Option<(u64, Errno)> {
    match done {
        Err(RunError::Rejected(Rejected::Kernel { errno })) => Some((1, *errno)),
        _ => None,
    }
}
