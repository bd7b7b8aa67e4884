//! Checkpoints: the metadata of committed transactions on their way to their places.

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Errno, Instant, Model};

use super::{Journal, merged};
use crate::commands::Slot;
use crate::extent::Extent;
use crate::layout::MetadataId;
use crate::lower::{Lower, Owner, Transfer};

/// What is being written, and what is to be.
#[derive(Debug, Default)]
pub(super) struct Checkpoint {
    /// Whether metadata are being written: those of the transactions up to `until`.
    under_way: bool,
    until: u32,
    wanted: u32,
    /// What is to be sent, the last first.
    queue: Vec<Extent>,
    /// Writes under way.
    io: u32,
    /// Blocks of all checkpoints.
    written: u64,
    /// Commands that wait for the last one that is wanted.
    waiters: Vec<Slot>,
}

impl Journal {
    /// Whether the metadata of all committed transactions are in their places.
    pub(crate) fn is_checkpointed(&self) -> bool {
        self.history.is_empty()
    }

    /// The last transaction that was committed by `at` and whose metadata are not in their places.
    pub(crate) fn committed_by(&self, at: Instant) -> Option<u32> {
        let old = self.history.iter().take_while(|committed| committed.at <= at);
        old.last().map(|committed| committed.id)
    }

    /// Blocks of metadata that were written to their places.
    pub(crate) fn checkpoint_written(&self) -> u64 {
        self.checkpoint.written
    }

    /// A command waits for the checkpoint that is about to be wanted.
    pub(crate) fn await_checkpoint(&mut self, slot: Slot) {
        self.checkpoint.waiters.push(slot);
    }

    /// The commands that waited for the checkpoint.
    pub(crate) fn take_checkpointed(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.checkpoint.waiters)
    }

    /// The metadata of the transactions up to `last` are to be written. Returns whether that can
    /// begin: nothing is being written.
    pub(crate) fn want_checkpoint(&mut self, last: u32) -> bool {
        self.checkpoint.wanted = self.checkpoint.wanted.max(last);
        !self.checkpoint.under_way
    }

    /// Begins a checkpoint of all that is wanted.
    fn begin_checkpoint<M: Model<Command = BlockCommand>>(&mut self, lower: &mut Lower<M>) {
        let until = self.checkpoint.wanted;
        let place = |id| Extent::new(self.layout.address(id), 1);
        let places = self.to_checkpoint(until).into_iter().map(place).collect();
        let mut queue = merged(places, Some(self.layout.group_fs_blocks()));
        queue.reverse();
        let total: u64 = queue.iter().map(|extent| extent.length).sum();
        if total > 0 {
            lower.note_written();
        }
        let its = &mut self.checkpoint;
        (its.under_way, its.until, its.queue) = (true, until, queue);
        its.written += total;
    }

    /// Sends as much of the checkpoint as may be under way. Returns whether all that is wanted is
    /// written.
    pub(crate) fn send_checkpoint<M: Model<Command = BlockCommand>>(
        &mut self,
        lower: &mut Lower<M>,
        depth: u32,
        now: Instant,
    ) -> bool {
        loop {
            if !self.checkpoint.under_way {
                self.begin_checkpoint(lower);
            }
            let its = &mut self.checkpoint;
            while its.io < depth
                && let Some(extent) = its.queue.pop()
            {
                its.io += lower.send(now, Owner::Checkpoint, Transfer::Write, extent);
            }
            if its.io > 0 {
                return false;
            }
            its.under_way = false;
            let Checkpoint { until, wanted, .. } = *its;
            self.checkpointed(until);
            if wanted <= until {
                return true;
            }
        }
    }

    /// A write of the checkpoint ended.
    pub(crate) fn checkpoint_io_ended(&mut self, failure: Option<Errno>) {
        self.aborted |= failure.is_some();
        self.checkpoint.io -= 1;
    }

    /// The metadata blocks of the transactions up to `last` that no later one holds.
    pub(super) fn to_checkpoint(&self, last: u32) -> Vec<MetadataId> {
        let due = self.history.iter().take_while(|committed| committed.id <= last);
        due.flat_map(|committed| {
            let mine =
                |metadata: &&MetadataId| self.holder[index((**metadata).into())] == committed.id;
            committed.metadata.iter().filter(mine).copied()
        })
        .collect()
    }

    /// The metadata of the transactions up to `last` are in their places: the log may overwrite
    /// them.
    pub(super) fn checkpointed(&mut self, last: u32) {
        while self.history.front().is_some_and(|committed| committed.id <= last) {
            let committed = self.history.pop_front().expect("there is a first");
            self.used -= committed.log;
        }
    }
}
