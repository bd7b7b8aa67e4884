//! The runner: joins workloads and a target, for block and for file commands alike.
//!
//! It never asks the operating system for the time; its hot path is monomorphised. Response time
//! counts from the intended start, so that a stall cannot hide the requests that it delayed.

use std::cell::Cell;

use trimbench_core::trace_hash::TraceHash;
use trimbench_core::units::narrow;
use trimbench_core::{
    Completion, Errno, Instant, Interrupt, Nanos, Next, Operation, Rejected, Status, Tag, Target,
    Workload,
};

#[cfg(test)]
mod tests;

/// How often a request to stop, failures and a device that hangs are looked for.
pub const LOOK_EVERY: Nanos = Nanos::from_millis(50);
/// Submissions that take this long each were held: the kernel waited within them, as it does for a
/// tag of the device when discards have taken all of them. By itself one takes some microseconds.
const HELD_FROM: Nanos = Nanos::from_micros(100);
/// How long nothing may end before the device counts as hung.
pub const HUNG_AFTER: Nanos = Nanos::from_secs(1_800);

/// One command that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<C> {
    /// Which of the workloads issued it.
    pub stream: usize,
    /// What it was.
    pub command: C,
    /// When it should have started.
    pub intended: Instant,
    /// When it was submitted.
    pub issued: Instant,
    /// When it ended.
    pub completed: Instant,
    /// How it ended.
    pub status: Status,
}

impl<C> Sample<C> {
    /// From submission to completion.
    #[inline]
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.issued)
    }

    /// From the intended start to completion.
    #[inline]
    pub fn response_time(&self) -> Nanos {
        self.completed.since(self.intended)
    }
}

/// Looks at every command that ended.
pub trait Observer<C> {
    /// One ended.
    fn observe(&mut self, sample: &Sample<C>);

    /// The kernel held submissions: nothing else could be issued meanwhile, and what was due is
    /// late by no fault of this machine.
    #[inline]
    fn held(&mut self, _from: Instant, _until: Instant) {}

    /// Whether [`Runner::run_until`] is to return now, to be called again: asked after each wait.
    #[inline]
    fn pauses(&self) -> bool {
        false
    }
}

impl<C, F: FnMut(&Sample<C>)> Observer<C> for F {
    #[inline]
    fn observe(&mut self, sample: &Sample<C>) {
        self(sample);
    }
}

/// One or several workloads that run side by side.
pub trait Streams {
    /// What they issue.
    type Command;

    /// What one of them wants next, and which.
    fn next(&mut self, now: Instant) -> (usize, Next<Self::Command>);

    /// See [`Workload::upcoming`].
    #[inline]
    fn upcoming(&mut self) -> Option<Self::Command> {
        None
    }

    /// A command of `stream` ended.
    fn completed(&mut self, stream: usize, command: &Self::Command, at: Instant);
}

/// A single workload.
#[derive(Debug)]
pub struct Single<W>(pub W);

impl<W: Workload> Streams for Single<W> {
    type Command = W::Command;

    #[inline]
    fn next(&mut self, now: Instant) -> (usize, Next<W::Command>) {
        (0, self.0.next(now))
    }

    #[inline]
    fn upcoming(&mut self) -> Option<W::Command> {
        self.0.upcoming()
    }

    #[inline]
    fn completed(&mut self, _: usize, command: &W::Command, at: Instant) {
        self.0.completed(command, at);
    }
}

/// Several workloads. Where more than one has something due, the earlier in the list goes first.
#[expect(missing_debug_implementations, reason = "workloads behind trait objects have none")]
pub struct Several<'a, C>(pub Vec<&'a mut dyn Workload<Command = C>>);

impl<C> Streams for Several<'_, C> {
    type Command = C;

    fn next(&mut self, now: Instant) -> (usize, Next<C>) {
        let mut earliest = Instant::NEVER;
        let mut all_done = true;
        for (stream, workload) in self.0.iter_mut().enumerate() {
            match workload.next(now) {
                issue @ Next::Issue { .. } => return (stream, issue),
                Next::NotBefore(at) => {
                    earliest = earliest.min(at);
                    all_done = false;
                }
                Next::Await => all_done = false,
                Next::Done => {}
            }
        }
        let next = match (all_done, earliest) {
            (true, _) => Next::Done,
            (false, Instant::NEVER) => Next::Await,
            (false, at) => Next::NotBefore(at),
        };
        (0, next)
    }

    fn completed(&mut self, stream: usize, command: &C, at: Instant) {
        self.0[stream].completed(command, at);
    }
}

/// Streams that are done as soon as something failed.
#[derive(Debug)]
pub struct UntilFailure<'a, S> {
    /// The streams.
    pub streams: &'a mut S,
    /// Set by whoever sees the failure.
    pub failed: &'a Cell<bool>,
}

impl<S: Streams> Streams for UntilFailure<'_, S> {
    type Command = S::Command;

    #[inline]
    fn next(&mut self, now: Instant) -> (usize, Next<S::Command>) {
        if self.failed.get() { (0, Next::Done) } else { self.streams.next(now) }
    }

    #[inline]
    fn upcoming(&mut self) -> Option<S::Command> {
        self.streams.upcoming()
    }

    #[inline]
    fn completed(&mut self, stream: usize, command: &S::Command, at: Instant) {
        self.streams.completed(stream, command, at);
    }
}

/// Why a run ended early. What was observed until then was observed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The target did not take a command: a bug in the plan, or the target is gone.
    #[error("the target did not take a command: {0}")]
    Rejected(#[from] Rejected),
    /// The user asked for the end.
    #[error("interrupted")]
    Interrupted,
    /// Commands did not end in time.
    #[error("{outstanding} commands did not end within {limit}; the device hangs or is gone")]
    Hung {
        /// How many.
        outstanding: usize,
        /// How long it was waited.
        limit: Nanos,
    },
    /// More commands wait than a run keeps in memory.
    #[error(
        "{outstanding} commands wait for the target, which does not serve the load: lower its rate"
    )]
    Overloaded {
        /// How many.
        outstanding: usize,
    },
    /// A command of a preparation failed.
    #[error("{operation} failed: {errno}")]
    Failed {
        /// The command.
        operation: String,
        /// The target's reason.
        errno: Errno,
    },
}

/// The most commands that may wait where an open loop issues more than its target serves: eight
/// seconds of the highest rate that methods offer. With what a model keeps of each they take some
/// GB.
const WAITING_MAX: usize = if cfg!(test) { 1_000 } else { 8_000_000 };

/// A command on its way.
#[derive(Clone, Copy, Debug)]
struct Slot<C> {
    stream: usize,
    command: C,
    intended: Instant,
    issued: Instant,
}

/// Joins workloads and a target. Commands that are outstanding when a run ends stay so, and are
/// observed by the next.
#[derive(Debug)]
pub struct Runner<C> {
    slots: Vec<Option<Slot<C>>>,
    vacant: Vec<u32>,
    completions: Vec<Completion>,
    interrupt: Interrupt,
    hash: TraceHash,
}

impl<C: Operation> Runner<C> {
    /// A runner that stops when `interrupt` is requested.
    pub fn new(interrupt: Interrupt) -> Self {
        Self {
            slots: Vec::new(),
            vacant: Vec::new(),
            completions: Vec::new(),
            interrupt,
            hash: TraceHash::default(),
        }
    }

    /// Commands on their way.
    pub fn outstanding(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// The hash over every completion so far: kind, issue and completion time.
    pub fn trace_hash(&self) -> u64 {
        self.hash.value()
    }

    /// Runs until `deadline`, until the observer pauses it, or until the workloads are done and
    /// nothing is outstanding. Returns whether they are done.
    pub fn run_until<T, S, O>(
        &mut self,
        target: &mut T,
        streams: &mut S,
        observer: &mut O,
        deadline: Instant,
    ) -> Result<bool, RunError>
    where
        T: Target<Command = C> + ?Sized,
        S: Streams<Command = C>,
        O: Observer<C>,
    {
        loop {
            let now = target.now();
            if now >= deadline {
                return Ok(false);
            }
            if self.interrupt.requested() {
                return Err(RunError::Interrupted);
            }
            let (issued, next) = self.issue_due(target, streams, now)?;
            let until = target.now();
            if until.since(now) >= HELD_FROM.times(issued.max(1)) {
                observer.held(now, until);
            }
            let wake = match next {
                Next::Done if self.outstanding() == 0 => return Ok(true),
                Next::NotBefore(at) => at.min(deadline),
                _ => deadline,
            };
            self.reap(target, streams, observer, wake);
            if observer.pauses() {
                return Ok(false);
            }
        }
    }

    /// Issues everything that is due: how many commands, and what the workloads then wait for.
    #[inline]
    fn issue_due<T, S>(
        &mut self,
        target: &mut T,
        streams: &mut S,
        now: Instant,
    ) -> Result<(u64, Next<C>), RunError>
    where
        T: Target<Command = C> + ?Sized,
        S: Streams<Command = C>,
    {
        let mut issued = 0;
        loop {
            match streams.next(now) {
                (stream, Next::Issue { intended, command }) => {
                    debug_assert!(intended <= now, "a command is issued before its time");
                    if self.outstanding() >= WAITING_MAX {
                        return Err(RunError::Overloaded { outstanding: WAITING_MAX });
                    }
                    let tag = self.take_slot(Slot { stream, command, intended, issued: now });
                    if let Err(rejected) = target.submit(tag, command) {
                        self.release(tag);
                        return Err(rejected.into());
                    }
                    issued += 1;
                }
                (_, next) => {
                    while let Some(command) = streams.upcoming() {
                        target.prefetch(&command);
                    }
                    return Ok((issued, next));
                }
            }
        }
    }

    /// Waits for completions until `deadline` and passes them on.
    #[inline]
    fn reap<T, S, O>(
        &mut self,
        target: &mut T,
        streams: &mut S,
        observer: &mut O,
        deadline: Instant,
    ) where
        T: Target<Command = C> + ?Sized,
        S: Streams<Command = C>,
        O: Observer<C>,
    {
        let mut completions = std::mem::take(&mut self.completions);
        target.reap(deadline, &mut completions);
        for completion in completions.drain(..) {
            let slot = self.release(completion.tag);
            self.hash.word(slot.command.kind() as u64);
            self.hash.instant(slot.issued);
            self.hash.instant(completion.at);
            observer.observe(&Sample {
                stream: slot.stream,
                command: slot.command,
                intended: slot.intended,
                issued: slot.issued,
                completed: completion.at,
                status: completion.status,
            });
            streams.completed(slot.stream, &slot.command, completion.at);
        }
        self.completions = completions;
    }

    /// Lets time pass on an idle target until `deadline`.
    pub fn idle_until<T>(&mut self, target: &mut T, deadline: Instant) -> Result<(), RunError>
    where
        T: Target<Command = C> + ?Sized,
    {
        while target.now() < deadline {
            if self.interrupt.requested() {
                return Err(RunError::Interrupted);
            }
            let wake = deadline.min(target.now() + LOOK_EVERY);
            target.reap(wake, &mut self.completions);
        }
        Ok(())
    }

    /// Runs streams that issue nothing more until what is outstanding has ended.
    pub fn finish<T, S, O>(
        &mut self,
        target: &mut T,
        streams: &mut S,
        observer: &mut O,
    ) -> Result<(), RunError>
    where
        T: Target<Command = C> + ?Sized,
        S: Streams<Command = C>,
        O: Observer<C>,
    {
        let limit = target.now() + HUNG_AFTER;
        loop {
            // In steps, so that a request to stop is heard while the device says nothing.
            let until = target.now() + LOOK_EVERY;
            if self.run_until(target, streams, observer, until)? {
                return Ok(());
            }
            if until >= limit {
                let outstanding = self.outstanding();
                return Err(RunError::Hung { outstanding, limit: HUNG_AFTER });
            }
        }
    }

    /// Runs to the end, for preparations. After the first command that fails nothing more is
    /// issued, what is outstanding ends, and the failure is the answer.
    pub fn prepare<T, S>(&mut self, target: &mut T, streams: &mut S) -> Result<(), RunError>
    where
        T: Target<Command = C> + ?Sized,
        S: Streams<Command = C>,
    {
        let (failed, mut failure) = (Cell::new(false), None);
        let mut observer = |sample: &Sample<C>| {
            if let Status::Failed(errno) = sample.status {
                let operation = name_of(&sample.command);
                failure.get_or_insert(RunError::Failed { operation, errno });
                failed.set(true);
            }
        };
        let mut streams = UntilFailure { streams, failed: &failed };
        self.run_until(target, &mut streams, &mut observer, Instant::NEVER)?;
        failure.map_or(Ok(()), Err)
    }

    fn take_slot(&mut self, slot: Slot<C>) -> Tag {
        if let Some(index) = self.vacant.pop() {
            self.slots[index as usize] = Some(slot);
            Tag(index)
        } else {
            self.slots.push(Some(slot));
            Tag(narrow(self.slots.len() as u64 - 1))
        }
    }

    #[inline]
    fn release(&mut self, tag: Tag) -> Slot<C> {
        let slot = self.slots[tag.0 as usize].take();
        self.vacant.push(tag.0);
        slot.expect("a target completes each command once")
    }
}

/// A command's name for messages: the variant without its fields.
fn name_of<C: Operation>(command: &C) -> String {
    let text = format!("{command:?}");
    let end = text.find(['(', ' ', '{']).unwrap_or(text.len());
    text[..end].to_lowercase()
}
