//! Phases of a procedure on a whole device, one after the other: purge, write, trim, rest.
//!
//! A phase begins and ends with nothing outstanding, so that the drive's wear counters can be read
//! on both sides of it. It ends at its last completion. Each phase leaves the drive in the state in
//! which the next one begins, so such a procedure cannot continue in the middle.
//!
//! Units: time in `Nanos` on the target's clock, rates in MB (10^6 bytes) a second.

use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Caveat, Instant, LbaRange, Nanos, PurgeMeans, Support, Wear,
};
use trimbench_results::{LatencyHistogram, Step, steps};

use crate::area::DeviceArea;
use crate::device_runner::{DeviceRunner, unobserved};
use crate::method::ASSUMED_RATE;
use crate::method::LiveFigures;
use crate::method::MethodError;
use crate::method::session::{MethodSession, Stage};
use crate::other_load::OtherLoad;
use crate::runner::{Observer, Sample, Single, Streams};
use crate::workload::{InOrder, SequentialWrite};

#[cfg(test)]
mod tests;

/// Bytes and queue depth of writes that precondition in order. Source: \[PTS\], 128 KiB.
const IN_ORDER_PIECE: Bytes = Bytes(128 << 10);
const IN_ORDER_DEPTH: u32 = 32;
/// How often progress is shown, on the target's clock.
const SHOW_EVERY: Nanos = Nanos::from_secs(1);

/// What all phases to come will take, for the estimate of what is left.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// Steps, at the most.
    pub steps: usize,
    /// Bytes that are read or written, at the most.
    pub bytes: u64,
}

/// A device under a sequence of phases.
#[expect(missing_debug_implementations, reason = "a `dyn Device` has none")]
pub struct PhaseRunner<'a, 's> {
    /// Runs their commands.
    pub runner: DeviceRunner<'a>,
    /// Keeps their steps.
    pub session: &'a mut MethodSession<'s>,
    progress: Progress,
}

/// What is shown while phases run.
struct Progress {
    planned: Planned,
    begun: Instant,
    /// Bytes that phases before this one have read and written.
    accessed: u64,
    shown: Instant,
}

steps! {
    /// What a phase did, and how fast.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PhaseStep {
        /// first submission to last completion
        measured elapsed_s: f64;
        /// commands that ended, without the discards beside reads and writes
        measured command_count: u64;
        /// bytes read
        measured read_bytes: Option<Bytes>;
        /// bytes written
        measured written_bytes: Option<Bytes>;
        /// bytes discarded
        measured discarded_bytes: Option<Bytes>;
        /// bytes read and written over `elapsed_s`
        measured throughput_mb_per_s: Option<f64>;
        /// where the drive tells what it writes to its flash
        part wear: Option<WearStep>;
    }

    /// How long the commands of a phase took.
    #[derive(Clone, Debug)]
    pub struct PhaseLatencyStep {
        /// of the commands that `command_count` counts
        part latency: LatencySummary = "latency";
        /// of the discards beside reads and writes
        part trim_latency: Option<LatencySummary> = "trim_latency";
    }

    /// How long commands took.
    #[derive(Clone, Debug)]
    pub struct LatencySummary {
        /// the longest latency, exact
        measured ns_max: u64 = "_ns_max";
        /// all latencies
        histogram all: LatencyHistogram = "";
    }

    /// By how much a drive's counters rose.
    #[derive(Clone, Copy, Debug)]
    pub struct WearStep {
        /// bytes that the drive took from the host
        measured host_written_bytes: Bytes;
        /// bytes that it wrote to its flash
        measured media_written_bytes: Bytes;
        /// `media_written_bytes` over `host_written_bytes`
        measured write_amplification_ratio: f64;
    }
}

/// What a phase measured.
#[derive(Clone, Debug)]
pub struct Phase {
    /// When it began.
    pub begun: Instant,
    /// When its last command ended.
    pub ended: Instant,
    /// Commands that ended.
    pub commands: u64,
    /// Discards among them.
    pub discards: u64,
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Bytes discarded.
    pub discarded: Bytes,
    latencies: Latencies,
    /// Of discards beside reads and writes.
    trims: Latencies,
    /// Of the drive's counters before and after.
    wear: Option<(Wear, Wear)>,
    /// Others used the device beside it.
    pub other_load: Option<Caveat>,
}

impl Phase {
    fn beginning(begun: Instant) -> Self {
        Self {
            begun,
            ended: begun,
            commands: 0,
            discards: 0,
            read: Bytes(0),
            written: Bytes(0),
            discarded: Bytes(0),
            latencies: Latencies::default(),
            trims: Latencies::default(),
            wear: None,
            other_load: None,
        }
    }

    /// Bytes read and written.
    fn accessed(&self) -> Bytes {
        self.read + self.written
    }

    /// Commands a second, without the discards beside reads and writes; `None` if no time passed.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.ended.since(self.begun).seconds();
        (seconds > 0.0).then(|| self.counted() as f64 / seconds)
    }

    /// Commands without the discards beside others.
    fn counted(&self) -> u64 {
        let others = self.commands - self.discards;
        if others == 0 { self.commands } else { others }
    }

    /// Notes everything in a step.
    pub fn store(&self, step: &mut Step) {
        step.store(&self.work());
        step.store(&self.latencies());
        step.caveat(self.other_load);
    }

    /// What was done, and how fast.
    pub fn work(&self) -> PhaseStep {
        let seconds = self.ended.since(self.begun).seconds();
        let some = |bytes: Bytes| (bytes.0 > 0).then_some(bytes);
        PhaseStep {
            elapsed_s: seconds,
            command_count: self.counted(),
            read_bytes: some(self.read),
            written_bytes: some(self.written),
            discarded_bytes: some(self.discarded),
            throughput_mb_per_s: some(self.accessed()).map(|it| it.0 as f64 / 1e6 / seconds),
            wear: self.wear.and_then(|(before, after)| WearStep::between(before, after)),
        }
    }

    /// How long its commands took.
    pub fn latencies(&self) -> PhaseLatencyStep {
        let (latency, trim_latency) = match (self.commands - self.discards, self.discards) {
            (0, _) => (&self.trims, None),
            (_, 0) => (&self.latencies, None),
            _ => (&self.latencies, Some(self.trims.summary())),
        };
        PhaseLatencyStep { latency: latency.summary(), trim_latency }
    }
}

/// What a step with a phase says of the session while it goes on.
pub fn live(step: &Step) -> LiveFigures {
    let phase = step.read::<PhaseStep>().ok();
    let latency = step.read::<PhaseLatencyStep>().ok().map(|it| (it.latency.ns_max as f64, "ns"));
    let wear = phase.and_then(|it| it.wear).map(|it| it.write_amplification_ratio);
    LiveFigures {
        throughput: phase.and_then(|it| it.throughput_mb_per_s).map(|rate| (rate, "MB/s")),
        latency,
        headline: wear.map(|ratio| ("write amplification", ratio, "")),
    }
}

impl WearStep {
    /// What was written between two readings of a drive's counters; `None` if the host wrote
    /// nothing.
    pub fn between(before: Wear, after: Wear) -> Option<Self> {
        Some(Self {
            host_written_bytes: after.host_written.saturating_sub(before.host_written),
            media_written_bytes: after.media_written.saturating_sub(before.media_written),
            write_amplification_ratio: after.amplification_since(before)?,
        })
    }
}

/// How long commands took.
#[derive(Clone, Debug, Default)]
struct Latencies {
    all: LatencyHistogram,
    longest: Nanos,
}

impl Latencies {
    #[inline]
    fn record(&mut self, latency: Nanos) {
        self.all.record(latency);
        self.longest = self.longest.max(latency);
    }

    fn summary(&self) -> LatencySummary {
        LatencySummary { ns_max: self.longest.0, all: self.all.clone() }
    }
}

/// Counts what a phase does and passes it on.
struct Meter<'a, O> {
    inner: &'a mut O,
    logical_block: BlockSize,
    phase: Phase,
}

impl<O: Observer<BlockCommand>> Observer<BlockCommand> for Meter<'_, O> {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        self.phase.ended = self.phase.ended.max(sample.completed);
        self.phase.commands += 1;
        if let BlockCommand::Discard(_) = sample.command {
            self.phase.discards += 1;
            self.phase.trims.record(sample.latency());
        } else {
            self.phase.latencies.record(sample.latency());
        }
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

impl<'a, 's> PhaseRunner<'a, 's> {
    /// Runs phases on a device; `planned` is all of them, for the estimate of what is left.
    pub fn new(
        runner: DeviceRunner<'a>,
        session: &'a mut MethodSession<'s>,
        planned: Planned,
    ) -> Self {
        let begun = runner.now();
        let progress = Progress { planned, begun, accessed: 0, shown: begun };
        Self { runner, session, progress }
    }

    /// A generator for the component `label`.
    pub fn rng(&self, label: &str) -> Rng {
        self.session.rng.split(label)
    }

    /// Steps and bytes that were planned and are not needed.
    pub fn forgo(&mut self, steps: usize, bytes: u64) {
        let Planned { steps: all_steps, bytes: all_bytes } = &mut self.progress.planned;
        *all_steps = all_steps.saturating_sub(steps);
        *all_bytes = all_bytes.saturating_sub(bytes);
    }

    /// Keeps a step.
    pub fn keep(&mut self, step: Step) -> Result<(), MethodError> {
        self.session.keep(step)
    }

    /// The id of the step that says how the drive was purged.
    pub fn purge_id(&self, id: &str) -> String {
        format!("{id}-by-{}", self.runner.device.purge_means().id())
    }

    /// Purges the drive, of which only what lies before `end` is used; see [`DeviceRunner::purge`].
    /// The step's id says by what means.
    pub fn purge(&mut self, id: &str, end: Bytes) -> Result<(), MethodError> {
        self.progress.show(id, self.session, self.runner.now(), 0);
        let step = Step::new(self.purge_id(id), "purge");
        self.runner.purge(end)?;
        self.keep(step)
    }

    /// Whether the drive has a purge: its own, or TRIM.
    pub fn can_purge(&self) -> bool {
        let discard = self.runner.device.capabilities().discard;
        self.runner.device.purge_means() != PurgeMeans::Trim || discard != Support::None
    }

    /// Discards `[start, end)` of the device, one command after the other, each as large as the
    /// device takes, and keeps that as a step.
    pub fn trim(&mut self, id: &str, start: Bytes, end: Bytes) -> Result<(), MethodError> {
        let phase = self.discard(id, start, end)?;
        self.keep_phase(id, "trim", &phase)
    }

    /// Keeps a phase as a step that has nothing else.
    pub fn keep_phase(&mut self, id: &str, kind: &str, phase: &Phase) -> Result<(), MethodError> {
        let mut step = Step::new(id, kind);
        phase.store(&mut step);
        self.keep(step)
    }

    /// Discards `[start, end)` as a part of a step.
    pub fn discard(&mut self, id: &str, start: Bytes, end: Bytes) -> Result<Phase, MethodError> {
        let discards = self.runner.shape.discards_of(start, end);
        let mut discards = Single(InOrder::new(discards.collect(), 1));
        self.run(id, &mut discards, &mut unobserved)
    }

    /// Preconditions an area, independently of the workload: writes it once, in order.
    pub fn write_in_order(&mut self, id: &str, area: DeviceArea) -> Result<Phase, MethodError> {
        let write = SequentialWrite::new(area, IN_ORDER_PIECE, IN_ORDER_DEPTH);
        self.run(id, &mut Single(write), &mut unobserved)
    }

    /// Runs to the end; nothing is outstanding afterwards.
    pub fn run<S, O>(
        &mut self,
        id: &str,
        streams: &mut S,
        observer: &mut O,
    ) -> Result<Phase, MethodError>
    where
        S: Streams<Command = BlockCommand>,
        O: Observer<BlockCommand>,
    {
        let Self { runner, progress, session } = self;
        let (wear, before) = (runner.device.wear(), OtherLoad::before(runner.device.statistics()));
        let begun = runner.now();
        let logical_block = runner.shape.logical_block;
        let mut meter = Meter { inner: observer, logical_block, phase: Phase::beginning(begun) };
        runner.run_watched(id, streams, &mut meter, |_, meter, now| {
            if now == begun || now.since(progress.shown) >= SHOW_EVERY {
                progress.show(id, session, now, meter.phase.accessed().0);
            }
        })?;
        let mut phase = meter.phase;
        phase.wear = wear.zip(runner.device.wear());
        let ours = phase.accessed().0;
        progress.accessed += ours;
        let after = runner.device.statistics();
        phase.other_load = before.caveat(runner.device, after, Bytes(ours));
        Ok(phase)
    }
}

impl Progress {
    /// Shows the steps that are kept, and that so many bytes of the phase are accessed.
    fn show(&mut self, text: &str, session: &mut MethodSession<'_>, now: Instant, here: u64) {
        self.shown = now;
        let done = session.steps().len();
        let seconds = now.since(self.begun).seconds();
        let accessed = self.accessed + here;
        let measured = accessed as f64 / seconds;
        let known = seconds >= 1.0 && measured > 0.0;
        let rate = if known { measured } else { ASSUMED_RATE as f64 };
        let left = self.planned.bytes.saturating_sub(accessed) as f64 / rate;
        let total = self.planned.steps.max(done);
        let left = Nanos::from_seconds(left);
        session.show(&Stage { done, total, text, now, left });
    }
}
