//! The discard candidates of f2fs: freed space that waits for the discard thread.
//!
//! Model, after fs/f2fs/segment.c (Linux 6.6 to 7.3): candidates are in a tree by address and in
//! 512 lists by length in blocks of 4 KiB; the last list has all that are longer. One that is filed
//! is joined with what it touches, up to the longest discard of the device
//! (`__update_discard_tree_range`), and goes to the end of its list. The largest class is discarded
//! first. Where small ones go too, those below 64 KiB go in the order of addresses
//! (`__issue_discard_cmd_orderly`).
//!
//! f2fs takes blocks out when they are allocated (`__punch_discard_cmd`); here whoever takes a
//! candidate looks what of it is still free.
//!
//! Units: filesystem blocks of 4 KiB.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::extent::Extent;

#[cfg(test)]
mod tests;

/// Classes of length (`MAX_PLIST_NUM`); the last one is for 2 MiB and all that is longer.
const CLASSES: u64 = 512;

/// A candidate's place in the lists: the longest class first, then in the order of coming.
type Place = (Reverse<u64>, u64);

/// Freed space that waits, by address and by length.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Length and place by start.
    tree: BTreeMap<u64, (u64, Place)>,
    /// Start by place.
    lists: BTreeMap<Place, u64>,
    filed: u64,
    total: u64,
}

/// The class of a candidate of this length.
pub(crate) fn class(length: u64) -> u64 {
    length.min(CLASSES)
}

impl Candidates {
    /// Blocks that wait.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Files freed blocks, all that are not there already, and joins them with candidates that
    /// they touch if together they are not longer than `longest`; how many were not there.
    pub(crate) fn file(&mut self, extent: Extent, longest: u64) -> u64 {
        let before = self.total;
        let mut at = extent.start;
        while at < extent.end() {
            let covered = self.end_of_candidate_at(at);
            if covered > at {
                at = covered;
                continue;
            }
            let next = self.tree.range(at..extent.end()).next();
            let end = next.map_or(extent.end(), |(start, _)| *start);
            self.join(Extent::between(at, end), longest);
            at = end;
        }
        self.total - before
    }

    /// Puts a candidate at the end of its list; nothing of it may be there.
    pub(crate) fn insert(&mut self, extent: Extent) {
        self.filed += 1;
        let place = (Reverse(class(extent.length)), self.filed);
        self.lists.insert(place, extent.start);
        let there = self.tree.insert(extent.start, (extent.length, place));
        assert!(there.is_none(), "a block is filed once");
        self.total += extent.length;
    }

    /// Takes a candidate out.
    pub(crate) fn remove(&mut self, start: u64) -> Extent {
        let (length, place) = self.tree.remove(&start).expect("who removes it has seen it");
        self.lists.remove(&place);
        self.total -= length;
        Extent::new(start, length)
    }

    /// Leaves these parts of a candidate, each at the end of its list.
    pub(crate) fn leave(&mut self, candidate: Extent, parts: &[Extent]) {
        self.remove(candidate.start);
        for part in parts {
            self.insert(*part);
        }
    }

    /// Of the candidates of the largest class the one that has waited longest in its list.
    pub(crate) fn largest(&self) -> Option<Extent> {
        let (_, &start) = self.lists.first_key_value()?;
        Some(Extent::new(start, self.tree[&start].0))
    }

    /// The first candidate that ends behind an address.
    pub(crate) fn ending_behind(&self, address: u64) -> Option<Extent> {
        let before = self.tree.range(..address).next_back();
        let before = before.filter(|(start, (length, _))| **start + length > address);
        let found = before.or_else(|| self.tree.range(address..).next());
        found.map(|(start, (length, _))| Extent::new(*start, *length))
    }

    /// Blocks of an extent that are there.
    pub(crate) fn overlap(&self, extent: Extent) -> u64 {
        let (mut at, mut sum) = (extent.start, 0);
        while let Some(next) = self.ending_behind(at)
            && let Some(both) = next.overlap(extent)
        {
            sum += both.length;
            at = next.end();
        }
        sum
    }

    /// Forgets everything; how many blocks.
    pub(crate) fn clear(&mut self) -> u64 {
        std::mem::take(self).total
    }

    fn end_of_candidate_at(&self, address: u64) -> u64 {
        let at = self.tree.range(..=address).next_back();
        at.map_or(address, |(start, (length, _))| address.max(start + length))
    }

    /// Files blocks of which none is there: first joined with what lies before, then with what lies
    /// behind.
    fn join(&mut self, gap: Extent, longest: u64) {
        let mut joined = gap;
        let before = self.tree.range(..gap.start).next_back();
        if let Some((&start, &(length, _))) = before
            && start + length == gap.start
            && length + gap.length <= longest
        {
            joined = Extent::between(self.remove(start).start, gap.end());
        }
        if let Some(&(length, _)) = self.tree.get(&gap.end())
            && joined.length + length <= longest
        {
            joined = Extent::between(joined.start, self.remove(gap.end()).end());
        }
        self.insert(joined);
    }
}
