//! The state of a commit; `filesystem/commit.rs` takes it from phase to phase.

use trimbench_core::units::index;
use trimbench_core::{Errno, Instant, Nanos};
use trimbench_policy::IssueDepth;

use super::{Allocation, Committed, Journal, Phase, Transaction, merged, merged_as_freed};
use crate::commands::Slot;
use crate::extent::Extent;

/// A transaction that commits.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(super) transaction: Transaction,
    /// How many of its phases are over.
    past: usize,
    /// Device commands of this phase under way.
    io: u32,
    /// How many of the freed extents were discarded, or are being.
    discarded: usize,
    /// When the last of these went.
    sent_at: Option<Instant>,
    /// How many of them are somebody else's by now: free, or a batch of discards.
    given: usize,
    /// Tree blocks that it replaces and that are still to be discarded.
    replaced: Vec<Extent>,
}

impl Commit {
    pub(super) fn new(transaction: Transaction, replaced: Vec<Extent>) -> Self {
        Self { transaction, past: 0, io: 0, discarded: 0, sent_at: None, given: 0, replaced }
    }

    /// So many device commands of its phase are under way.
    pub(crate) fn sent(&mut self, io: u32) {
        self.io = io;
    }

    /// What it freed.
    pub(crate) fn freed(&self) -> &[Extent] {
        &self.transaction.freed
    }

    /// Blocks that were freed.
    pub(crate) fn freed_total(&self) -> u64 {
        self.transaction.freed_total
    }

    /// What it freed and nobody has yet.
    pub(crate) fn left(&self) -> &[Extent] {
        &self.transaction.freed[self.given..]
    }

    /// Gives away all that it freed.
    pub(crate) fn give_all(&mut self) -> Vec<Extent> {
        self.give(self.transaction.freed.len())
    }

    /// Gives away what was discarded.
    pub(crate) fn give_discarded(&mut self) -> Vec<Extent> {
        self.give(self.discarded)
    }

    fn give(&mut self, end: usize) -> Vec<Extent> {
        let given = std::mem::replace(&mut self.given, end);
        self.transaction.freed[given..end].to_vec()
    }

    /// The next of its discards go. Returns how long the last ones took.
    pub(crate) fn sends_discards(&mut self, now: Instant) -> Option<Nanos> {
        self.sent_at.replace(now).map(|since| now - since)
    }

    /// The extents that it discards next.
    pub(crate) fn next_discards(&mut self, depth: IssueDepth) -> &[Extent] {
        let left = &self.transaction.freed[self.discarded..];
        let count = depth.most().map_or(left.len(), |most| left.len().min(index(most.into())));
        self.discarded += count;
        &left[..count]
    }

    /// The tree block that it discards next.
    pub(crate) fn next_replaced(&mut self) -> Option<Extent> {
        self.replaced.pop()
    }
}

impl Journal {
    /// When the running transaction commits if nobody asks for it before.
    pub(crate) fn commit_at(&self) -> Instant {
        if self.committing.is_some() || self.running.is_empty() {
            return Instant::NEVER;
        }
        self.running.started + self.interval
    }

    /// Whether the running transaction is to commit, and can: none is being committed.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let wanted = self.running.id <= self.wanted;
        let due = wanted || self.is_full() || self.commit_at() <= now;
        self.committing.is_none() && self.has_changes() && due
    }

    /// The transactions up to this one are to commit.
    pub(crate) fn want(&mut self, transaction: u32) {
        self.wanted = self.wanted.max(transaction);
    }

    /// A command waits for the commit of a transaction.
    pub(crate) fn await_commit(&mut self, slot: Slot, transaction: u32) {
        self.waiters.push((transaction, slot));
        self.want(transaction);
    }

    /// The commands that waited for what is committed.
    pub(crate) fn take_committed(&mut self) -> Vec<Slot> {
        let waiters = std::mem::take(&mut self.waiters);
        let (over, still): (Vec<_>, Vec<_>) =
            waiters.into_iter().partition(|(id, _)| *id <= self.committed);
        self.waiters = still;
        over.into_iter().map(|(_, slot)| slot).collect()
    }

    /// A command waits for a transaction that has room.
    pub(crate) fn await_room(&mut self, slot: Slot) {
        self.joiners.push(slot);
    }

    /// The commands that waited for a transaction that has room.
    pub(crate) fn take_joiners(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.joiners)
    }

    /// The running transaction begins to commit; what it freed is merged.
    pub(crate) fn begin_commit(&mut self, allocation: Allocation) {
        self.rotate();
        let group_fs_blocks = self.layout.group_fs_blocks();
        let border = self.kind.border(group_fs_blocks);
        let transaction = &mut self.commit().transaction;
        let freed = std::mem::take(&mut transaction.freed);
        transaction.freed = match allocation {
            Allocation::Linear => merged(freed, border),
            Allocation::ByIndex { .. } => merged_as_freed(&freed, group_fs_blocks),
        };
    }

    /// A write of ordered data ended. Returns whether the commit may go on.
    pub(crate) fn ordered_ended(&mut self, transaction: u32) -> bool {
        let commits = self.running.id != transaction;
        let its = if commits { &mut self.commit().transaction } else { &mut self.running };
        assert_eq!(its.id, transaction, "a commit waits for its data");
        its.ordered -= 1;
        commits
    }

    /// A device command of the commit ended.
    pub(crate) fn commit_io_ended(&mut self, failure: Option<Errno>) {
        let commit = self.commit();
        commit.io -= 1;
        // A discard that fails costs the device's knowledge, not the filesystem's.
        let discarding = commit.discarded > 0;
        self.aborted |= failure.is_some() && !discarding;
    }

    /// The phase in which the commit can go on, and the blocks that are logged in it, or in all of
    /// the commit; `None` if there is none, or device commands are under way.
    pub(crate) fn phase(&self) -> Option<(Phase, u64)> {
        let commit = self.committing.as_ref().filter(|commit| commit.io == 0)?;
        let length = self.log_length(&commit.transaction);
        let phases = self.kind.phases(length);
        // The record is written by itself.
        let record = u64::from(phases.contains(&Phase::Record));
        let phase = phases.get(commit.past).copied().unwrap_or(Phase::End);
        let blocks = match phase {
            Phase::Log => length - record,
            Phase::Record => record,
            _ => length,
        };
        Some((phase, blocks))
    }

    /// The phase is over, or its device commands are under way.
    pub(crate) fn end_phase(&mut self) {
        if let Some(commit) = &mut self.committing {
            commit.past += 1;
        }
    }

    /// Whether the commit waits for data.
    pub(crate) fn awaits_data(&self) -> bool {
        self.committing.as_ref().is_some_and(|commit| commit.transaction.ordered > 0)
    }

    /// What commits.
    pub(crate) fn commit(&mut self) -> &mut Commit {
        self.committing.as_mut().expect("something commits")
    }

    /// The commit is over.
    pub(crate) fn commit_ended(&mut self, now: Instant) -> Commit {
        let mut commit = self.committing.take().expect("something commits");
        let log = self.log_length(&commit.transaction);
        let metadata = std::mem::take(&mut commit.transaction.metadata);
        let id = commit.transaction.id;
        self.committed = id;
        if self.kind.writes_in_place() {
            self.used -= log;
        } else {
            self.history.push_back(Committed { id, at: now, metadata, log });
        }
        commit
    }

    /// Blocks that were discarded, or are in a batch, of a transaction that does not count as freed
    /// yet.
    pub(crate) fn discarded_ahead(&self) -> u64 {
        let Some(commit) = &self.committing else { return 0 };
        let discarded = &commit.freed()[..commit.discarded.max(commit.given)];
        discarded.iter().map(|extent| extent.length).sum()
    }

    /// Blocks that a commit keeps from allocation while it discards.
    pub(crate) fn withheld(&self) -> u64 {
        let commit = self.committing.as_ref().filter(|commit| commit.discarded > 0);
        commit.into_iter().flat_map(Commit::left).map(|extent| extent.length).sum()
    }
}
