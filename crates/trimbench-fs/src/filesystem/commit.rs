//! The commit of a transaction, phase by phase.
//!
//! ```text
//! ordered data -> room in the log -> metadata -> flush -> commit record -> flush
//!              -> discards, where the commit sends them -> freed space can be taken
//!              -> who waited goes on
//! ```
//!
//! That is ext4's order; [`FsKind::phases`](crate::FsKind) has those of the others.
//! Freed extents of one transaction are merged with each other (by ext4 from Linux 6.17 on not
//! always), not with what is free around them; discards come in the order of addresses (in ext4 in
//! that of the frees).
//!
//! Who sends the discards of a commit, and who waits for what:
//!
//! - ext4 to 4.12: the commit, one after the other; ext4 4.13 to 5.14: the commit, all together.
//!   An fsync waits for all of them.
//! - XFS: whoever ends the write of the log sends all of them, and only then wakes who waits for
//!   it. The space is free when the last is done.
//! - btrfs `discard=sync`: the commit, one after the other, the tree blocks that it replaces too;
//!   the space of each is free when it is done. An fsync does not wait for a commit at all.
//! - f2fs: a thread, some time later; the space is free at the end of the checkpoint.
//!
//! Sources: fs/jbd2/commit.c; `ext4_process_freed_data` in fs/ext4/mballoc.c;
//! `xfs_discard_extents` in `fs/xfs/xfs_discard.c`; `btrfs_finish_extent_commit` in
//! fs/btrfs/extent-tree.c.

use trimbench_core::{BlockCommand, Instant, Model};
use trimbench_policy::{IssueDepth, Issuer, Sender};

use crate::commands::Slot;
use crate::kind::{FsKind, Phase};
use crate::lower::{Owner, Transfer};

use super::FileSystem;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn await_commit(&mut self, slot: Slot, transaction: u32, now: Instant) {
        self.journal.await_commit(slot, transaction);
        self.try_commit(now);
    }

    /// Commits the running transaction if it is to and none is being committed.
    pub(super) fn try_commit(&mut self, now: Instant) {
        if !self.journal.is_due(now) {
            return;
        }
        self.journal.begin_commit(self.config.allocation);
        self.advance_commit(now);
        for slot in self.journal.take_joiners() {
            self.step(slot, now);
        }
        self.write_back(now);
    }

    /// Goes on with the commit as far as nothing is to be waited for.
    pub(super) fn advance_commit(&mut self, now: Instant) {
        while let Some((phase, length)) = self.journal.phase() {
            let over = match phase {
                Phase::Data => !self.journal.awaits_data(),
                Phase::Room => self.makes_room(length, now),
                Phase::Log | Phase::Record => self.write_log(length, now),
                Phase::Flush => self.flush_commit(now),
                Phase::Discards => !self.discard_freed(now),
                Phase::End => return self.end_commit(now),
            };
            if !over {
                return;
            }
            self.journal.end_phase();
        }
    }

    /// Whether the log has room, which is made if not.
    fn makes_room(&mut self, length: u64, now: Instant) -> bool {
        if !self.journal.has_room(length) {
            let last = self.journal.oldest_making_room(length);
            self.start_checkpoint(last, now);
        }
        self.journal.has_room(length)
    }

    /// Always true: the next phase waits for what is under way.
    fn write_log(&mut self, length: u64, now: Instant) -> bool {
        let mut sent = 0;
        for extent in self.journal.log(length) {
            sent += self.lower.send(now, Owner::Commit, Transfer::Write, extent);
        }
        self.journal.commit().sent(sent);
        true
    }

    fn flush_commit(&mut self, now: Instant) -> bool {
        self.lower.take_unflushed();
        self.lower.flush(now, Owner::Commit);
        self.journal.commit().sent(1);
        true
    }

    /// Sends the next discards of the commit; `false` if there are none left to wait for.
    fn discard_freed(&mut self, now: Instant) -> bool {
        let Some(rule) = self.config.discard.map(Issuer::rule) else { return false };
        match rule.sender {
            Sender::Commit => self.discard_in_commit(rule.depth, now),
            Sender::LogCompletion => self.discard_behind_log(now),
            _ => false,
        }
    }

    fn discard_in_commit(&mut self, depth: IssueDepth, now: Instant) -> bool {
        self.free_discarded(now);
        let commit = self.journal.commit();
        if let Some(took) = commit.sends_discards(now) {
            self.discards.took(took);
        }
        let extents = commit.next_discards(depth);
        let none = extents.is_empty();
        let mut sent = self.lower.discard(now, Owner::Commit, extents, false);
        self.discards.count_sent(sent, extents.iter().map(|extent| extent.length).sum());
        if none && let Some(extent) = commit.next_replaced() {
            sent = self.lower.send(now, Owner::Commit, Transfer::Discard, extent);
            self.discards.count_beyond(sent, extent.length);
        }
        commit.sent(sent);
        sent > 0
    }

    /// What btrfs's commit has discarded is free at once.
    fn free_discarded(&mut self, now: Instant) {
        if self.config.discard != Some(Issuer::BtrfsSync) {
            return;
        }
        let extents = self.journal.commit().give_discarded();
        if extents.is_empty() {
            return;
        }
        for extent in extents {
            self.allocator.give_freed(extent);
        }
        self.space_came(now);
    }

    /// XFS: sends all discards of the checkpoint; `true` as long as some wait to be sent.
    fn discard_behind_log(&mut self, now: Instant) -> bool {
        let extents = self.journal.commit().give_all();
        if !extents.is_empty() {
            self.discards.send_batch(&mut self.lower, None, extents, now);
        }
        self.discards.is_submitting(&self.lower)
    }

    /// Freed space is free, and who waited for the commit goes on.
    fn end_commit(&mut self, now: Instant) {
        let commit = self.journal.commit_ended(now);
        self.discards.commit_ended(&commit, &self.config, &mut self.allocator, now);
        if self.config.kind == FsKind::F2fs {
            self.file_candidates(commit.freed(), now);
        }
        self.cache.arm_flusher(now);
        for slot in self.journal.take_committed() {
            self.step(slot, now);
        }
        self.space_came(now);
        self.work_off_discards(now);
        self.try_commit(now);
        self.write_back(now);
    }
}
