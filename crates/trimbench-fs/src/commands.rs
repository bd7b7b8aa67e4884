//! The caller's commands that have not ended.

use trimbench_core::units::{index, narrow};
use trimbench_core::{Errno, FileCommand, Tag};

use crate::extent::Extent;

/// Where a command is kept.
pub(crate) type Slot = u32;

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
    /// A transaction commits.
    Committing,
    /// Metadata are written to their places.
    Checkpointing,
    /// The device is flushed.
    Flushing,
    /// The last discards end.
    Discarding,
}

/// A command that has not ended.
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
    /// Where in the file it ends.
    pub(crate) end: u64,
    /// What it withholds from allocation meanwhile.
    pub(crate) withheld: Option<Extent>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    slots: Vec<Option<Command>>,
    unused: Vec<Slot>,
}

impl Commands {
    pub(crate) fn add(&mut self, tag: Tag, task: Task) -> Slot {
        let command = Command {
            tag,
            task,
            stage: Stage::Start,
            io: 0,
            failure: None,
            at: 0,
            end: 0,
            withheld: None,
        };
        if let Some(slot) = self.unused.pop() {
            self.slots[index(slot.into())] = Some(command);
            return slot;
        }
        self.slots.push(Some(command));
        narrow(self.slots.len() as u64 - 1)
    }

    pub(crate) fn get(&mut self, slot: Slot) -> &mut Command {
        self.slots[index(slot.into())].as_mut().expect("a slot is used until its command ends")
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Command {
        self.unused.push(slot);
        self.slots[index(slot.into())].take().expect("a command ends once")
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Command> {
        self.slots.iter().flatten()
    }

    pub(crate) fn outstanding(&self) -> u64 {
        (self.slots.len() - self.unused.len()) as u64
    }
}
