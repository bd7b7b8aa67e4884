//! What becomes of freed space: who discards it, and the account of it.
//!
//! Conservation: freed = discarded + pending + dropped + reused, in blocks that were freed. What
//! the unclipped worker discards beyond the freed extent is counted separately.
//!
//! Each way to discard has its file: the worker of ext4 and btrfs, the thread of f2fs, a trim
//! policy, FITRIM. Here are the process that deletes, and discards that go together. A commit sends
//! its own (`commit.rs`).

use std::collections::{BTreeMap, VecDeque};

use trimbench_core::{
    BlockCommand, Bytes, DrainRule, Instant, Model, MountDiscard, Nanos, Rejected, Support,
};
use trimbench_policy::{Issuer, Sender};

use crate::allocator::Allocator;
use crate::commands::{Progress, Slot, Stage, Stop};
use crate::config::FsConfig;
use crate::extent::{Extent, bytes};
use crate::journal::Commit;
use crate::kind::{FsKind, sender};
use crate::lower::{Lower, Owner, Transfer};

use super::FileSystem;
use super::handle::Handle;
use policy::{OwnPath, Policy};
use thread::DiscardThread;
use worker::Worker;

pub(super) mod policy;
mod thread;
mod trim;
mod trim_f2fs;
mod trim_xfs;
mod worker;

/// So long after a commit the worker of btrfs begins at the latest (`BTRFS_DISCARD_DELAY`, 120 s),
/// and its rate takes its time: the rule of the real one.
const DEFERRED: Nanos = Nanos::from_secs(180);

/// What became of freed space. Bytes are of freed extents, if not said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardCounters {
    /// Freed by commits; of btrfs with `discard=async` also the space that was free in a block
    /// group when something in it was freed first; of f2fs the rest of a segment that became
    /// free, and what its FITRIM found free.
    pub freed: Bytes,
    /// Freed extents, after merging those of one commit.
    pub freed_extents: u64,
    /// Discard commands sent for freed extents; one extent may need several.
    pub issued: u64,
    /// Discarded of what was freed.
    pub discarded: Bytes,
    /// Discarded beyond what was freed: free space behind it, and tree blocks of btrfs.
    pub discarded_beyond: Bytes,
    /// Not discarded, for no one ever will: no discard path, unmounted before, or for want of
    /// space.
    pub dropped: Bytes,
    /// Of these, when the filesystem was unmounted.
    pub dropped_at_unmount: Bytes,
    /// Allocated again, or in another trim, before it could be discarded.
    pub reused: Bytes,
    /// Of the discard commands, those of the worker that did not go at the instant of the freeing.
    pub deferred: u64,
    /// The worker's of these, in bytes of what was freed.
    pub deferred_bytes: Bytes,
    /// Freed extents, or rests of them, that were dropped.
    pub dropped_extents: u64,
    /// Freed extents of which something was reused.
    pub reused_extents: u64,
    /// Discard commands sent by FITRIM.
    pub trim_issued: u64,
    /// Bytes discarded by FITRIM.
    pub trimmed: Bytes,
}

/// Discards that XFS or f2fs sends together, under way or waiting to be sent.
#[derive(Debug)]
struct Batch {
    id: u32,
    /// Who sends them: FITRIM; or the completion of the log, or the thread of f2fs.
    trim: Option<Slot>,
    /// What is discarded; nobody has it until the last discard ends.
    extents: Vec<Extent>,
    /// Pieces that have not ended.
    left: u32,
    sent_at: Instant,
}

/// Freed extents on their way to the device.
#[derive(Debug, Default)]
pub(super) struct Discards {
    counters: DiscardCounters,
    worker: Worker,
    /// Of f2fs.
    pub(super) thread: DiscardThread,
    /// What processes that delete have still to discard themselves.
    of_callers: BTreeMap<Slot, VecDeque<Extent>>,
    batches: Vec<Batch>,
    last_batch: u32,
    /// Blocks that FITRIM of ext4 and btrfs withholds.
    trimming: u64,
    /// Where each FITRIM of XFS is.
    trims: BTreeMap<Slot, trim_xfs::Cursor>,
    /// The longest that a discard took, or those of a commit that went together, since that was
    /// last forgotten.
    longest: Nanos,
    /// A trim policy in the place of all but FITRIM.
    policy: Option<Policy>,
    /// An account of the discards that go without one, where it is wanted.
    own_path: Option<OwnPath>,
    /// The unmount that waits for the last discard.
    unmounting: Option<Slot>,
}

impl Discards {
    /// Of a filesystem with so many blocks for data.
    pub(super) fn new(config: &FsConfig, room: u64) -> Self {
        let thread = DiscardThread::new(config.made_trimmed, room);
        Self { thread, ..Self::default() }
    }

    /// Freed blocks that the worker, the thread or the policy has yet to look at, and those in
    /// batches.
    pub(super) fn pending(&self) -> u64 {
        let batches = self.online_batches().flat_map(|batch| &batch.extents);
        let batches: u64 = batches.map(|extent| extent.length).sum();
        let policy = self.policy.as_ref().map_or(0, Policy::pending);
        self.worker.pending() + self.thread.pending() + batches + policy
    }

    /// When something is to be done, if nothing happens before.
    pub(super) fn next_event(&self) -> Instant {
        let policy = self.policy.as_ref().map_or(Instant::NEVER, |policy| policy.wakes_at);
        self.worker.next_event().min(self.thread.next_event()).min(policy)
    }

    /// Whether no discard withholds anything, but those of FITRIM of ext4 and btrfs.
    fn is_idle(&self) -> bool {
        self.worker.is_idle() && self.batches.is_empty() && self.policy_withholds() == 0
    }

    /// Whether a discard withholds anything.
    pub(super) fn withholds(&self) -> bool {
        self.trimming > 0 || !self.is_idle()
    }

    /// Calls `own` for what discards withhold, but those of single commands.
    pub(super) fn owned(&self, own: &mut impl FnMut(Extent)) {
        let batches = self.batches.iter().flat_map(|batch| &batch.extents);
        let of_callers = self.of_callers.values().flatten();
        batches.chain(of_callers).chain(&self.worker.withheld()).copied().for_each(&mut *own);
        self.policy.iter().flat_map(Policy::withheld).for_each(own);
    }

    /// Checks that no freed block is forgotten; `ahead`: those that were discarded, but do not
    /// count as freed yet.
    pub(super) fn check(&self, ahead: u64) {
        let counters = self.counters();
        let known = counters.discarded + counters.dropped + counters.reused;
        let (ahead, pending) = (bytes(ahead), bytes(self.pending()));
        assert_eq!(counters.freed + ahead, known + pending, "no freed block is forgotten");
    }

    /// Batches of freed extents.
    fn online_batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(|batch| batch.trim.is_none())
    }

    /// Whether a batch of freed extents waits to be submitted.
    pub(super) fn is_submitting<M>(&self, lower: &Lower<M>) -> bool
    where
        M: Model<Command = BlockCommand>,
    {
        self.online_batches().any(|batch| lower.is_submitting(Owner::Batch(batch.id)))
    }

    /// Discards that were sent together ended.
    pub(super) fn took(&mut self, span: Nanos) {
        self.longest = self.longest.max(span);
    }

    /// So many discard commands were sent for freed extents of so many blocks.
    pub(super) fn count_sent(&mut self, sent: u32, length: u64) {
        self.counters.issued += u64::from(sent);
        self.counters.discarded += bytes(length);
    }

    /// The same for blocks that no one freed.
    pub(super) fn count_beyond(&mut self, sent: u32, length: u64) {
        self.counters.issued += u64::from(sent);
        self.counters.discarded_beyond += bytes(length);
    }

    /// Sends discards in one plug. Returns the batch's name.
    pub(super) fn send_batch<M: Model<Command = BlockCommand>>(
        &mut self,
        lower: &mut Lower<M>,
        trim: Option<Slot>,
        extents: Vec<Extent>,
        now: Instant,
    ) -> u32 {
        self.last_batch += 1;
        let id = self.last_batch;
        let left = lower.discard(now, Owner::Batch(id), &extents, true);
        if trim.is_some() {
            self.count_trim(left, extents.iter().map(|extent| extent.length).sum());
        } else {
            // They count as discarded once they have ended.
            self.counters.issued += u64::from(left);
        }
        self.batches.push(Batch { id, trim, extents, left, sent_at: now });
        id
    }

    fn count_trim(&mut self, sent: u32, length: u64) {
        self.counters.trim_issued += u64::from(sent);
        self.counters.trimmed += bytes(length);
    }

    /// A process frees blocks that it discards itself.
    pub(super) fn free_as_caller(&mut self, slot: Slot, extent: Extent, handle: &mut Handle<'_>) {
        let its = self.of_callers.entry(slot).or_default();
        for part in handle.allocator.split(extent) {
            handle.touch_group(part.start);
            its.push_back(part);
        }
    }

    /// A commit is over: what nobody else has of the extents that it freed is free, and waits for
    /// whoever discards it.
    pub(super) fn commit_ended(
        &mut self,
        commit: &Commit,
        config: &FsConfig,
        allocator: &mut Allocator,
        now: Instant,
    ) {
        self.counters.freed += bytes(commit.freed_total());
        self.counters.freed_extents += commit.freed().len() as u64;
        for &extent in commit.left() {
            allocator.give_freed(extent);
            if let Some(policy) = &mut self.policy {
                policy.freed(extent, now);
                continue;
            }
            match sender(config.discard) {
                None => self.counters.dropped += bytes(extent.length),
                // All of them, once it is known which segments became free.
                Some(Sender::Worker) if config.kind == FsKind::F2fs => {}
                // Metadata are freed by transactions also where the caller discards data.
                Some(Sender::Worker | Sender::Caller) => {
                    self.hand_to_worker(extent, config, allocator, now);
                }
                Some(_) => {}
            }
        }
    }

    /// What waits for a discard will not get one.
    fn give_up(&mut self, online: bool) {
        let dropped = self.drop_pending();
        self.counters.dropped_at_unmount += bytes(dropped);
        self.thread.give_up(dropped == 0 && online);
    }

    /// Gives up everything that waits, and what is left of the worker's job; a discard that is
    /// under way ends. Returns how many blocks.
    pub(super) fn drop_pending(&mut self) -> u64 {
        let dropped = self.worker.give_up(&mut self.counters) + self.thread.drop_candidates();
        self.counters.dropped += bytes(dropped);
        dropped
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Whether what is freed is discarded by itself.
    pub(super) fn is_discarding(&self) -> bool {
        self.config.discard.is_some() || self.discards.policy.is_some()
    }

    /// What a remount can make it do about freed space. Under a trim policy that decides; the
    /// thread of f2fs is not modelled for it.
    pub(super) fn ways_to_discard(&self) -> &'static [MountDiscard] {
        use MountDiscard::{AtCommit, Deferred, Off};
        let takes_none = self.lower.capabilities().discard == Support::None;
        match self.config.kind {
            _ if takes_none || self.discards.policy.is_some() => &[],
            FsKind::Ext4 | FsKind::Xfs => &[Off, AtCommit],
            FsKind::Btrfs => &[Off, AtCommit, Deferred],
            FsKind::F2fs => &[],
        }
    }

    /// Discards in another way from now on. What waits for a discard will not get one: the worker
    /// of btrfs forgets it (`btrfs_discard_cleanup`), and of ext4 nothing waits after a sync.
    pub(super) fn remount(&mut self, way: MountDiscard) -> Result<(), Rejected> {
        self.check_mounted(true)?;
        self.check_unused()?;
        if !self.ways_to_discard().contains(&way) {
            let reason = format!("the model has no `{}`", way.option());
            return Err(Rejected::NotSwitched { reason });
        }
        let discard = match (self.config.kind, way) {
            (_, MountDiscard::Off) => None,
            (FsKind::Btrfs, MountDiscard::AtCommit) => Some(Issuer::BtrfsSync),
            (FsKind::Btrfs, MountDiscard::Deferred) => Some(Issuer::BtrfsAsync),
            _ => Some(self.online),
        };
        if discard != self.config.discard {
            self.discards.drop_pending();
            self.discards.worker.forget_groups();
            self.config.discard = discard;
            let below = self.lower.capabilities().discard;
            self.capabilities.discard = if discard.is_some() { below } else { Support::None };
            self.capabilities.drain = match way {
                MountDiscard::Deferred => {
                    DrainRule { latest_start: DEFERRED, ..self.config.kind.drain() }
                }
                _ => self.config.kind.drain(),
            };
        }
        Ok(())
    }

    /// The worker or the thread goes on by itself, if it is time to.
    pub(super) fn discards_go_on(&mut self, now: Instant) {
        if self.discards.worker.next_event() <= now {
            self.work_off_discards(now);
        } else if self.discards.thread.next_event() <= now {
            self.thread_looks(now);
        }
    }

    /// The process that deletes has the next of the extents that it freed discarded, and waits
    /// (`ext4_free_blocks` without a journal or with `data=writeback`).
    pub(super) fn discard_as_caller(&mut self, slot: Slot, now: Instant) -> Progress {
        let command = self.commands.get(slot);
        // A discard that fails costs the device's knowledge, not the filesystem's.
        command.failure = None;
        if let Some(extent) = command.withheld.take() {
            self.allocator.give_freed(extent);
            self.space_came(now);
        }
        let its = self.discards.of_callers.get_mut(&slot);
        let Some(extent) = its.and_then(VecDeque::pop_front) else {
            self.discards.of_callers.remove(&slot);
            return Ok(());
        };
        let sent = self.lower.send(now, Owner::Command(slot), Transfer::Discard, extent);
        let command = self.commands.get(slot);
        (command.io, command.withheld) = (sent, Some(extent));
        command.stage = Stage::Discarding;
        self.discards.counters.freed += bytes(extent.length);
        self.discards.counters.freed_extents += 1;
        self.discards.count_sent(sent, extent.length);
        Err(Stop::Waits)
    }

    /// The last discard of a batch is submitted, and may have ended already: who sent it goes on.
    pub(super) fn batch_submitted(&mut self, id: u32, now: Instant) {
        let trim = self.discards.trims.iter().find(|(_, cursor)| cursor.batch == Some(id));
        match trim.map(|(slot, _)| *slot) {
            Some(slot) => self.step(slot, now),
            None if self.config.kind == FsKind::F2fs => self.send_round(now),
            None => self.advance_commit(now),
        }
    }

    /// A discard of a batch ended; the space of all is free once all have.
    pub(super) fn batch_io_ended(&mut self, id: u32, now: Instant) {
        let batches = &mut self.discards.batches;
        let at = batches.iter().position(|batch| batch.id == id).expect("it is under way");
        batches[at].left -= 1;
        if batches[at].left > 0 {
            return;
        }
        let batch = batches.remove(at);
        self.discards.took(now - batch.sent_at);
        for &extent in &batch.extents {
            if batch.trim.is_some() {
                self.allocator.give(extent);
            } else {
                self.discards.counters.discarded += bytes(extent.length);
                self.allocator.give_freed(extent);
            }
        }
        self.space_came(now);
        if self.config.kind == FsKind::F2fs {
            self.plug_ended(&batch, now);
        }
        self.discards_ended(now);
    }

    /// Discards ended: an unmount that waits for the last of them goes on.
    fn discards_ended(&mut self, now: Instant) {
        if self.discards.is_idle()
            && let Some(slot) = self.discards.unmounting.take()
        {
            self.step(slot, now);
        }
    }

    /// For an unmount: what waits is given up, or sent for some time (f2fs). Returns whether no
    /// discard is under way; else the unmount is stepped again once none is.
    pub(super) fn end_discards(&mut self, slot: Slot, now: Instant) -> bool {
        if self.config.discard == Some(Issuer::F2fs) {
            self.stop_thread(now);
        } else {
            self.discards.give_up(self.config.discard.is_some());
        }
        self.discards.worker.forget_groups();
        if let Some(policy) = &mut self.discards.policy {
            policy.give_up(&mut self.allocator);
        }
        let idle = self.discards.is_idle();
        self.discards.unmounting = (!idle).then_some(slot);
        idle
    }
}
