//! One pass: the commands of the trace, on one device.
//!
//! As fast as possible: a command is issued as soon as all earlier commands of the trace have been
//! issued and fewer than the queue depth are outstanding. TRIMs do not count as outstanding and are
//! issued at their place in the trace, so every other command is issued by the same rule with and
//! without the TRIMs. At the trace's times: a command is issued when it is due, whether or not
//! earlier ones have completed.
//!
//! The recorded programs kept commands in order by waiting. A replay does not wait: a write may
//! meet a TRIM of the same place that is still in flight.

use trimbench_core::{
    BlockCommand, Bytes, Caveat, Device, Instant, Interrupt, Nanos, Next, Workload,
};
use trimbench_results::Step;
use trimbench_trace::{RecordKind, TraceSource};

use super::feed::{Boundaries, Feed, Planned};
use super::fit::Fit;
use super::meter::Meter;
use super::options::{Pace, Pass, Replay, ReplayedTrims};
use super::session::Progress;
use super::steps::ReplayPassStep;
use trimbench_engine::{
    DeviceRunner, FILL_DEPTH, FILL_PIECE, MethodError, SequentialWrite, Single, is_virtual,
    unobserved,
};

/// TRIMs under way at once; the one after them waits, and all that follows it.
const DISCARDS_MAX: u32 = 1_024;
/// Commands under way at once at the trace's times.
const OUTSTANDING_MAX: u32 = 65_536;
/// Lateness that spoils a schedule, if it is that of one command in a hundred.
const LATE: Nanos = Nanos::from_millis(10);

/// What a pass came to.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) step: Step,
    /// The runner's hash over everything that happened.
    pub(super) trace_hash: u64,
}

/// A pass that is to be done.
pub(super) struct Task<'a> {
    pub(super) method: &'a Replay,
    pub(super) pass: Pass,
    pub(super) source: Box<dyn TraceSource + 'a>,
    /// Bytes that the trace spans.
    pub(super) span: Bytes,
    /// Whether the device must be purged and filled, or is handed out as that.
    pub(super) prepare: bool,
}

impl Task<'_> {
    pub(super) fn run(
        self,
        device: &mut dyn Device,
        interrupt: &Interrupt,
        progress: &mut Progress<'_>,
    ) -> Result<Passed, MethodError> {
        let Self { method, pass, source, span, prepare } = self;
        let id = pass.id();
        let mut runner = DeviceRunner::new(device, interrupt);
        let room = method.span.on(runner.shape.size, runner.shape.logical_block);
        if prepare {
            fill(&mut runner, method, &id, progress)?;
        }
        runner.rest(method.rest)?;
        let boundaries = Boundaries::new();
        let fit = Fit::new(method.scaling, room, span, runner.shape);
        let feed = Feed::new(method, pass.trims, source, fit, &boundaries);
        let begun = runner.now();
        let mut commands = Single(Commands::new(feed, pass.pace, begun));
        let in_virtual_time = is_virtual(runner.device);
        // Reading a real drive's counters takes a command of its own: at the ends only.
        let wear = runner.device.wear();
        let paced = matches!(pass.pace, Pace::Stamps(_));
        let mut meter = Meter::new(&boundaries, begun, wear, runner.shape.logical_block, paced);
        runner.run_watched(&id, &mut commands, &mut meter, |device, meter, now| {
            meter.read_wear(|| if in_virtual_time { device.wear() } else { None });
            progress.show(now.since(begun), meter.written());
            if progress.ends() {
                interrupt.request();
            }
        })?;
        let wear = runner.device.wear();
        meter.read_wear(|| if in_virtual_time { wear } else { None });
        let Commands { mut feed, held, .. } = commands.0;
        if let Some(error) = feed.take_error() {
            return Err(error.into());
        }
        let (queue_depth, time_scale) = match pass.pace {
            Pace::Depth(depth) => (Some(depth.into()), None),
            Pace::Stamps(scale) => (None, Some(scale.fraction())),
        };
        let trims = match pass.trims {
            ReplayedTrims::Stripped => 0,
            ReplayedTrims::Kept => 1,
            ReplayedTrims::Synthesised => 2,
        };
        let held_count = paced.then_some(held);
        let (feed, measured) = (feed.counts, meter.step(wear));
        let passed =
            ReplayPassStep { queue_depth, time_scale, trims, held_count, feed, meter: measured };
        let mut step = Step::of(id, "pass", &passed);
        let synthesised = pass.trims == ReplayedTrims::Synthesised;
        step.caveat(synthesised.then_some(Caveat::SynthesisedTrims));
        let late = meter.lateness().is_some_and(|late| late > LATE);
        step.caveat(late.then_some(Caveat::LateSchedule));
        Ok(Passed { step, trace_hash: runner.trace_hash() })
    }
}

/// Purges the drive and writes what is used of it once, in order.
fn fill(
    runner: &mut DeviceRunner<'_>,
    method: &Replay,
    id: &str,
    progress: &mut Progress<'_>,
) -> Result<(), MethodError> {
    runner.device.purge()?;
    let room = method.span.on(runner.shape.size, runner.shape.logical_block);
    let area = runner.shape.first(room, method.data);
    let mut write = Single(SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH));
    let begun = runner.now();
    runner.run_watched(id, &mut write, &mut unobserved, |_, _, now| {
        progress.show(now.since(begun), Bytes(0));
    })?;
    runner.flush(id)
}

/// The commands of a pass as a workload.
struct Commands<'a> {
    feed: Feed<'a>,
    /// The next one.
    head: Option<Planned>,
    pace: Pace,
    begun: Instant,
    /// When the next one is due, at the trace's times.
    due: Instant,
    /// Commands other than TRIMs that may still be issued.
    vacant: u32,
    discards: u32,
    /// Commands that were due and had to wait because too many were under way.
    held: u64,
    holding: bool,
}

impl<'a> Commands<'a> {
    fn new(feed: Feed<'a>, pace: Pace, begun: Instant) -> Self {
        let vacant = match pace {
            Pace::Depth(depth) => depth,
            Pace::Stamps(_) => OUTSTANDING_MAX,
        };
        let mut commands = Self {
            feed,
            head: None,
            pace,
            begun,
            due: begun,
            vacant,
            discards: 0,
            held: 0,
            holding: false,
        };
        commands.forward();
        commands
    }

    #[inline]
    fn forward(&mut self) {
        self.head = self.feed.next();
        if let (Pace::Stamps(scale), Some(head)) = (self.pace, self.head) {
            // Stamps may run backwards a little; the order of the trace stands.
            self.due = self.due.max(self.begun + head.time.scaled(scale));
        }
    }
}

impl Workload for Commands<'_> {
    type Command = BlockCommand;

    #[inline]
    fn next(&mut self, now: Instant) -> Next<BlockCommand> {
        let Some(head) = self.head else { return Next::Done };
        let intended = match self.pace {
            Pace::Depth(_) => now,
            Pace::Stamps(_) if self.due > now => return Next::NotBefore(self.due),
            Pace::Stamps(_) => self.due,
        };
        if head.kind == RecordKind::Discard {
            if self.discards == DISCARDS_MAX {
                return self.hold();
            }
            self.discards += 1;
        } else {
            if self.vacant == 0 {
                return self.hold();
            }
            self.vacant -= 1;
        }
        self.holding = false;
        let command = self.feed.command(&head);
        self.forward();
        Next::Issue { intended, command }
    }

    #[inline]
    fn completed(&mut self, command: &BlockCommand, _: Instant) {
        if matches!(command, BlockCommand::Discard(_)) {
            self.discards -= 1;
        } else {
            self.vacant += 1;
        }
    }
}

impl Commands<'_> {
    /// Too much is under way for the next command.
    #[inline]
    fn hold(&mut self) -> Next<BlockCommand> {
        self.held += u64::from(!self.holding);
        self.holding = true;
        Next::Await
    }
}
