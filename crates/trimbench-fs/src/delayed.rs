//! The queue of btrfs's `discard=async`: freed space that waits before it is discarded.
//!
//! Model, after fs/btrfs/discard.c (Linux 6.12): three lists of data block groups of 1 GiB. A group
//! that became empty is in the first and due 10 s later; any other is in the second and due 120 s
//! after its first extent was freed. Of the lists in order the first is taken whose head is due.
//! The second list takes extents of 1 MiB and more; then the group goes on to the third, for those
//! of 32 KiB and more; what is shorter is never discarded. A range of more than 64 MiB and 32 KiB
//! is discarded in pieces of 64 MiB.
//!
//! Simplified: no bitmaps (a group with very many short free extents has them); groups do not go
//! once they are empty.
//!
//! Units: filesystem blocks of 4 KiB.

use std::collections::{BTreeMap, VecDeque};

use trimbench_core::{Instant, Nanos};

use crate::config::FS_BLOCK;
use crate::extent::Extent;
use crate::kind::BTRFS_GROUP;

#[cfg(test)]
mod tests;

/// When a group is due (`BTRFS_DISCARD_UNUSED_DELAY`, `BTRFS_DISCARD_DELAY`).
const UNUSED_DELAY: Nanos = Nanos::from_secs(10);
const DELAY: Nanos = Nanos::from_secs(120);
/// The shortest extent that each list takes.
const LEAST: [u64; 3] = [0, (1 << 20) / FS_BLOCK.0, (32 << 10) / FS_BLOCK.0];
/// The longest discard (`BTRFS_ASYNC_DISCARD_DEFAULT_MAX_SIZE`), and how much longer one may be so
/// that no short rest is left (`BTRFS_ASYNC_DISCARD_MIN_FILTER`).
const LONGEST: u64 = (64 << 20) / FS_BLOCK.0;
const REST: u64 = (32 << 10) / FS_BLOCK.0;

/// A block group with something to discard.
#[derive(Debug)]
struct BlockGroup {
    due: Instant,
    list: usize,
    /// Where the pass over its extents is.
    cursor: u64,
    /// Freed and not discarded: start and length; neighbours are one.
    freed: BTreeMap<u64, u64>,
}

/// What waits.
#[derive(Debug, Default)]
pub(crate) struct DelayedQueue {
    groups: BTreeMap<u64, BlockGroup>,
    lists: [VecDeque<u64>; 3],
    total: u64,
    /// Blocks of groups that are through: extents too short to be discarded.
    pub(crate) too_short: u64,
}

impl DelayedQueue {
    /// Blocks that wait.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Blocks were freed that lie in one group, which holds nothing any more if `empty`.
    pub(crate) fn push(&mut self, extent: Extent, empty: bool, now: Instant) {
        let number = extent.start / BTRFS_GROUP;
        let cursor = number * BTRFS_GROUP;
        self.total += extent.length;
        let is_new = !self.groups.contains_key(&number);
        let group = self.groups.entry(number).or_insert_with(|| BlockGroup {
            due: now + DELAY,
            list: 1,
            cursor,
            freed: BTreeMap::new(),
        });
        let length = group.add(extent);
        let list = match group.list {
            _ if empty => 0,
            2 if length >= LEAST[1] => 1,
            same => same,
        };
        if empty {
            group.due = now + UNUSED_DELAY;
        }
        if is_new || empty || list != group.list {
            group.cursor = cursor;
            self.enlist(number, list);
        }
    }

    /// What is to be discarded next, if that is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Extent> {
        loop {
            let number = self.next_group(now).filter(|number| self.groups[number].due <= now)?;
            let group = self.groups.get_mut(&number).expect("lists hold groups that wait");
            if let Some(extent) = group.take() {
                self.total -= extent.length;
                return Some(extent);
            }
            group.cursor = number * BTRFS_GROUP;
            let list = group.list;
            if list == 1 {
                self.enlist(number, 2);
            } else {
                self.delist(number);
            }
        }
    }

    /// When something is due; never while nothing waits.
    pub(crate) fn next_due(&self) -> Instant {
        let heads = self.lists.iter().filter_map(VecDeque::front);
        heads.map(|number| self.groups[number].due).min().unwrap_or(Instant::NEVER)
    }

    /// Forgets everything; how many blocks.
    pub(crate) fn clear(&mut self) -> u64 {
        std::mem::take(self).total
    }

    /// `find_next_block_group`: the first head that is due, else the one that is due first.
    fn next_group(&self, now: Instant) -> Option<u64> {
        let mut best: Option<u64> = None;
        for head in self.lists.iter().filter_map(VecDeque::front) {
            let due = |number: &u64| self.groups[number].due;
            match best {
                Some(best) if due(&best) <= now => break,
                Some(other) if due(&other) <= due(head) => {}
                _ => best = Some(*head),
            }
        }
        best
    }

    fn enlist(&mut self, number: u64, list: usize) {
        self.lists.iter_mut().for_each(|list| list.retain(|other| *other != number));
        self.lists[list].push_back(number);
        if let Some(group) = self.groups.get_mut(&number) {
            group.list = list;
        }
    }

    /// A group has no more to discard; what was too short is never discarded.
    fn delist(&mut self, number: u64) {
        self.lists.iter_mut().for_each(|list| list.retain(|other| *other != number));
        let group = self.groups.remove(&number);
        let left: u64 = group.iter().flat_map(|group| group.freed.values()).sum();
        self.total -= left;
        self.too_short += left;
    }
}

impl BlockGroup {
    /// Adds freed blocks; how long the extent is that they are in now.
    fn add(&mut self, extent: Extent) -> u64 {
        let (mut start, mut end) = (extent.start, extent.end());
        if let Some((&before, &length)) = self.freed.range(..start).next_back()
            && before + length == start
        {
            self.freed.remove(&before);
            start = before;
        }
        if let Some(length) = self.freed.remove(&end) {
            end += length;
        }
        self.freed.insert(start, end - start);
        end - start
    }

    /// Takes the next piece from the cursor on that its list takes.
    fn take(&mut self) -> Option<Extent> {
        let least = LEAST[self.list];
        let longs = self.freed.range(self.cursor..).find(|(_, length)| **length >= least);
        let (&start, &length) = longs?;
        self.freed.remove(&start);
        let piece = if length < LONGEST + REST { length } else { LONGEST };
        if piece < length {
            self.freed.insert(start + piece, length - piece);
        }
        self.cursor = start + piece;
        Some(Extent::new(start, piece))
    }
}
