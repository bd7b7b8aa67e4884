//! Free space in metaslabs: where the next records go.
//!
//! Space is divided into metaslabs of equal size. Records go into one metaslab, from a cursor on
//! that wraps at its end, until no more fit; then into the one with the most free space, the first
//! of equals. Source: \[FBZFS\] `metaslab_group_alloc`, and `metaslab_weight` without the weight of
//! the position, which only rotating drives have. Fragmentation has no weight.
//!
//! Units: sectors of the stripe.

use std::collections::BTreeMap;

use trimbench_core::units::index;

use crate::extent::Extent;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct Space {
    metaslabs: Vec<Metaslab>,
    first: u64,
    metaslab_sectors: u64,
    active: usize,
    free: u64,
}

#[derive(Debug)]
struct Metaslab {
    /// Free extents by their start; none touches another.
    extents: BTreeMap<u64, u64>,
    free: u64,
    /// Where the last allocation ended.
    cursor: u64,
}

impl Space {
    /// `[first, end)` in at most `count` metaslabs; what is no multiple is left out at the end.
    ///
    /// # Panics
    /// If a metaslab would have no sector.
    pub(crate) fn new(first: u64, end: u64, count: u64) -> Self {
        let metaslab_sectors = (end - first) / count;
        assert!(metaslab_sectors > 0, "a metaslab has a sector");
        let metaslab = |number: u64| {
            let start = first + number * metaslab_sectors;
            Metaslab {
                extents: BTreeMap::from([(start, metaslab_sectors)]),
                free: metaslab_sectors,
                cursor: start,
            }
        };
        let free = count * metaslab_sectors;
        let metaslabs = (0..count).map(metaslab).collect();
        Self { metaslabs, first, metaslab_sectors, active: 0, free }
    }

    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    pub(crate) fn take(&mut self, sectors: u64) -> Option<u64> {
        let start =
            self.metaslabs[self.active].take(sectors).or_else(|| self.take_elsewhere(sectors));
        if start.is_some() {
            self.free -= sectors;
        }
        start
    }

    /// Gives sectors back.
    ///
    /// # Panics
    /// If part of them is free.
    pub(crate) fn give(&mut self, extent: Extent) {
        let number = index((extent.start - self.first) / self.metaslab_sectors);
        self.metaslabs[number].give(extent);
        self.free += extent.length;
    }

    /// Tries the other metaslabs, the emptiest first.
    fn take_elsewhere(&mut self, sectors: u64) -> Option<u64> {
        let mut others: Vec<usize> = (0..self.metaslabs.len())
            .filter(|&number| self.metaslabs[number].free >= sectors)
            .collect();
        others.sort_by_key(|&number| (std::cmp::Reverse(self.metaslabs[number].free), number));
        for number in others {
            if let Some(start) = self.metaslabs[number].take(sectors) {
                self.active = number;
                return Some(start);
            }
        }
        None
    }
}

impl Metaslab {
    fn take(&mut self, sectors: u64) -> Option<u64> {
        let fits = |(&start, &length): (&u64, &u64)| (length >= sectors).then_some((start, length));
        let behind = self.extents.range(self.cursor..).find_map(fits);
        let (start, length) = behind.or_else(|| self.extents.iter().find_map(fits))?;
        self.extents.remove(&start);
        if length > sectors {
            self.extents.insert(start + sectors, length - sectors);
        }
        self.free -= sectors;
        self.cursor = start + sectors;
        Some(start)
    }

    fn give(&mut self, extent: Extent) {
        let (mut start, mut end) = (extent.start, extent.end());
        if let Some((&before, &length)) = self.extents.range(..end).next_back() {
            assert!(before + length <= start, "space is given back once");
            if before + length == start {
                self.extents.remove(&before);
                start = before;
            }
        }
        if let Some(length) = self.extents.remove(&end) {
            end += length;
        }
        self.extents.insert(start, end - start);
        self.free += extent.length;
    }
}
