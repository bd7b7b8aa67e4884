//! The commit of a transaction, phase by phase.
//!
//! ```text
//! ordered data -> room in the log -> descriptors and metadata -> flush -> commit record -> flush
//!              -> discards (in-commit only) -> freed space can be taken -> who waited goes on
//! ```
//!
//! The commit record is a write between two flushes: what jbd2 sends a device without FUA. Freed
//! extents of one transaction are merged with each other (from Linux 6.17 on not always), not with
//! what is free around them, and never across groups; discards come in the order of addresses (in
//! ext4 in that of the frees).
//! Source: fs/jbd2/commit.c; `ext4_process_freed_data` in fs/ext4/mballoc.c.

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Errno, Instant, Model};

use crate::commands::Slot;
use crate::config::Allocation;
use crate::discard_path::DiscardSender;
use crate::discards::bytes;
use crate::journal::{Phase, merged, merged_as_freed};
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
        let commit = self.journal.committing.as_mut().expect("it has just begun");
        let freed = std::mem::take(&mut commit.transaction.freed);
        commit.transaction.freed = match self.config.allocation {
            Allocation::Linear => merged(freed, group_fs_blocks),
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
        let discarding = commit.phase == Phase::Discards && commit.discarded > 0;
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
            let length = commit.transaction.log_length();
            match commit.phase {
                Phase::Data if commit.transaction.ordered > 0 => return,
                Phase::Data => self.set_phase(Phase::Room),
                Phase::Room if self.journal.has_room(length) => self.set_phase(Phase::Log),
                Phase::Room => {
                    let last = self.journal.oldest_making_room(length);
                    self.start_checkpoint(last, now);
                    if !self.journal.has_room(length) {
                        return;
                    }
                }
                Phase::Log => self.write_log(length - 1, Phase::FlushBefore, now),
                Phase::FlushBefore => self.flush_commit(Phase::Record, now),
                Phase::Record => self.write_log(1, Phase::FlushAfter, now),
                Phase::FlushAfter => self.flush_commit(Phase::Discards, now),
                Phase::Discards => {
                    if !self.discard_next(now) {
                        return self.end_commit(now);
                    }
                }
            }
        }
    }

    fn set_phase(&mut self, phase: Phase) {
        self.journal.committing.as_mut().expect("something commits").phase = phase;
    }

    fn write_log(&mut self, length: u64, next: Phase, now: Instant) {
        let mut sent = 0;
        for extent in self.journal.log(length) {
            sent += self.lower.send(now, Owner::Commit, Transfer::Write, extent);
        }
        self.counters.journal_written += bytes(length);
        let commit = self.journal.committing.as_mut().expect("something commits");
        commit.io = sent;
        commit.phase = next;
    }

    fn flush_commit(&mut self, next: Phase, now: Instant) {
        self.unflushed = false;
        self.lower.flush(now, Owner::Commit);
        let commit = self.journal.committing.as_mut().expect("something commits");
        commit.io = 1;
        commit.phase = next;
    }

    /// Discards the next freed extent within the commit; `false` if there is none to.
    fn discard_next(&mut self, now: Instant) -> bool {
        let commit = self.journal.committing.as_mut().expect("something commits");
        if self.config.discard.rule().sender != DiscardSender::Commit {
            return false;
        }
        let Some(&extent) = commit.transaction.freed.get(commit.discarded) else { return false };
        commit.discarded += 1;
        commit.io = self.lower.send(now, Owner::Commit, Transfer::Discard, extent);
        let counters = &mut self.discards.counters;
        counters.issued += u64::from(commit.io);
        counters.discarded += bytes(extent.length);
        true
    }

    /// Freed space is free, and who waited for the commit goes on.
    fn end_commit(&mut self, now: Instant) {
        let transaction = self.journal.commit_ended(now);
        self.counters.commits += 1;
        self.discards.counters.freed += bytes(transaction.freed_total);
        self.discards.counters.freed_extents += transaction.freed.len() as u64;
        for &extent in &transaction.freed {
            self.allocator.give(extent);
            self.trimmed[index(extent.start / self.layout.group_fs_blocks())] = false;
            match self.config.discard.rule().sender {
                _ if self.policy.is_some() => self.policy_frees(extent, now),
                DiscardSender::Nobody => self.discards.counters.dropped += bytes(extent.length),
                DiscardSender::Commit => {}
                DiscardSender::Worker => self.discards.push(extent),
            }
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
