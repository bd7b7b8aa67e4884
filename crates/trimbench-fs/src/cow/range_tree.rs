//! Runs of sectors in order, merged where they touch: the range trees of ZFS.

use std::collections::BTreeMap;

use crate::extent::Extent;

#[cfg(test)]
mod tests;

/// A set of sectors, as runs that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeTree {
    /// Length by start.
    runs: BTreeMap<u64, u64>,
    sectors: u64,
}

impl RangeTree {
    pub(crate) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The runs in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Extent> {
        self.runs.iter().map(|(&start, &length)| Extent::new(start, length))
    }

    /// Adds sectors.
    ///
    /// # Panics
    /// If one of them is there.
    pub(crate) fn add(&mut self, added: Extent) {
        let (mut start, mut end) = (added.start, added.end());
        if let Some((&before, &length)) = self.runs.range(..end).next_back() {
            assert!(before + length <= start, "a sector is added once");
            if before + length == start {
                self.runs.remove(&before);
                start = before;
            }
        }
        if let Some(length) = self.runs.remove(&end) {
            end += length;
        }
        self.runs.insert(start, end - start);
        self.sectors += added.length;
    }

    /// Takes out those sectors of `removed` that are there; how many they were.
    pub(crate) fn remove(&mut self, removed: Extent) -> u64 {
        let before = self.sectors;
        while let Some((&start, &length)) = self.runs.range(..removed.end()).next_back()
            && start + length > removed.start
        {
            let end = start + length;
            self.runs.remove(&start);
            if start < removed.start {
                self.runs.insert(start, removed.start - start);
            }
            if end > removed.end() {
                self.runs.insert(removed.end(), end - removed.end());
            }
            self.sectors -= end.min(removed.end()) - start.max(removed.start);
        }
        before - self.sectors
    }

    /// The first run of at least `sectors` that begins at `from` or behind it.
    pub(crate) fn first_fit(&self, from: u64, sectors: u64) -> Option<u64> {
        self.runs.range(from..).find(|(_, length)| **length >= sectors).map(|(&start, _)| start)
    }
}
