//! A file: its extents, its pages in the cache, and the commands on it.
//!
//! Units: bytes for sizes, filesystem blocks for everything else.

use smallvec::SmallVec;
use trimbench_core::{DirectoryId, FileOrder};

use crate::commands::Slot;
use crate::extent::Extent;
use crate::layout::MetadataId;
pub(crate) use pages::FilePages;

mod pages;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// First block within the file.
    pub(crate) logical: u64,
    pub(crate) extent: Extent,
}

impl Mapped {
    pub(crate) fn range(self) -> Extent {
        Extent::new(self.logical, self.extent.length)
    }

    fn part(self, range: Extent) -> Self {
        let offset = range.start - self.logical;
        let extent = Extent::new(self.extent.start + offset, range.length);
        Self { logical: range.start, extent }
    }
}

/// The extents of a file, in its order; neighbours that continue each other are one. Most files
/// have one, which lies in the map itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtentMap {
    extents: SmallVec<[Mapped; 1]>,
}

impl ExtentMap {
    pub(crate) fn extents(&self) -> &[Mapped] {
        &self.extents
    }

    /// The mapped parts of a range, in order.
    pub(crate) fn within(&self, range: Extent) -> impl Iterator<Item = Mapped> {
        let from = self.extents.partition_point(|mapped| mapped.range().end() <= range.start);
        self.extents[from..]
            .iter()
            .map_while(move |mapped| Some(mapped.part(mapped.range().overlap(range)?)))
    }

    /// Where the blocks of some ranges are, as far as they are anywhere.
    pub(crate) fn places(&self, ranges: &[Extent]) -> Vec<Extent> {
        ranges.iter().flat_map(|range| self.within(*range)).map(|mapped| mapped.extent).collect()
    }

    /// How many blocks of a range are mapped.
    pub(crate) fn count(&self, range: Extent) -> u64 {
        self.within(range).map(|mapped| mapped.extent.length).sum()
    }

    pub(crate) fn first_hole(&self, range: Extent) -> Option<Extent> {
        let mut at = range.start;
        for mapped in self.within(range) {
            if mapped.logical > at {
                return Some(Extent::between(at, mapped.logical));
            }
            at = mapped.range().end();
        }
        (at < range.end()).then(|| Extent::between(at, range.end()))
    }

    pub(crate) fn around(&self, logical: u64) -> (Option<Mapped>, Option<Mapped>) {
        let at = self.extents.partition_point(|mapped| mapped.logical < logical);
        let before = at.checked_sub(1).map(|before| self.extents[before]);
        (before, self.extents.get(at).copied())
    }

    /// Maps a hole.
    pub(crate) fn insert(&mut self, logical: u64, extent: Extent) {
        let at = self.extents.partition_point(|mapped| mapped.logical < logical);
        if let Some(before) = at.checked_sub(1).map(|before| &mut self.extents[before])
            && before.range().end() == logical
            && before.extent.end() == extent.start
        {
            before.extent.length += extent.length;
            return;
        }
        self.extents.insert(at, Mapped { logical, extent });
    }

    /// Unmaps a range and calls `freed` with each extent that it had.
    pub(crate) fn cut(&mut self, range: Extent, mut freed: impl FnMut(Extent)) {
        let from = self.extents.partition_point(|mapped| mapped.range().end() <= range.start);
        let to = self.extents.partition_point(|mapped| mapped.logical < range.end());
        if from >= to {
            return;
        }
        for mapped in &self.extents[from..to] {
            let part = mapped.range().overlap(range).expect("it lies in the range");
            freed(mapped.part(part).extent);
        }
        let (first, last) = (self.extents[from], self.extents[to - 1]);
        let head = (first.logical < range.start)
            .then(|| first.part(Extent::between(first.logical, range.start)));
        let tail = (last.range().end() > range.end())
            .then(|| last.part(Extent::between(range.end(), last.range().end())));
        self.extents.drain(from..to);
        self.extents.insert_many(from, head.into_iter().chain(tail));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    pub(crate) number: u64,
    pub(crate) directory: DirectoryId,
    pub(crate) open: bool,
}

/// The block that a file's extents lie in if the inode does not hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtentTree {
    pub(crate) extent: Extent,
    pub(crate) metadata: MetadataId,
}

/// A file, or a name that commands wait for.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Its inode, if it is there.
    pub(crate) inode: Option<Inode>,
    pub(crate) size: u64,
    pub(crate) map: ExtentMap,
    pub(crate) tree: Option<ExtentTree>,
    /// What is being written continues an extent, and is none with it yet.
    pub(crate) seam: bool,
    pub(crate) pages: FilePages,
    /// The last transaction that changed it.
    pub(crate) transaction: u32,
    pub(crate) order: FileOrder<Slot>,
}
