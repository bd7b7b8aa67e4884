//! Operations that methods on whole devices share: run commands to completion, write, rest, and
//! read the device's counters once they are up to date.

use std::cell::Cell;

use trimbench_core::contract::ClassStatistics;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Capabilities, Caveat, Clock, Data, Device, DeviceStatistics,
    Errno, Instant, Interrupt, LbaRange, Medium, Nanos, Rejected, Status, Support,
};
use trimbench_results::Step;

use crate::area::{Area, DeviceArea};
use crate::method::{MethodError, Misfit, NEEDS_A_DEVICE};
use crate::runner::{
    HUNG_AFTER, LOOK_EVERY, Observer, RunError, Runner, Sample, Single, Streams, UntilFailure,
};
use crate::settings::Span;
use crate::workload::{FILL_DEPTH, FILL_PIECE, InOrder, SequentialWrite};

#[cfg(test)]
mod tests;

/// How long commands that are outstanding when one fails are waited for.
const DRAIN_FAILED: Nanos = Nanos::from_secs(5);
/// How long the device's counters may lag behind the completions, and how often they are read.
const COUNTERS_LAG: Nanos = Nanos::from_secs(1);
const COUNTERS_EVERY: Nanos = Nanos::from_millis(10);

/// The largest discard of a TRIM, where the device takes as much.
const TRIM_PIECE_MAX: Bytes = Bytes::gib(1);

/// A request of Linux counts its bytes in 32 bits: more is never one command.
const KERNEL_MAX: Bytes = Bytes(u32::MAX as u64);

/// What plans need to know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of the whole device.
    pub size: Bytes,
    /// Where addresses are counted from: the first byte at which a unit of the granularity begins,
    /// less than one from the start of the device.
    pub origin: Bytes,
    /// Bytes from there on, whole multiples of `granularity`.
    pub capacity: Bytes,
    /// Its unit of addresses.
    pub logical_block: BlockSize,
    /// Discards are acted on in multiples of this; a multiple of the logical block.
    pub granularity: Bytes,
    /// The largest discard that reaches the device as one command, a multiple of `granularity`, at
    /// most the capacity.
    pub discard_max: Bytes,
}

impl Shape {
    /// Of a device whose first unit of the granularity begins at `alignment`
    /// ([`discard_alignment`](trimbench_core::Drive::discard_alignment)); `None` for a directory.
    pub fn of(capabilities: &Capabilities, alignment: Bytes) -> Option<Self> {
        let Medium::Device { capacity: size, logical_block } = capabilities.medium else {
            return None;
        };
        let unit = logical_block.bytes();
        let granularity = Bytes(capabilities.discard_granularity.0.max(1).next_multiple_of(unit.0));
        let whole = |bytes: Bytes| Bytes(bytes.0 / granularity.0 * granularity.0);
        // Where units begin within a logical block, none can be met: then from the start.
        let origin = Bytes(alignment.0 % granularity.0);
        let origin = if origin.0.is_multiple_of(unit.0) { origin } else { Bytes(0) };
        let capacity = whole(size.saturating_sub(origin));
        let single = match capabilities.clock {
            Clock::Wall => capabilities.discard_max.min(KERNEL_MAX),
            Clock::Virtual => capabilities.discard_max,
        };
        let discard_max = whole(single).min(capacity);
        Some(Self { size, origin, capacity, logical_block, granularity, discard_max })
    }

    /// Of a device that takes discards; else why it does not fit. For what does not depend on where
    /// units begin.
    pub fn of_discarding(capabilities: &Capabilities) -> Result<Self, Misfit> {
        let shape = Self::of(capabilities, Bytes(0)).ok_or_else(|| Misfit::from(NEEDS_A_DEVICE))?;
        if capabilities.discard == Support::None || shape.discard_max.0 == 0 {
            let reason = "it takes no discards, so that there is nothing to measure: use a drive \
                          that does, or look in `queue/discard_max_bytes` of each layer below it";
            return Err(reason.into());
        }
        Ok(shape)
    }

    /// The logical blocks of `[start, start + length)`.
    pub fn range(&self, start: Bytes, length: Bytes) -> LbaRange {
        LbaRange::from_bytes(self.origin + start, length, self.logical_block)
            .expect("plans are made of whole logical blocks")
    }

    /// The discards that cover `[start, start + length)` in pieces of `piece`; the last may be
    /// shorter.
    pub fn discards(&self, start: Bytes, length: Bytes, piece: Bytes) -> Vec<BlockCommand> {
        let pieces = (0..length.pieces(piece)).map(|index| {
            let offset = Bytes(index * piece.0);
            BlockCommand::Discard(self.range(start + offset, piece.min(length - offset)))
        });
        pieces.collect()
    }

    /// The discards of `[start, end)` of the device, from its first byte on: each as large as the
    /// device takes, and a gibibyte at the most.
    pub fn discards_of(
        &self,
        start: Bytes,
        end: Bytes,
    ) -> impl Iterator<Item = BlockCommand> + use<> {
        let Self { origin, logical_block, granularity, discard_max, .. } = *self;
        let unit = granularity.0;
        let most = (discard_max.min(TRIM_PIECE_MAX).0 / unit * unit).max(unit);
        cut_at_units((start.0, end.0), most, origin.0, unit).map(move |(from, to)| {
            let range = LbaRange::from_bytes(Bytes(from), Bytes(to - from), logical_block);
            BlockCommand::Discard(range.expect("parts of a device are whole logical blocks"))
        })
    }

    /// A part of the device whose writes cannot be compressed.
    pub fn area(&self, start: Bytes, length: Bytes) -> DeviceArea {
        let start = self.origin + start;
        DeviceArea { start, length, logical_block: self.logical_block, data: Data::Random }
    }

    /// The first bytes of the device, whether or not a unit of the granularity begins there.
    pub fn first(&self, length: Bytes, data: Data) -> DeviceArea {
        DeviceArea { start: Bytes(0), length, logical_block: self.logical_block, data }
    }
}

/// Cuts `[start, end)` into pieces of at most `most`. Pieces end where units of `unit` do, of which
/// the first begins at `origin`: a unit that is cut in two is freed by neither half.
pub fn cut_at_units(
    (start, end): (u64, u64),
    most: u64,
    origin: u64,
    unit: u64,
) -> impl Iterator<Item = (u64, u64)> {
    let mut next = start;
    std::iter::from_fn(move || {
        let from = next;
        let reach = from.saturating_add(most);
        let whole = reach.saturating_sub(origin) / unit * unit + origin;
        next = if reach >= end {
            end
        } else if whole > from {
            whole
        } else {
            reach
        };
        (from < next).then_some((from, next))
    })
}

/// A device that commands are run on.
#[expect(missing_debug_implementations, reason = "a `dyn Device` has none")]
pub struct DeviceRunner<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// Its size and granularity.
    pub shape: Shape,
    runner: Runner<BlockCommand>,
    /// What the last purge left beyond the part in use has been filled since.
    rest_is_full: bool,
}

/// What became of the commands of a run.
struct Tally {
    /// When the last one ended, or since when none is outstanding.
    ended: Instant,
    /// How many failed, and the last error.
    failures: Option<(u64, Errno)>,
}

impl<'a> DeviceRunner<'a> {
    /// A runner on `device`, which ends early when `interrupt` is set.
    ///
    /// # Panics
    /// If the device takes no block commands.
    pub fn new(device: &'a mut dyn Device, interrupt: &Interrupt) -> Self {
        let shape = Shape::of(device.capabilities(), device.discard_alignment())
            .expect("what takes block commands is a device");
        Self { device, shape, runner: Runner::new(interrupt.clone()), rest_is_full: false }
    }

    /// Purges the device for a method that uses only what lies before `end`. The rest is then
    /// filled where that takes no time: an empty rest would serve as over-provisioning.
    pub fn purge(&mut self, end: Bytes) -> Result<(), MethodError> {
        self.device.purge()?;
        self.rest_is_full = self.device.fill_from(end)?;
        Ok(())
    }

    /// The caveat of using only `span` of the device: none where the rest is full.
    pub fn part_of_drive(&self, span: Span) -> Option<Caveat> {
        span.caveat(self.shape.size).filter(|_| !self.rest_is_full)
    }

    /// The same for figures that depend on how much spare area there is for each byte in use: a
    /// full rest that nobody writes leaves all of it to the span.
    pub fn part_with_spare(&self, span: Span) -> Option<Caveat> {
        let part = span.caveat(self.shape.size)?;
        Some(if self.rest_is_full { Caveat::PartOfFullDrive } else { part })
    }

    /// The time on the device's clock.
    pub fn now(&self) -> Instant {
        self.device.now()
    }

    /// A hash over every command and completion so far.
    pub fn trace_hash(&self) -> u64 {
        self.runner.trace_hash()
    }

    /// Runs to the end, for the step called `step`; the observer is shown what succeeds. Ends early
    /// when nothing ends for very long, or when something fails: then nothing more is issued, and
    /// what is outstanding is waited for.
    pub fn run<S, O>(
        &mut self,
        step: &str,
        streams: &mut S,
        observer: &mut O,
    ) -> Result<(), MethodError>
    where
        S: Streams<Command = BlockCommand>,
        O: Observer<BlockCommand>,
    {
        self.run_watched(step, streams, observer, |_, _, _| {})
    }

    /// The same; `look` is shown the device, the observer and the time at the start, again and
    /// again, and whenever the observer pauses the run.
    pub fn run_watched<S, O>(
        &mut self,
        step: &str,
        streams: &mut S,
        observer: &mut O,
        mut look: impl FnMut(&mut dyn Device, &mut O, Instant),
    ) -> Result<(), MethodError>
    where
        S: Streams<Command = BlockCommand>,
        O: Observer<BlockCommand>,
    {
        let failed = Cell::new(false);
        let mut streams = UntilFailure { streams, failed: &failed };
        let mut tally = Tally { ended: self.now(), failures: None };
        loop {
            let now = self.now();
            look(self.device, observer, now);
            let mut both = Both { tally: &mut tally, failed: &failed, observer };
            let until = now + LOOK_EVERY;
            let over = self.runner.run_until(self.device, &mut streams, &mut both, until);
            if let Some(failures) = tally.failures.or(refusal(&over)) {
                // What else fails on the way out changes nothing.
                failed.set(true);
                let until = self.now() + DRAIN_FAILED;
                let mut rest = |sample: &Sample<BlockCommand>| {
                    tally.note(sample);
                };
                let _ = self.runner.run_until(self.device, &mut streams, &mut rest, until);
                let (count, errno) = tally.failures.unwrap_or(failures);
                return Err(MethodError::Broken { step: step.to_owned(), count, errno });
            }
            if over? {
                return Ok(());
            }
            let (now, outstanding) = (self.now(), self.runner.outstanding());
            if outstanding == 0 {
                tally.ended = now;
            } else if now.since(tally.ended) >= HUNG_AFTER {
                return Err(RunError::Hung { outstanding, limit: HUNG_AFTER }.into());
            }
        }
    }

    /// Runs the commands of a preparation, in their order.
    pub fn all(
        &mut self,
        step: &str,
        commands: Vec<BlockCommand>,
        queue_depth: u32,
    ) -> Result<(), MethodError> {
        self.run(step, &mut Single(InOrder::new(commands, queue_depth)), &mut unobserved)
    }

    /// Writes an area once, in order, and makes it durable.
    pub fn fill(&mut self, step: &str, area: DeviceArea) -> Result<(), MethodError> {
        let write = SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH);
        self.run(step, &mut Single(write), &mut unobserved)?;
        self.flush(step)
    }

    /// Writes areas one after the other, and makes them durable.
    pub fn fill_all(
        &mut self,
        step: &str,
        areas: impl Iterator<Item = DeviceArea>,
    ) -> Result<(), MethodError> {
        let writes = areas.flat_map(|area| {
            (0..area.length.pieces(FILL_PIECE)).map(move |index| {
                let offset = Bytes(index * FILL_PIECE.0);
                area.write(offset, FILL_PIECE.min(area.length - offset))
            })
        });
        self.all(step, writes.collect(), FILL_DEPTH)?;
        self.flush(step)
    }

    /// Makes everything durable, where the device knows how to.
    pub fn flush(&mut self, step: &str) -> Result<(), MethodError> {
        match self.all(step, vec![BlockCommand::Flush], 1) {
            Err(MethodError::Run(RunError::Rejected(Rejected::Unsupported { .. }))) => Ok(()),
            result => result,
        }
    }

    /// Lets time pass.
    pub fn rest(&mut self, span: Nanos) -> Result<(), MethodError> {
        let until = self.now() + span;
        Ok(self.runner.idle_until(self.device, until)?)
    }

    /// What the device's counters say of the discards since `before`, once they show at least what
    /// was issued, or have had their time: they may be read before the last completion is in them.
    /// The step gets a caveat where they are others than were issued.
    pub fn discards_since(
        &mut self,
        before: DeviceStatistics,
        issued: ClassStatistics,
        step: &mut Step,
    ) -> Result<ClassStatistics, MethodError> {
        let give_up = self.now() + COUNTERS_LAG;
        loop {
            let after = self.device.statistics().discard;
            let counted = ClassStatistics {
                completed: after.completed.saturating_sub(before.discard.completed),
                bytes: after.bytes.saturating_sub(before.discard.bytes),
                time: after.time.saturating_sub(before.discard.time),
            };
            let all = counted.completed >= issued.completed && counted.bytes >= issued.bytes;
            if all || self.now() >= give_up {
                let same = (counted.completed, counted.bytes) == (issued.completed, issued.bytes);
                step.caveat((!same).then_some(Caveat::CommandsMerged));
                return Ok(counted);
            }
            self.rest(COUNTERS_EVERY)?;
        }
    }
}

impl Tally {
    /// Whether there was a failure, this one or earlier.
    #[inline]
    fn note(&mut self, sample: &Sample<BlockCommand>) -> bool {
        self.ended = self.ended.max(sample.completed);
        if let Status::Failed(errno) = sample.status {
            let count = self.failures.map_or(0, |(count, _)| count);
            self.failures = Some((count + 1, errno));
        }
        self.failures.is_some()
    }
}

/// Notes each command, and shows the observer those before the first failure.
struct Both<'a, O> {
    tally: &'a mut Tally,
    failed: &'a Cell<bool>,
    observer: &'a mut O,
}

impl<O: Observer<BlockCommand>> Observer<BlockCommand> for Both<'_, O> {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        self.failed.set(self.tally.note(sample));
        if !self.failed.get() {
            self.observer.observe(sample);
        }
    }

    #[inline]
    fn pauses(&self) -> bool {
        self.observer.pauses()
    }
}

/// The operating system's refusal of a submission, as a failure of the device.
fn refusal(over: &Result<bool, RunError>) -> Option<(u64, Errno)> {
    match over {
        Err(RunError::Rejected(Rejected::Kernel { errno })) => Some((1, *errno)),
        _ => None,
    }
}

/// Looks at nothing.
pub fn unobserved(_: &Sample<BlockCommand>) {}
