//! Freed extents that wait for a discard, and the accounting of all others.
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
//!
//! Not modelled: the concurrent submission of Linux 4.13 to 5.14.

use std::collections::VecDeque;

use trimbench_core::Bytes;

use crate::config::FS_BLOCK;
use crate::extent::Extent;

/// What became of freed space. Bytes are of freed extents, if not said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardCounters {
    /// Freed by commits.
    pub freed: Bytes,
    /// Freed extents, after merging those of one commit.
    pub freed_extents: u64,
    /// Discard commands sent for freed extents; one extent may need several.
    pub issued: u64,
    /// Discarded of what was freed.
    pub discarded: Bytes,
    /// Discarded beyond what was freed: free space behind it.
    pub discarded_beyond: Bytes,
    /// Not discarded, for no one ever will: no discard path, unmounted before, or for want of
    /// space.
    pub dropped: Bytes,
    /// Of these, when the filesystem was unmounted.
    pub dropped_at_unmount: Bytes,
    /// Allocated again, or in another trim, before it could be discarded.
    pub reused: Bytes,
    /// Discard commands sent by FITRIM.
    pub trim_issued: u64,
    /// Bytes discarded by FITRIM.
    pub trimmed: Bytes,
}

/// What the worker does to one freed extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// What is left of the freed extent.
    pub(crate) rest: Extent,
    /// What is being discarded, withheld from allocation.
    pub(crate) withheld: Option<Extent>,
    /// Device commands under way.
    pub(crate) io: u32,
}

/// Freed extents on their way to the device.
#[derive(Debug, Default)]
pub(crate) struct Discards {
    pub(crate) counters: DiscardCounters,
    /// Freed extents that the worker has not begun.
    queue: VecDeque<Extent>,
    queued: u64,
    pub(crate) job: Option<Job>,
}

pub(crate) const fn bytes(fs_blocks: u64) -> Bytes {
    Bytes(fs_blocks * FS_BLOCK.0)
}

impl Discards {
    /// Freed blocks that the worker has yet to look at.
    pub(crate) fn pending(&self) -> u64 {
        self.queued + self.job.map_or(0, |job| job.rest.length)
    }

    pub(crate) fn push(&mut self, extent: Extent) {
        self.queued += extent.length;
        self.queue.push_back(extent);
    }

    pub(crate) fn pop(&mut self) -> Option<Extent> {
        let extent = self.queue.pop_front()?;
        self.queued -= extent.length;
        Some(extent)
    }

    /// Gives up everything that waits, and what is left of the job; a discard that is under way
    /// ends. Returns how many blocks.
    pub(crate) fn drop_pending(&mut self) -> u64 {
        let mut dropped = self.queued;
        self.queue.clear();
        self.queued = 0;
        if let Some(job) = &mut self.job {
            dropped += job.rest.length;
            job.rest.length = 0;
        }
        self.counters.dropped += bytes(dropped);
        dropped
    }
}
