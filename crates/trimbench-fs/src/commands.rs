//! The caller's commands in flight, and the state of their steps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trimbench_core::slab::Slab;
use trimbench_core::{Completion, Errno, FileCommand, Instant, Rejected, Status, Tag};

use crate::extent::Extent;

/// Where a command is kept.
pub(crate) type Slot = u32;

/// What became of a step of a command: it is over, or why it is not over well.
pub(crate) type Progress = Result<(), Stop>;

/// Why a command is not over well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It is not over: it will be stepped again.
    Waits,
    /// It is over, and failed.
    Failed(Errno),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::Failed(errno)
    }
}

/// What a caller asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    File(FileCommand),
    Mount,
    Unmount,
}

/// How far a command has come. Not every command passes every stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It has not begun.
    Start,
    /// Blocks are read that it changes in part.
    Edges,
    /// Its data move.
    Moving,
    /// It was delayed, because much is dirty.
    Delayed,
    /// Dirty data are written back.
    WritingBack,
    /// A log tree is written.
    Logging,
    /// The device is flushed before the superblock that names it is written.
    Recording,
    /// A transaction commits, or the superblock is written.
    Committing,
    /// Metadata are written to their places.
    Checkpointing,
    /// The device is flushed.
    Flushing,
    /// The last discards end.
    Discarding,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) tag: Tag,
    pub(crate) task: Task,
    pub(crate) stage: Stage,
    /// Device commands under way for it.
    pub(crate) io: u32,
    pub(crate) failure: Option<Errno>,
    /// Where it is: a byte of the file, or a block of the filesystem.
    pub(crate) at: u64,
    pub(crate) end: u64,
    /// What it withholds from allocation meanwhile.
    pub(crate) withheld: Option<Extent>,
}

#[derive(Debug, Default)]
pub(crate) struct Commands {
    all: Slab<Command>,
    /// Those that go on then, in the order of time, then of sequence.
    due: BinaryHeap<Reverse<(Instant, u64, Slot)>>,
    sequence: u64,
    completions: Vec<Completion>,
}

impl Commands {
    pub(crate) fn add(&mut self, tag: Tag, task: Task) -> Slot {
        self.all.add(Command {
            tag,
            task,
            stage: Stage::Start,
            io: 0,
            failure: None,
            at: 0,
            end: 0,
            withheld: None,
        })
    }

    pub(crate) fn get(&mut self, slot: Slot) -> &mut Command {
        self.all.get(slot)
    }

    pub(crate) fn set_stage(&mut self, slot: Slot, stage: Stage) {
        self.get(slot).stage = stage;
    }

    /// A command moves data: these bytes.
    pub(crate) fn begin_moving(&mut self, slot: Slot, bytes: Extent) {
        let command = self.get(slot);
        command.stage = Stage::Moving;
        (command.at, command.end) = (bytes.start, bytes.end());
    }

    /// A command is over; returns what it was.
    pub(crate) fn end(&mut self, slot: Slot, status: Status, at: Instant) -> Task {
        let Command { tag, task, .. } = self.all.remove(slot);
        self.completions.push(Completion { tag, at, status });
        task
    }

    /// Moves the completions of the commands that are over to `out`.
    pub(crate) fn take_completions(&mut self, out: &mut Vec<Completion>) {
        out.append(&mut self.completions);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Command> {
        self.all.iter()
    }

    pub(crate) fn outstanding(&self) -> u64 {
        self.all.count()
    }

    pub(crate) fn schedule(&mut self, at: Instant, slot: Slot) {
        self.sequence += 1;
        self.due.push(Reverse((at, self.sequence, slot)));
    }

    /// When the next command goes on; never while none is to.
    pub(crate) fn next_at(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse((at, _, _))| *at)
    }

    pub(crate) fn take_due(&mut self, at: Instant) -> Option<Slot> {
        let Reverse((due, _, slot)) = *self.due.peek()?;
        (due <= at).then(|| {
            self.due.pop();
            slot
        })
    }
}

/// How a command ended after this step; `None` if it did not.
pub(crate) fn status_after(progress: Progress) -> Option<Status> {
    match progress {
        Ok(()) => Some(Status::Done),
        Err(Stop::Failed(errno)) => Some(Status::Failed(errno)),
        Err(Stop::Waits) => None,
    }
}

/// Over, as what it waited for ended.
pub(crate) fn ended(failure: Option<Errno>) -> Progress {
    failure.map_or(Ok(()), |errno| Err(errno.into()))
}

/// Fails with `errno` unless `holds`.
pub(crate) fn require(holds: bool, errno: Errno) -> Progress {
    if holds { Ok(()) } else { Err(errno.into()) }
}

/// Refuses transfers of nothing, and beyond the largest file.
pub(crate) fn check_transfer(offset: u64, length: u64, size_max: u64) -> Result<(), Rejected> {
    let end = offset.checked_add(length).filter(|end| length > 0 && *end <= size_max);
    end.map(|_| ()).ok_or(Rejected::Kernel { errno: Errno::EINVAL })
}
