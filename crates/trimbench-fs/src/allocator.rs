//! Free space, and who gets which part of it.
//!
//! Model, after ext4's multi-block allocator (fs/ext4/mballoc.c): each group keeps its free space
//! as extents that are merged with their neighbours. A request names a goal. Taken is the first
//! extent that is long enough, from the goal on, first among groups whose free extents are that
//! long on average, then among all; if there is none, the longest piece of the next group that has
//! any. A file continues behind its last extent. A new one that is open for writing follows one
//! common goal (stream allocation); one that was closed before its data got a place begins to look
//! in the second group of its inode's flex group, so that space that became free there is taken
//! first. Files of up to 16 blocks are packed into a chunk of 512 (the locality group), closed ones
//! too, as from Linux 6.0 on.
//!
//! Simplified: first fit where ext4 weighs up to 200 extents and takes the best; one chunk for the
//! machine, not one per processor; no preallocation per file: a file that is open and grows
//! continues behind its last extent if that is free. Not modelled: `mb_optimize_scan` (5.13 and
//! later), which takes groups in the order of their fragments and so spreads files over many of
//! them; bigalloc; uninitialised groups.
//!
//! Invariants (`check`): free extents of a group do not overlap and do not touch; their sum is the
//! group's counter, and that of all groups the filesystem's.
//!
//! Units: filesystem blocks of 4 KiB.

use std::collections::BTreeMap;

use trimbench_core::units::{index, narrow};

use crate::extent::Extent;

#[cfg(test)]
mod tests;

/// Files up to this size share a chunk (`mb_stream_req`).
pub(crate) const SMALL_FILE: u64 = 16;
/// Length of such a chunk (`mb_group_prealloc`).
const CHUNK: u64 = 512;

/// How hard an extent is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// In groups whose free extents are long enough on average.
    Promising,
    /// In every group.
    Thorough,
    /// A shorter one will do.
    Anything,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// Start (within the group) to length.
    extents: BTreeMap<u32, u32>,
    free: u32,
    /// No free extent is longer than this.
    longest_at_most: u32,
}

/// All free space.
#[derive(Clone, Debug)]
pub(crate) struct Allocator {
    groups: Vec<Group>,
    group_fs_blocks: u64,
    free: u64,
    /// Where the last allocation without a goal ended.
    stream: u64,
    /// What is left of the chunk for small files.
    chunk: Option<Extent>,
    /// What was taken since somebody looked, if somebody does.
    taken: Option<Vec<Extent>>,
}

impl Group {
    fn insert(&mut self, mut start: u32, mut length: u32) {
        self.free += length;
        let end = start + length;
        if let Some((&before, &its)) = self.extents.range(..start).next_back() {
            assert!(before + its <= start, "a free extent is freed again");
            if before + its == start {
                start = before;
                length += its;
            }
        }
        if let Some((&after, &its)) = self.extents.range(end..).next()
            && after == end
        {
            self.extents.remove(&after);
            length += its;
        }
        self.extents.insert(start, length);
        self.longest_at_most = self.longest_at_most.max(length);
    }

    fn remove(&mut self, start: u32, length: u32) {
        let (&from, &its) =
            self.extents.range(..=start).next_back().expect("what is taken is free");
        assert!(start + length <= from + its, "what is taken is free");
        if from == start {
            self.extents.remove(&from);
        } else {
            self.extents.insert(from, start - from);
        }
        if start + length < from + its {
            self.extents.insert(start + length, from + its - start - length);
        }
        self.free -= length;
    }

    /// The first free extent of at least `wanted` blocks from `from` on; parts of one count.
    fn first_fit(&mut self, from: u32, wanted: u32) -> Option<(u32, u32)> {
        if self.longest_at_most < wanted {
            return None;
        }
        if let Some((&start, &length)) = self.extents.range(..from).next_back()
            && start + length >= from + wanted
        {
            return Some((from, start + length - from));
        }
        let mut longest = 0;
        for (&start, &length) in self.extents.range(from..) {
            if length >= wanted {
                return Some((start, length));
            }
            longest = longest.max(length);
        }
        if from == 0 {
            self.longest_at_most = longest;
        }
        None
    }

    fn longest(&self) -> Option<(u32, u32)> {
        // Of several the first.
        let found = self.extents.iter().rev().max_by_key(|(_, length)| **length)?;
        Some((*found.0, *found.1))
    }
}

impl Allocator {
    /// Everything is free.
    pub(crate) fn new(groups: u64, group_fs_blocks: u64) -> Self {
        let size = narrow(group_fs_blocks);
        let mut empty = Group::default();
        empty.insert(0, size);
        Self {
            groups: vec![empty; index(groups)],
            group_fs_blocks,
            free: groups * group_fs_blocks,
            stream: 0,
            chunk: None,
            taken: None,
        }
    }

    /// Blocks that are free and in no chunk.
    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Blocks that an allocation can still get.
    pub(crate) fn obtainable(&self) -> u64 {
        self.free + self.chunk.map_or(0, |chunk| chunk.length)
    }

    /// Blocks in the middle of the device, in as few pieces as there are; `None` if it has too few.
    pub(crate) fn take_region(&mut self, length: u64) -> Option<Vec<Extent>> {
        let mut region = Vec::new();
        let mut goal = self.groups.len() as u64 / 2 * self.group_fs_blocks;
        let mut left = length;
        while left > 0 {
            let taken = self.take(left.min(self.group_fs_blocks), goal)?;
            region.push(taken);
            goal = taken.end();
            left -= taken.length;
        }
        Some(region)
    }

    /// Up to `wanted` blocks for a large file: from `goal` on if it has one, else behind the last
    /// allocation that had none. `None` if nothing is free.
    pub(crate) fn take_large(&mut self, wanted: u64, goal: Option<u64>) -> Option<Extent> {
        let taken = self.take(wanted.min(self.group_fs_blocks), goal.unwrap_or(self.stream))?;
        if goal.is_none() {
            self.stream = taken.end();
        }
        Some(taken)
    }

    /// Up to `wanted` blocks for a small file, from the chunk that such files share; a new one is
    /// taken in `group` or behind it. `None` if nothing is free.
    pub(crate) fn take_small(&mut self, wanted: u64, group: u64) -> Option<Extent> {
        if self.chunk.is_none_or(|chunk| chunk.length < wanted) {
            self.release_chunk();
            self.chunk = self.take(CHUNK.min(self.group_fs_blocks), group * self.group_fs_blocks);
        }
        let chunk = self.chunk.take()?;
        let taken = Extent::new(chunk.start, wanted.min(chunk.length));
        let rest = Extent::between(taken.end(), chunk.end());
        self.chunk = (rest.length > 0).then_some(rest);
        Some(taken)
    }

    /// Gives back what is left of the chunk.
    pub(crate) fn release_chunk(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            self.give(chunk);
        }
    }

    /// What is left of the chunk.
    pub(crate) fn chunk(&self) -> Option<Extent> {
        self.chunk
    }

    /// Makes the blocks free.
    pub(crate) fn give(&mut self, extent: Extent) {
        self.free += extent.length;
        for part in self.split(extent) {
            let (group, start) = self.place(part.start);
            self.groups[group].insert(start, narrow(part.length));
        }
    }

    /// Takes these blocks, which are free and lie in one group.
    pub(crate) fn withhold(&mut self, extent: Extent) {
        let (group, start) = self.place(extent.start);
        self.groups[group].remove(start, narrow(extent.length));
        self.free -= extent.length;
        if let Some(taken) = &mut self.taken {
            taken.push(extent);
        }
    }

    /// What was taken from free space since the last call; kept from the first call on.
    pub(crate) fn newly_taken(&mut self) -> Vec<Extent> {
        self.taken.replace(Vec::new()).unwrap_or_default()
    }

    /// The first free extent that ends behind `from`, within the group of `from`; from there on.
    pub(crate) fn free_from(&self, from: u64) -> Option<Extent> {
        let (group, start) = self.place(from);
        let base = from - u64::from(start);
        let extents = &self.groups[group].extents;
        let around =
            extents.range(..=start).next_back().filter(|(at, length)| *at + *length > start);
        let (&at, &length) = around.or_else(|| extents.range(start..).next())?;
        let end = base + u64::from(at) + u64::from(length);
        Some(Extent::between(from.max(base + u64::from(at)), end))
    }

    /// The parts of `extent` by group: no extent of ext4's allocator crosses a group.
    pub(crate) fn split(&self, extent: Extent) -> impl Iterator<Item = Extent> + use<> {
        let size = self.group_fs_blocks;
        (extent.start / size..extent.end().div_ceil(size))
            .filter_map(move |group| extent.overlap(Extent::new(group * size, size)))
    }

    /// Checks the invariants and calls `free` for every free extent. Slow.
    pub(crate) fn check(&self, mut free: impl FnMut(Extent)) {
        let mut total = 0;
        for (group, its) in self.groups.iter().enumerate() {
            let base = group as u64 * self.group_fs_blocks;
            let (mut end, mut sum) = (None, 0);
            for (&start, &length) in &its.extents {
                assert!(end.is_none_or(|end| end < start), "free extents are merged");
                assert!(length > 0 && length <= its.longest_at_most, "the bound of lengths holds");
                end = Some(start + length);
                sum += length;
                free(Extent::new(base + u64::from(start), length.into()));
            }
            assert!(
                u64::from(end.unwrap_or(0)) <= self.group_fs_blocks,
                "extents end in their group"
            );
            assert_eq!(sum, its.free, "a group knows what is free");
            total += u64::from(sum);
        }
        assert_eq!(total, self.free, "the filesystem knows what is free");
    }

    fn take(&mut self, wanted: u64, goal: u64) -> Option<Extent> {
        if self.free == 0 {
            self.release_chunk();
        }
        if self.free == 0 || wanted == 0 {
            return None;
        }
        let total = self.groups.len() as u64 * self.group_fs_blocks;
        let goal = if goal < total { goal } else { 0 };
        let searches = [Search::Promising, Search::Thorough, Search::Anything];
        let found = searches.into_iter().find_map(|search| self.find(search, goal, wanted))?;
        let taken = Extent::new(found.start, found.length.min(wanted));
        self.withhold(taken);
        Some(taken)
    }

    /// A free extent of at least `wanted` blocks, or with [`Search::Anything`] any. The goal's
    /// group comes first with what lies behind the goal, and last with the rest.
    fn find(&mut self, search: Search, goal: u64, wanted: u64) -> Option<Extent> {
        let (first, offset) = self.place(goal);
        let (count, wanted) = (self.groups.len(), narrow(wanted));
        for step in 0..=count {
            let at = (first + step) % count;
            let from = if step == 0 { offset } else { 0 };
            let group = &mut self.groups[at];
            if group.free == 0 || (search != Search::Anything && group.free < wanted) {
                continue;
            }
            let average = group.free / narrow(group.extents.len() as u64);
            let found = match search {
                Search::Promising if step > 0 && average < wanted => None,
                Search::Promising | Search::Thorough => group.first_fit(from, wanted),
                Search::Anything => group.longest(),
            };
            if let Some((start, length)) = found {
                let base = at as u64 * self.group_fs_blocks;
                return Some(Extent::new(base + u64::from(start), length.into()));
            }
        }
        None
    }

    /// The group of an address, and where in it.
    fn place(&self, address: u64) -> (usize, u32) {
        (index(address / self.group_fs_blocks), narrow(address % self.group_fs_blocks))
    }
}
