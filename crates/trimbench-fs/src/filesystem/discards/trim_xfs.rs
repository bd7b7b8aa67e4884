//! FITRIM of XFS from Linux 6.10 on, after `xfs_ioc_trim` and `xfs_trim_gather_extents`
//! (`fs/xfs/xfs_discard.c`).
//!
//! Allocation group by allocation group, in batches: a batch looks at 100 free extents at most, of
//! which it takes 99, and sends their discards together. The next one is gathered as soon as the
//! last discard of this one is submitted; each begins with a log force. A group in which nothing
//! changed since the mount has its tree read first, a read that a drive serves when it has served
//! the discards before it (seen on 6.18, `block_rq_issue` of `fstrim`). The last group goes by
//! block number. The others go by length, the longest first, and **leave most extents out**: from
//! its second batch on the walk takes the extent at which it begins for the beginning of the range,
//! and skips what lies before. Of a thousand extents of one length in a group it discards about
//! 110, in the kernel as here.

use trimbench_core::{BlockCommand, Instant, Model};

use crate::allocator::Allocator;
use crate::commands::{Progress, Slot, Stage, Stop, ended};
use crate::extent::Extent;
use crate::filesystem::FileSystem;
use crate::kind::AllocationGroups;
use crate::lower::{Owner, Transfer};

/// Free extents that a batch looks at (`XFS_DISCARD_MAX_EXAMINE`).
const EXAMINED: usize = 100;

/// Blocks of 4 KiB from a group's start to the roots of its trees of free extents: the headers of
/// the group are in the first (`XFS_BNO_BLOCK`, `XFS_CNT_BLOCK`).
const BY_BLOCK: u64 = 1;
const BY_LENGTH: u64 = 2;

/// Where a FITRIM is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// The allocation group.
    group: u64,
    /// Where the last batch of this group ended: at this extent, which is the next one's first.
    next: Option<Extent>,
    /// The last batch.
    pub(super) batch: Option<u32>,
    /// Whether the tree of this group is in memory.
    read: bool,
}

impl Cursor {
    /// The next batch of a group; the cursor goes on behind it.
    fn gather(&mut self, group: Extent, by_block: bool, allocator: &Allocator) -> Vec<Extent> {
        let mut free: Vec<Extent> = allocator.free_runs(group).collect();
        if !by_block {
            // The tree by length, from its end on.
            free.sort_unstable_by_key(|extent| std::cmp::Reverse((extent.length, extent.start)));
        }
        let begins = |next: Extent| {
            free.iter().position(|extent| {
                if by_block {
                    extent.end() > next.start
                } else {
                    (extent.length, extent.start) <= (next.length, next.start)
                }
            })
        };
        let first = match self.next {
            None => Some(0),
            Some(next) => begins(next),
        };
        let left = &free[first.unwrap_or(free.len())..];
        let from = self.next.map_or(0, |next| next.start);
        let spare = allocator.available();
        let mut taken = 0;
        let batch = left.iter().take(EXAMINED - 1).filter(|extent| {
            let fits = extent.end() >= from && taken + extent.length <= spare;
            taken += if fits { extent.length } else { 0 };
            fits
        });
        let batch = batch.copied().collect();
        self.next = left.get(EXAMINED - 1).copied();
        if self.next.is_none() {
            self.group += 1;
            self.read = false;
        }
        batch
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn trim_xfs_step(&mut self, slot: Slot, now: Instant) -> Progress {
        let groups = AllocationGroups::new(self.allocator.total());
        let mut cursor = self.discards.trims.remove(&slot).unwrap_or_default();
        loop {
            let submits = |batch| self.lower.is_submitting(Owner::Batch(batch));
            if cursor.batch.is_some_and(submits) {
                self.discards.trims.insert(slot, cursor);
                return Err(Stop::Waits);
            }
            let Some(group) = groups.get(cursor.group) else { break };
            if self.journal.has_changes() {
                self.discards.trims.insert(slot, cursor);
                self.commands.set_stage(slot, Stage::Moving);
                self.await_commit(slot, self.journal.running(), now);
                return Err(Stop::Waits);
            }
            let is_last = cursor.group + 1 == AllocationGroups::COUNT;
            if !cursor.read {
                cursor.read = true;
                if !self.allocator.touched(group) {
                    self.discards.trims.insert(slot, cursor);
                    return self.read_tree(slot, group, is_last, now);
                }
            }
            let extents = cursor.gather(group, is_last, &self.allocator);
            for extent in &extents {
                self.allocator.withhold_for_trim(*extent);
            }
            if !extents.is_empty() {
                let id = self.discards.send_batch(&mut self.lower, Some(slot), extents, now);
                cursor.batch = Some(id);
            }
        }
        ended(self.commands.get(slot).failure)
    }

    /// Reads the root of the tree of free extents by length, or by block number.
    fn read_tree(&mut self, slot: Slot, group: Extent, by_block: bool, now: Instant) -> Progress {
        let root = group.start + if by_block { BY_BLOCK } else { BY_LENGTH };
        let sent = self.lower.send(now, Owner::Command(slot), Transfer::Read, Extent::new(root, 1));
        self.commands.get(slot).io = sent;
        self.commands.set_stage(slot, Stage::Moving);
        Err(Stop::Waits)
    }
}
