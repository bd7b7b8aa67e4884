//! Freed extents that wait for a discard or are being discarded, and the accounting of all others.
//!
//! Model of the worker, after `ext4_discard_work` and `ext4_try_to_trim_range` (fs/ext4/mballoc.c):
//! it processes freed extents in the order of their commits, one discard at a time. It discards the
//! part of each extent that is still free, and withholds it from allocation meanwhile. The
//! unclipped worker begins at the freed extent's first free block and goes to the end of the free
//! space there, not to that of the freed extent (because it searches the discard's end up to the
//! end of the group). The worker drops its remaining work when the filesystem is unmounted, and
//! when an allocation fails for lack of space.
//!
//! Conservation: freed = discarded + pending + dropped + reused, in blocks that were freed. What
//! the unclipped worker discards beyond the freed extent is counted separately.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trimbench_core::{Bytes, Instant, Nanos};

use crate::candidates::Candidates;
use crate::commands::Slot;
use crate::config::FS_BLOCK;
use crate::delayed::DelayedQueue;
use crate::extent::Extent;

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
pub(crate) struct Batch {
    pub(crate) id: u32,
    /// Who sends them: FITRIM; or the completion of the log, or the thread of f2fs.
    pub(crate) trim: Option<Slot>,
    /// What is discarded; nobody has it until the last discard ends.
    pub(crate) extents: Vec<Extent>,
    /// Pieces that have not ended.
    pub(crate) left: u32,
    pub(crate) sent_at: Instant,
}

/// What the worker does to one freed extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// What is left of the freed extent.
    pub(crate) rest: Extent,
    /// When its commit ended.
    pub(crate) freed_at: Instant,
    /// When what is under way was sent.
    pub(crate) sent_at: Instant,
    /// What is being discarded, withheld from allocation.
    pub(crate) withheld: Option<Extent>,
    /// Device commands under way.
    pub(crate) io: u32,
}

/// Freed extents on their way to the device.
#[derive(Debug, Default)]
pub(crate) struct Discards {
    pub(crate) counters: DiscardCounters,
    /// Freed extents that the worker has not begun: at once, or after a wait.
    queue: VecDeque<(Extent, Instant)>,
    queued: u64,
    delayed: DelayedQueue,
    /// What waits for the thread of f2fs.
    pub(crate) candidates: Candidates,
    /// What an f2fs that does not discard online has freed since the last FITRIM.
    pub(crate) untrimmed: Candidates,
    /// Block groups of btrfs whose free space has been queued once.
    looked_at: BTreeSet<u64>,
    /// The worker sends nothing before.
    paused: Option<Instant>,
    pub(crate) job: Option<Job>,
    pub(crate) batches: Vec<Batch>,
    last_batch: u32,
    /// The longest that a discard took, or those of a commit that went together, since that was
    /// last forgotten.
    pub(crate) longest: Nanos,
    /// What processes that delete have still to discard themselves.
    pub(crate) of_callers: BTreeMap<Slot, VecDeque<Extent>>,
}

pub(crate) const fn bytes(fs_blocks: u64) -> Bytes {
    Bytes(fs_blocks * FS_BLOCK.0)
}

impl Discards {
    /// The name of a batch that is about to be sent.
    pub(crate) fn next_batch(&mut self) -> u32 {
        self.last_batch += 1;
        self.last_batch
    }

    /// Freed blocks that the worker or the thread has yet to look at, and those in batches.
    pub(crate) fn pending(&self) -> u64 {
        let batches = self.online_batches().flat_map(|batch| &batch.extents);
        let batches: u64 = batches.map(|extent| extent.length).sum();
        let waiting = self.queued + self.delayed.total() + self.candidates.total();
        waiting + self.job.map_or(0, |job| job.rest.length) + batches
    }

    /// Batches of freed extents.
    pub(crate) fn online_batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(|batch| batch.trim.is_none())
    }

    /// Whether no discard withholds anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.job.is_none() && self.batches.is_empty()
    }

    pub(crate) fn push(&mut self, extent: Extent, now: Instant) {
        self.queued += extent.length;
        self.queue.push_back((extent, now));
    }

    /// Discards that were sent together ended.
    pub(crate) fn took(&mut self, span: Nanos) {
        self.longest = self.longest.max(span);
    }

    /// The same for `discard=async` of btrfs; `empty`: its block group holds nothing any more.
    pub(crate) fn push_delayed(&mut self, extent: Extent, empty: bool, now: Instant) {
        self.delayed.push(extent, empty, now);
    }

    /// Whether a block group of btrfs is looked at for the first time.
    pub(crate) fn looks_at(&mut self, group: u64) -> bool {
        self.looked_at.insert(group)
    }

    /// After a mount nobody knows what was trimmed.
    pub(crate) fn forget_groups(&mut self) {
        self.looked_at.clear();
    }

    pub(crate) fn pause_until(&mut self, at: Instant) {
        self.paused = Some(at);
    }

    /// When the worker goes on by itself; never while it has something under way.
    pub(crate) fn next_event(&self) -> Instant {
        if self.job.is_some() || self.delayed.total() == 0 {
            return Instant::NEVER;
        }
        self.delayed.next_due().max(self.paused.unwrap_or(Instant::START))
    }

    /// The next freed extent for the worker, if it is due, and when it was freed; of one that was
    /// delayed, the start of time.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Extent, Instant)> {
        if self.delayed.total() > 0 && self.paused.is_none_or(|paused| paused <= now) {
            let extent = self.delayed.pop(now);
            self.counters.dropped += bytes(std::mem::take(&mut self.delayed.too_short));
            return extent.map(|extent| (extent, Instant::START));
        }
        let (extent, freed_at) = self.queue.pop_front()?;
        self.queued -= extent.length;
        Some((extent, freed_at))
    }

    /// Gives up everything that waits, and what is left of the job; a discard that is under way
    /// ends. Returns how many blocks.
    pub(crate) fn drop_pending(&mut self) -> u64 {
        let mut dropped = self.queued + self.delayed.clear() + self.candidates.clear();
        self.counters.dropped_extents += self.queue.len() as u64;
        self.queue.clear();
        self.queued = 0;
        if let Some(job) = &mut self.job {
            dropped += job.rest.length;
            self.counters.dropped_extents += u64::from(job.rest.length > 0);
            job.rest.length = 0;
        }
        self.counters.dropped += bytes(dropped);
        dropped
    }
}
