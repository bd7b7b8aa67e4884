//! Operations on the whole filesystem, or on much of it: fsync, sync, checkpoint, unmount and
//! mount.
//!
//! An fsync writes back its file, waits for the commit of the last transaction that changed it, and
//! flushes the device if no commit did. On btrfs it writes a log tree and the superblock instead
//! and waits for no commit, on f2fs a node block; without a journal it writes the metadata to their
//! places. A sync writes
//! back everything that was dirty when it began, commits, writes metadata to their places (not on
//! XFS), and flushes. An unmount is a sync, after which the worker's remaining discards are
//! dropped, except the one in flight; those of XFS are awaited, and f2fs discards for 5 s more. A
//! mount reads the group descriptors and writes the superblock.
//!
//! Simplified: the log's tail moves without a flush of its own; lazy initialisation has been done.

use trimbench_core::{BlockCommand, Errno, FileId, Instant, Model};
use trimbench_policy::Issuer;

use crate::commands::{Progress, Slot, Stage, Stop, Task, ended};
use crate::discards::bytes;
use crate::extent::Extent;
use crate::journal::merged;
use crate::kind::{FsKind, Journaling, TREE_BLOCK};
use crate::lower::{Owner, Transfer};

use super::FileSystem;

/// Blocks of the log tree of btrfs that an fsync writes: a leaf and a root, twice each (as seen on
/// Linux 6.18).
const LOG_TREE: u64 = 2 * 2;

/// Metadata on their way to their places.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// The last transaction whose metadata are being written; `None` when none are.
    until: Option<u32>,
    wanted: u32,
    /// What is to be sent, the last first.
    queue: Vec<Extent>,
    /// Writes under way.
    io: u32,
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn fsync(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        if stage < Stage::Logging {
            self.existing(id)?;
            self.keep_open(id);
            self.set_stage(slot, Stage::WritingBack);
            self.clean(slot, id, now)?;
            let transaction = self.files[id].transaction;
            if transaction <= self.journal.committed {
                if self.flush(slot, now) {
                    return Err(Stop::Waits);
                }
            } else if self.config.kind == FsKind::Btrfs {
                self.write_for(slot, LOG_TREE, Stage::Logging, now);
                return Err(Stop::Waits);
            } else if self.config.kind == FsKind::F2fs {
                // Its node block, marked for recovery; the checkpoint comes later.
                self.write_for(slot, 0, Stage::Committing, now);
                return Err(Stop::Waits);
            } else {
                self.set_stage(slot, Stage::Committing);
                self.await_commit(slot, transaction, now);
                return Err(Stop::Waits);
            }
        }
        if self.makes_durable(slot, now) {
            return Err(Stop::Waits);
        }
        let lost = self.file(id).write_error.take();
        ended(self.commands.get(slot).failure.or(lost).or(self.failure()))
    }

    /// What is left to do of an fsync after its first wait; `false` if nothing is.
    fn makes_durable(&mut self, slot: Slot, now: Instant) -> bool {
        let without_journal = self.config.journaling == Journaling::None;
        match self.commands.get(slot).stage {
            // The log tree, a flush, the superblock that names it, a flush.
            Stage::Logging => {
                self.set_stage(slot, Stage::Recording);
                self.lower.flush(now, Owner::Command(slot));
                self.commands.get(slot).io = 1;
                true
            }
            Stage::Recording => {
                self.write_for(slot, 0, Stage::Committing, now);
                true
            }
            Stage::Committing if self.config.kind.writes_in_place() => self.flush(slot, now),
            Stage::Committing if without_journal && !self.journal.history.is_empty() => {
                self.set_stage(slot, Stage::Checkpointing);
                self.checkpoint_waiters.push(slot);
                self.start_checkpoint(self.journal.committed, now);
                true
            }
            Stage::Checkpointing => self.flush(slot, now),
            _ => false,
        }
    }

    /// Writes so many tree blocks of btrfs, or none of them but a superblock, or a node block of
    /// f2fs.
    fn write_for(&mut self, slot: Slot, trees: u64, stage: Stage, now: Instant) {
        self.set_stage(slot, stage);
        let place = self.journal.region()[0];
        let mut sent = 0;
        for at in 0..trees.max(1) {
            // Apart from each other, as trees are.
            let start = place.start + at * 2 * TREE_BLOCK % place.length;
            let length = if trees > 0 { TREE_BLOCK } else { 1 };
            let block = Extent::new(start, length.min(place.end() - start));
            sent += self.lower.send(now, Owner::Command(slot), Transfer::Write, block);
        }
        self.commands.get(slot).io = sent;
        self.unflushed = true;
    }

    pub(super) fn sync(&mut self, slot: Slot, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        if stage == Stage::Start {
            self.set_stage(slot, Stage::WritingBack);
            self.sync_until = self.cache.latest_order();
            self.sync_waiters.push(slot);
            self.write_back(now);
            return Err(Stop::Waits);
        }
        if stage <= Stage::WritingBack {
            self.set_stage(slot, Stage::Committing);
            if let Some(last) = self.last_transaction() {
                self.await_commit(slot, last, now);
                return Err(Stop::Waits);
            }
        }
        if stage <= Stage::Committing {
            self.set_stage(slot, Stage::Checkpointing);
            // A sync of XFS leaves metadata to be written later.
            let writes =
                self.config.kind != FsKind::Xfs || self.commands.get(slot).task == Task::Unmount;
            if writes && !self.journal.history.is_empty() {
                self.checkpoint_waiters.push(slot);
                self.start_checkpoint(self.journal.committed, now);
                return Err(Stop::Waits);
            }
        }
        if stage <= Stage::Checkpointing && self.flush(slot, now) {
            return Err(Stop::Waits);
        }
        let failure = self.commands.get(slot).failure;
        ended(failure.or(self.failure()))
    }

    /// The last transaction that is not committed.
    pub(super) fn last_transaction(&self) -> Option<u32> {
        let committing = self.journal.committing.as_ref().map(|commit| commit.transaction.id);
        let running = &self.journal.running;
        if running.is_empty() { committing } else { Some(running.id) }
    }

    pub(super) fn unmount_step(&mut self, slot: Slot, now: Instant) -> Progress {
        if self.commands.get(slot).stage < Stage::Discarding {
            // What failed is told at the end.
            if self.sync(slot, now) == Err(Stop::Waits) {
                return Err(Stop::Waits);
            }
            self.set_stage(slot, Stage::Discarding);
            // Before it is given up: what is given back waits for the policy, too.
            self.opened.clear();
            self.allocator.release_all();
            if self.config.discard == Some(Issuer::F2fs) {
                self.stop_thread(now);
            } else {
                self.give_up_discards();
            }
            self.discards.forget_groups();
            self.policy_gives_up();
            if !self.discards.is_idle() || self.policy_withholds() > 0 {
                self.unmounting = Some(slot);
                return Err(Stop::Waits);
            }
        }
        self.trimmed.fill(false);
        self.allocator.forget_touched();
        let all: Vec<FileId> = self.files.iter().map(|(id, _)| id).collect();
        for id in all {
            if let Some(inode) = &mut self.file(id).inode {
                inode.open = false;
            }
            self.forget_pages(id, Extent::between(0, u64::MAX));
        }
        let failure = self.commands.get(slot).failure;
        ended(failure.or(self.failure()))
    }

    /// What waits for a discard will not get one.
    pub(super) fn give_up_discards(&mut self) {
        let dropped = self.discards.drop_pending();
        self.discards.counters.dropped_at_unmount += bytes(dropped);
        self.discards.untrimmed.clear();
        // f2fs notes on the device that everything was discarded (`CP_TRIMMED_FLAG`).
        self.thread.knows_free &= dropped == 0 && self.config.discard.is_some();
    }

    pub(super) fn mount_step(&mut self, slot: Slot, now: Instant) -> Progress {
        let command = *self.commands.get(slot);
        if command.stage == Stage::Moving {
            return ended(command.failure);
        }
        self.set_stage(slot, Stage::Moving);
        let (owner, descriptors) = (Owner::Command(slot), self.layout.descriptors());
        let read = self.lower.send(now, owner, Transfer::Read, Extent::new(0, 1 + descriptors));
        let written = self.lower.send(now, owner, Transfer::Write, Extent::new(0, 1));
        self.commands.get(slot).io = read + written;
        Err(Stop::Waits)
    }

    /// Writes the metadata of the transactions up to `last` to their places.
    pub(super) fn start_checkpoint(&mut self, last: u32, now: Instant) {
        self.checkpoint.wanted = self.checkpoint.wanted.max(last);
        if self.checkpoint.until.is_none() {
            self.begin_checkpoint(now);
        }
    }

    pub(super) fn checkpoint_io_ended(&mut self, failure: Option<Errno>, now: Instant) {
        self.aborted |= failure.is_some();
        self.checkpoint.io -= 1;
        self.send_checkpoint(now);
    }

    fn begin_checkpoint(&mut self, now: Instant) {
        let until = self.checkpoint.wanted;
        self.checkpoint.until = Some(until);
        let place = |id| Extent::new(self.layout.address(id), 1);
        let places = self.journal.to_checkpoint(until).into_iter().map(place).collect();
        let mut extents = merged(places, Some(self.layout.group_fs_blocks()));
        let total: u64 = extents.iter().map(|extent| extent.length).sum();
        self.counters.checkpoint_written += bytes(total);
        self.unflushed |= total > 0;
        extents.reverse();
        self.checkpoint.queue = extents;
        self.send_checkpoint(now);
    }

    fn send_checkpoint(&mut self, now: Instant) {
        while self.checkpoint.io < self.config.write_back_depth
            && let Some(extent) = self.checkpoint.queue.pop()
        {
            self.checkpoint.io += self.lower.send(now, Owner::Checkpoint, Transfer::Write, extent);
        }
        if self.checkpoint.io > 0 {
            return;
        }
        let Some(until) = self.checkpoint.until.take() else { return };
        self.journal.checkpointed(until);
        if self.checkpoint.wanted > until {
            self.begin_checkpoint(now);
            return;
        }
        for slot in std::mem::take(&mut self.checkpoint_waiters) {
            self.step(slot, now);
        }
        self.advance_commit(now);
    }

    /// Flushes the device for a command; `false` if nothing was written since the last flush.
    fn flush(&mut self, slot: Slot, now: Instant) -> bool {
        if !self.unflushed {
            return false;
        }
        self.unflushed = false;
        self.set_stage(slot, Stage::Flushing);
        self.lower.flush(now, Owner::Command(slot));
        self.commands.get(slot).io = 1;
        true
    }

    /// What waits for the journal fails with, once it could not be written.
    fn failure(&self) -> Option<Errno> {
        self.aborted.then_some(Errno::EIO)
    }
}
