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

use trimbench_core::{BlockCommand, FileId, Instant, Model};

use crate::commands::{Progress, Slot, Stage, Stop, Task, ended};
use crate::extent::Extent;
use crate::kind::{FsKind, Journaling, TREE_BLOCK};
use crate::lower::{Owner, Transfer};

use super::FileSystem;

/// Blocks of the log tree of btrfs that an fsync writes: a leaf and a root, twice each (as seen on
/// Linux 6.18).
const LOG_TREE: u64 = 2 * 2;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn fsync(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        if stage < Stage::Logging {
            self.files.existing(id)?;
            self.names.keep_open(id, &mut self.files, &mut self.allocator);
            self.commands.set_stage(slot, Stage::WritingBack);
            self.clean(slot, id, now)?;
            let transaction = self.files[id].transaction;
            if transaction <= self.journal.committed() {
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
                self.commands.set_stage(slot, Stage::Committing);
                self.await_commit(slot, transaction, now);
                return Err(Stop::Waits);
            }
        }
        if self.makes_durable(slot, now) {
            return Err(Stop::Waits);
        }
        let lost = self.files[id].pages.take_failure();
        ended(self.commands.get(slot).failure.or(lost).or(self.journal.failure()))
    }

    /// What is left to do of an fsync after its first wait; `false` if nothing is.
    fn makes_durable(&mut self, slot: Slot, now: Instant) -> bool {
        let without_journal = self.config.journaling == Journaling::None;
        match self.commands.get(slot).stage {
            // The log tree, a flush, the superblock that names it, a flush.
            Stage::Logging => {
                self.commands.set_stage(slot, Stage::Recording);
                // For this command alone: others that need a flush send their own.
                self.lower.flush(now, Owner::Command(slot));
                self.commands.get(slot).io = 1;
                true
            }
            Stage::Recording => {
                self.write_for(slot, 0, Stage::Committing, now);
                true
            }
            Stage::Committing if self.config.kind.writes_in_place() => self.flush(slot, now),
            Stage::Committing if without_journal && !self.journal.is_checkpointed() => {
                self.commands.set_stage(slot, Stage::Checkpointing);
                self.await_checkpoint(slot, now);
                true
            }
            Stage::Checkpointing => self.flush(slot, now),
            _ => false,
        }
    }

    /// Writes so many tree blocks of btrfs, or none of them but a superblock, or a node block of
    /// f2fs.
    fn write_for(&mut self, slot: Slot, trees: u64, stage: Stage, now: Instant) {
        self.commands.set_stage(slot, stage);
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
        self.lower.note_written();
    }

    pub(super) fn sync(&mut self, slot: Slot, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        if stage == Stage::Start {
            self.commands.set_stage(slot, Stage::WritingBack);
            self.cache.await_sync(slot);
            self.write_back(now);
            return Err(Stop::Waits);
        }
        if stage <= Stage::WritingBack {
            self.commands.set_stage(slot, Stage::Committing);
            if let Some(last) = self.journal.uncommitted() {
                self.await_commit(slot, last, now);
                return Err(Stop::Waits);
            }
        }
        if stage <= Stage::Committing {
            self.commands.set_stage(slot, Stage::Checkpointing);
            // A sync of XFS leaves metadata to be written later.
            let writes =
                self.config.kind != FsKind::Xfs || self.commands.get(slot).task == Task::Unmount;
            if writes && !self.journal.is_checkpointed() {
                self.await_checkpoint(slot, now);
                return Err(Stop::Waits);
            }
        }
        if stage <= Stage::Checkpointing && self.flush(slot, now) {
            return Err(Stop::Waits);
        }
        let failure = self.commands.get(slot).failure;
        ended(failure.or(self.journal.failure()))
    }

    pub(super) fn unmount_step(&mut self, slot: Slot, now: Instant) -> Progress {
        if self.commands.get(slot).stage < Stage::Discarding {
            // What failed is told at the end.
            if self.sync(slot, now) == Err(Stop::Waits) {
                return Err(Stop::Waits);
            }
            self.commands.set_stage(slot, Stage::Discarding);
            // Before it is given up: what is given back waits for the policy, too.
            self.names.forget_opened();
            self.allocator.release_all();
            if !self.end_discards(slot, now) {
                return Err(Stop::Waits);
            }
        }
        self.allocator.mounted();
        let all: Vec<FileId> = self.files.iter().map(|(id, _)| id).collect();
        for id in all {
            let file = &mut self.files[id];
            if let Some(inode) = &mut file.inode {
                inode.open = false;
            }
            self.cache.forget(file, Extent::between(0, u64::MAX), &mut self.allocator);
        }
        let failure = self.commands.get(slot).failure;
        ended(failure.or(self.journal.failure()))
    }

    pub(super) fn mount_step(&mut self, slot: Slot, now: Instant) -> Progress {
        let command = *self.commands.get(slot);
        if command.stage == Stage::Moving {
            return ended(command.failure);
        }
        self.commands.set_stage(slot, Stage::Moving);
        let (owner, descriptors) = (Owner::Command(slot), self.journal.layout.descriptors());
        let read = self.lower.send(now, owner, Transfer::Read, Extent::new(0, 1 + descriptors));
        let written = self.lower.send(now, owner, Transfer::Write, Extent::new(0, 1));
        self.commands.get(slot).io = read + written;
        Err(Stop::Waits)
    }

    /// A command waits until the metadata of all that is committed are in their places.
    fn await_checkpoint(&mut self, slot: Slot, now: Instant) {
        self.journal.await_checkpoint(slot);
        self.start_checkpoint(self.journal.committed(), now);
    }

    /// Writes the metadata of the transactions up to `last` to their places.
    pub(super) fn start_checkpoint(&mut self, last: u32, now: Instant) {
        if self.journal.want_checkpoint(last) {
            self.send_checkpoint(now);
        }
    }

    /// Goes on with the checkpoint, after one of its writes ended.
    pub(super) fn send_checkpoint(&mut self, now: Instant) {
        if !self.journal.send_checkpoint(&mut self.lower, self.config.write_back_depth, now) {
            return;
        }
        for slot in self.journal.take_checkpointed() {
            self.step(slot, now);
        }
        self.advance_commit(now);
    }

    /// Flushes the device for a command; `false` if nothing was written since the last flush.
    fn flush(&mut self, slot: Slot, now: Instant) -> bool {
        if !self.lower.take_unflushed() {
            return false;
        }
        self.commands.set_stage(slot, Stage::Flushing);
        self.lower.flush(now, Owner::Command(slot));
        self.commands.get(slot).io = 1;
        true
    }
}
