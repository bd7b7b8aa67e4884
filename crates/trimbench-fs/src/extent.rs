//! Runs of filesystem blocks, and sets of them.
//!
//! Units: filesystem blocks of 4 KiB. A file of 100 KB is one extent, so code that walks extents
//! does not walk blocks.

use smallvec::SmallVec;
use trimbench_core::{Blocks, Bytes, Lba, LbaRange};

#[cfg(test)]
mod tests;

/// The filesystem's block: ext4's usual one, and the only one modelled.
pub const FS_BLOCK: Bytes = Bytes(4096);

/// The bytes of so many filesystem blocks.
pub(crate) const fn bytes(fs_blocks: u64) -> Bytes {
    Bytes(fs_blocks * FS_BLOCK.0)
}

/// A run of filesystem blocks `[start, start + length)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

impl Extent {
    pub(crate) const fn new(start: u64, length: u64) -> Self {
        Self { start, length }
    }

    /// The run from `start` to before `end`.
    pub(crate) const fn between(start: u64, end: u64) -> Self {
        Self { start, length: end - start }
    }

    /// One past the last block.
    pub(crate) const fn end(self) -> u64 {
        self.start + self.length
    }

    /// The same run in blocks of which `ratio` make a filesystem block.
    ///
    /// # Panics
    /// If it is empty.
    pub(crate) fn range(self, ratio: u64) -> LbaRange {
        LbaRange::new(Lba(self.start * ratio), Blocks(self.length * ratio))
            .expect("an extent that is transferred is not empty")
    }

    /// What both have, if anything.
    pub(crate) fn overlap(self, other: Self) -> Option<Self> {
        let (start, end) = (self.start.max(other.start), self.end().min(other.end()));
        (start < end).then(|| Self::between(start, end))
    }

    /// The run in pieces of at most `longest` blocks, in order.
    pub(crate) fn pieces(self, longest: u64) -> impl Iterator<Item = Self> {
        let step = usize::try_from(longest).expect("a request fits in memory");
        (self.start..self.end())
            .step_by(step)
            .map(move |start| Self::between(start, self.end().min(start + longest)))
    }

    /// The run in pieces of which none crosses a multiple of `border`, in order.
    pub(crate) fn pieces_within(self, border: Option<u64>) -> impl Iterator<Item = Self> {
        let size = border.unwrap_or(u64::MAX);
        let last = (self.end() - 1) / size;
        (self.start / size..=last).filter_map(move |at| {
            let start = at * size;
            self.overlap(Self::between(start, start.saturating_add(size)))
        })
    }
}

/// A set of blocks of one file, as ranges that neither overlap nor touch, in order.
///
/// A sorted vector: a file has few ranges, mostly one, which lies in the set itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: SmallVec<[Extent; 1]>,
    total: u64,
}

impl RangeSet {
    /// Blocks in the set.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn first(&self) -> Option<Extent> {
        self.ranges.first().copied()
    }

    /// Adds the blocks; returns how many were not in it.
    pub(crate) fn insert(&mut self, added: Extent) -> u64 {
        if added.length == 0 {
            return 0;
        }
        let from = self.ranges.partition_point(|range| range.end() < added.start);
        let to = self.ranges.partition_point(|range| range.start <= added.end());
        let mut merged = added;
        let mut before = 0;
        for range in &self.ranges[from..to] {
            before += range.length;
            merged = Extent::between(merged.start.min(range.start), merged.end().max(range.end()));
        }
        if from == to {
            self.ranges.insert(from, merged);
        } else {
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        }
        self.total += merged.length - before;
        merged.length - before
    }

    /// Takes the blocks out; returns how many were in it.
    pub(crate) fn remove(&mut self, removed: Extent) -> u64 {
        let from = self.ranges.partition_point(|range| range.end() <= removed.start);
        let to = self.ranges.partition_point(|range| range.start < removed.end());
        if from >= to || removed.length == 0 {
            return 0;
        }
        let (first, last) = (self.ranges[from], self.ranges[to - 1]);
        let before: u64 = self.ranges[from..to].iter().map(|range| range.length).sum();
        let head =
            (first.start < removed.start).then(|| Extent::between(first.start, removed.start));
        let tail = (last.end() > removed.end()).then(|| Extent::between(removed.end(), last.end()));
        self.ranges.drain(from..to);
        self.ranges.insert_many(from, head.into_iter().chain(tail));
        let kept = [head, tail].iter().flatten().map(|range| range.length).sum::<u64>();
        self.total -= before - kept;
        before - kept
    }

    pub(crate) fn ranges(&self) -> &[Extent] {
        &self.ranges
    }

    /// The parts of `range` that are in the set, in order.
    pub(crate) fn within(&self, range: Extent) -> impl Iterator<Item = Extent> {
        let from = self.ranges.partition_point(|inside| inside.end() <= range.start);
        self.ranges[from..].iter().map_while(move |inside| inside.overlap(range))
    }

    /// The parts of `range` that are not in the set, in order.
    pub(crate) fn gaps(&self, range: Extent) -> Vec<Extent> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for inside in self.within(range) {
            if inside.start > at {
                gaps.push(Extent::between(at, inside.start));
            }
            at = inside.end();
        }
        if at < range.end() {
            gaps.push(Extent::between(at, range.end()));
        }
        gaps
    }
}
