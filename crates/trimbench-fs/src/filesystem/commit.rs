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

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Bytes, Errno, Instant, Model};
use trimbench_policy::{IssueDepth, Issuer, Sender};

use crate::commands::Slot;
use crate::config::Allocation;
use crate::discards::bytes;
use crate::extent::Extent;
use crate::journal::{Commit, merged, merged_as_freed};
use crate::kind::{BTRFS_GROUP, FsKind, Phase, sender};
use crate::lower::{Owner, Transfer};

use super::FileSystem;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// When the running transaction commits if nobody asks for it before.
    pub(super) fn commit_at(&self) -> Instant {
        if self.journal.committing.is_some() || self.journal.running.is_empty() {
            return Instant::NEVER;
        }
        self.journal.running.started + self.config.commit_interval
    }

    /// The running transaction is to commit.
    pub(super) fn want_commit(&mut self, now: Instant) {
        self.journal.wanted = self.journal.running.id;
        self.try_commit(now);
    }

    pub(super) fn await_commit(&mut self, slot: Slot, transaction: u32, now: Instant) {
        self.commit_waiters.push((transaction, slot));
        self.journal.wanted = self.journal.wanted.max(transaction);
        self.try_commit(now);
    }

    /// Commits the running transaction if it is to and none is being committed.
    pub(super) fn try_commit(&mut self, now: Instant) {
        let running = &self.journal.running;
        let due =
            running.id <= self.journal.wanted || self.journal.is_full() || self.commit_at() <= now;
        if self.journal.committing.is_some() || running.is_empty() || !due {
            return;
        }
        self.journal.rotate();
        let group_fs_blocks = self.layout.group_fs_blocks();
        let border = self.config.kind.border(group_fs_blocks);
        let commit = self.journal.committing.as_mut().expect("it has just begun");
        let freed = std::mem::take(&mut commit.transaction.freed);
        commit.transaction.freed = match self.config.allocation {
            Allocation::Linear => merged(freed, border),
            Allocation::ByIndex { .. } => merged_as_freed(&freed, group_fs_blocks),
        };
        self.advance_commit(now);
        for slot in std::mem::take(&mut self.handle_waiters) {
            self.step(slot, now);
        }
        self.write_back(now);
    }

    /// A write of ordered data ended.
    pub(super) fn ordered_ended(&mut self, transaction: u32, now: Instant) {
        if self.journal.running.id == transaction {
            self.journal.running.ordered -= 1;
            return;
        }
        let commit = self.journal.committing.as_mut().expect("a commit waits for its data");
        assert_eq!(commit.transaction.id, transaction, "a commit waits for its data");
        commit.transaction.ordered -= 1;
        self.advance_commit(now);
    }

    /// A device command of the commit ended.
    pub(super) fn commit_io_ended(&mut self, failure: Option<Errno>, now: Instant) {
        let commit = self.journal.committing.as_mut().expect("the commit waits for it");
        commit.io -= 1;
        let discarding = commit.discarded > 0;
        // A discard that fails costs the device's knowledge, not the filesystem's.
        self.aborted |= failure.is_some() && !discarding;
        self.advance_commit(now);
    }

    /// Goes on with the commit as far as nothing is to be waited for.
    pub(super) fn advance_commit(&mut self, now: Instant) {
        loop {
            let Some(commit) = &self.journal.committing else { return };
            if commit.io > 0 {
                return;
            }
            let length = self.journal.log_length(&commit.transaction);
            let phases = self.config.kind.phases(length);
            let Some(phase) = phases.get(commit.past) else { return self.end_commit(now) };
            let over = match phase {
                _ if length == 0 && *phase != Phase::Discards => true,
                Phase::Data => commit.transaction.ordered == 0,
                Phase::Room => self.makes_room(length, now),
                Phase::Log => self.write_log(length - phases_with_record(phases), now),
                Phase::Record => self.write_log(1, now),
                Phase::Flush => self.flush_commit(now),
                Phase::Discards => !self.discard_freed(now),
            };
            if !over {
                return;
            }
            if let Some(commit) = &mut self.journal.committing {
                commit.past += 1;
            }
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
        self.counters.journal_written += bytes(length);
        self.committing().io = sent;
        true
    }

    fn flush_commit(&mut self, now: Instant) -> bool {
        self.unflushed = false;
        self.lower.flush(now, Owner::Commit);
        self.committing().io = 1;
        true
    }

    fn committing(&mut self) -> &mut Commit {
        self.journal.committing.as_mut().expect("something commits")
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
        let commit = self.journal.committing.as_mut().expect("something commits");
        if let Some(since) = commit.sent_at.replace(now) {
            self.discards.took(now - since);
        }
        let left = &commit.transaction.freed[commit.discarded..];
        let most = depth.most().map_or(left.len(), |most| index(most.into()));
        let count = left.len().min(most);
        let extents = &left[..count];
        commit.io = self.lower.discard(now, Owner::Commit, extents, false);
        let counters = &mut self.discards.counters;
        counters.issued += u64::from(commit.io);
        counters.discarded += bytes(extents.iter().map(|extent| extent.length).sum());
        commit.discarded += count;
        if count == 0
            && let Some(extent) = commit.replaced.pop()
        {
            commit.io = self.lower.send(now, Owner::Commit, Transfer::Discard, extent);
            counters.issued += u64::from(commit.io);
            counters.discarded_beyond += bytes(extent.length);
        }
        commit.io > 0
    }

    /// What btrfs's commit has discarded is free at once.
    fn free_discarded(&mut self, now: Instant) {
        let commit = self.journal.committing.as_mut().expect("something commits");
        if self.config.discard != Some(Issuer::BtrfsSync) || commit.discarded == commit.given {
            return;
        }
        let extents = commit.transaction.freed[commit.given..commit.discarded].to_vec();
        commit.given = commit.discarded;
        for extent in extents {
            self.give_freed(extent);
        }
        self.space_came(now);
    }

    /// XFS: sends all discards of the checkpoint; `true` as long as some wait to be sent.
    fn discard_behind_log(&mut self, now: Instant) -> bool {
        let commit = self.journal.committing.as_mut().expect("something commits");
        if commit.given == 0 && !commit.transaction.freed.is_empty() {
            let extents = commit.transaction.freed.clone();
            commit.given = extents.len();
            let (_, sent) = self.send_batch(None, extents, now);
            self.discards.counters.issued += u64::from(sent);
        }
        self.is_submitting_online()
    }

    /// Whether a batch of freed extents waits to be submitted.
    pub(super) fn is_submitting_online(&self) -> bool {
        let mut batches = self.discards.online_batches();
        batches.any(|batch| self.lower.is_submitting(Owner::Batch(batch.id)))
    }

    /// A freed extent can be taken again.
    pub(super) fn give_freed(&mut self, extent: Extent) {
        self.allocator.give(extent);
        let size = self.layout.group_fs_blocks();
        for group in extent.start / size..extent.end().div_ceil(size) {
            self.trimmed[index(group)] = false;
        }
    }

    /// The worker is to discard an extent, some time.
    fn queue_discard(&mut self, extent: Extent, now: Instant) {
        if self.config.discard != Some(Issuer::BtrfsAsync) {
            return self.discards.push(extent, now);
        }
        let start = extent.start / BTRFS_GROUP * BTRFS_GROUP;
        let group = Extent::between(start, (start + BTRFS_GROUP).min(self.layout.total()));
        let empty = self.allocator.is_empty(group);
        if !self.discards.looks_at(start / BTRFS_GROUP) {
            return self.discards.push_delayed(extent, empty, now);
        }
        // Of a group that was never looked at all free space counts as untrimmed, whether it was
        // used before or not.
        let mut at = group.start;
        while let Some(run) = self.allocator.free_run(at, group.end()) {
            self.discards.counters.freed += bytes(run.length);
            self.discards.push_delayed(run, empty, now);
            at = run.end();
        }
        self.discards.counters.freed =
            Bytes(self.discards.counters.freed.0 - bytes(extent.length).0);
    }

    /// Freed space is free, and who waited for the commit goes on.
    fn end_commit(&mut self, now: Instant) {
        let given = self.committing().given;
        let transaction = self.journal.commit_ended(now);
        self.counters.commits += 1;
        self.discards.counters.freed += bytes(transaction.freed_total);
        self.discards.counters.freed_extents += transaction.freed.len() as u64;
        for &extent in &transaction.freed[given..] {
            self.give_freed(extent);
            match sender(self.config.discard) {
                _ if self.policy.is_some() => self.policy_frees(extent, now),
                None => self.discards.counters.dropped += bytes(extent.length),
                // All of them, once it is known which segments became free.
                Some(Sender::Worker) if self.config.kind == FsKind::F2fs => {}
                // Metadata are freed by transactions also where the caller discards data.
                Some(Sender::Worker | Sender::Caller) => self.queue_discard(extent, now),
                Some(_) => {}
            }
        }
        if self.config.kind == FsKind::F2fs {
            self.file_candidates(&transaction.freed, now);
        }
        self.arm_flusher(now);
        let waiters = std::mem::take(&mut self.commit_waiters);
        let (over, still): (Vec<_>, Vec<_>) =
            waiters.into_iter().partition(|(id, _)| *id <= transaction.id);
        self.commit_waiters = still;
        for (_, slot) in over {
            self.step(slot, now);
        }
        self.space_came(now);
        self.work_off_discards(now);
        self.try_commit(now);
        self.write_back(now);
    }
}

/// Blocks of the log that are written as a record, by themselves.
fn phases_with_record(phases: &[Phase]) -> u64 {
    u64::from(phases.contains(&Phase::Record))
}
