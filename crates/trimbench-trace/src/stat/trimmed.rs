//! Trimmed units, and since when: extents that do not overlap.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Position;

/// Extents that are followed at most.
pub const EXTENTS_MAX: usize = 1 << 22;

/// Which units are trimmed.
#[derive(Debug, Default)]
pub(super) struct TrimmedMap {
    /// By the first unit.
    extents: BTreeMap<u64, Extent>,
    units: u64,
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    end: u64,
    since: Position,
}

impl TrimmedMap {
    pub(super) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// How many units are trimmed.
    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Takes a range out, and tells how many units of it were trimmed since when. How many units
    /// behind it are followed no more, because there would be too many extents.
    pub(super) fn take(&mut self, range: Range<u64>, mut taken: impl FnMut(u64, Position)) -> u64 {
        let mut lost = 0;
        // The one that begins before the range.
        if let Some((start, extent)) = self.extents.range(..range.start).next_back()
            && extent.end > range.start
        {
            let (start, extent) = (*start, *extent);
            let end = extent.end.min(range.end);
            self.extents.insert(start, Extent { end: range.start, ..extent });
            lost += self.keep_tail(range.end, extent);
            self.units -= end - range.start;
            taken(end - range.start, extent.since);
        }
        while let Some((start, extent)) = self.extents.range(range.clone()).next() {
            let (start, extent) = (*start, *extent);
            self.extents.remove(&start);
            let end = extent.end.min(range.end);
            lost += self.keep_tail(range.end, extent);
            self.units -= end - start;
            taken(end - start, extent.since);
        }
        lost
    }

    /// Keeps what an extent has from `start` on; how many units of that could not be kept.
    fn keep_tail(&mut self, start: u64, extent: Extent) -> u64 {
        if extent.end <= start {
            return 0;
        }
        if self.extents.len() < EXTENTS_MAX {
            self.extents.insert(start, extent);
            return 0;
        }
        self.units -= extent.end - start;
        extent.end - start
    }

    /// Puts a range in, of which nothing is; false if there are too many extents.
    pub(super) fn put(&mut self, range: Range<u64>, since: Position) -> bool {
        if self.extents.len() >= EXTENTS_MAX {
            return false;
        }
        self.units += range.end - range.start;
        self.extents.insert(range.start, Extent { end: range.end, since });
        true
    }
}
