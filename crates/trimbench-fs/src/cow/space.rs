//! Free space in metaslabs: where the next records go, and what is to be trimmed.
//!
//! Space is divided into metaslabs of equal size. Records go into one metaslab, from a cursor on
//! that wraps at its end, until no more fit; then into the one with the most free space, the first
//! of equals. Source: \[FBZFS\] `metaslab_group_alloc`, and `metaslab_weight` without the weight of
//! the position, which only rotating drives have. Fragmentation has no weight.
//!
//! For automatic trimming each metaslab remembers what was freed in it until that is trimmed or
//! allocated again. A metaslab that is trimmed is disabled meanwhile: nothing is allocated from it.
//! Source: \[OPENZFS\] `metaslab.c`, `ms_trim` and `metaslab_disable`.
//!
//! Units: sectors of the stripe.

use trimbench_core::Instant;
use trimbench_core::units::index;

use super::range_tree::RangeTree;
use crate::extent::Extent;

#[cfg(test)]
mod tests;

/// So many metaslabs can be disabled at once. Source: \[OPENZFS\] `max_disabled_ms`.
const DISABLED_MAX: usize = 3;

#[derive(Debug)]
pub(crate) struct Space {
    metaslabs: Vec<Metaslab>,
    first: u64,
    metaslab_sectors: u64,
    active: usize,
    free: u64,
    /// Whether metaslabs remember what is to be trimmed.
    keeps_trims: bool,
    /// Sectors that they remember.
    to_trim: u64,
    /// Sectors of these that were allocated again.
    reused: u64,
}

#[derive(Debug)]
struct Metaslab {
    free: RangeTree,
    /// Where the last allocation ended.
    cursor: u64,
    /// Freed, and neither trimmed nor allocated since.
    to_trim: RangeTree,
    /// When the first of it was freed.
    to_trim_since: Instant,
    /// By how many it is disabled.
    disabled: u32,
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
            let cursor = first + number * metaslab_sectors;
            let mut free = RangeTree::default();
            free.add(Extent::new(cursor, metaslab_sectors));
            Metaslab {
                free,
                cursor,
                to_trim: RangeTree::default(),
                to_trim_since: Instant::START,
                disabled: 0,
            }
        };
        Self {
            metaslabs: (0..count).map(metaslab).collect(),
            first,
            metaslab_sectors,
            active: 0,
            free: count * metaslab_sectors,
            keeps_trims: false,
            to_trim: 0,
            reused: 0,
        }
    }

    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    pub(crate) fn metaslabs(&self) -> usize {
        self.metaslabs.len()
    }

    pub(crate) fn take(&mut self, sectors: u64) -> Option<u64> {
        let start = self.take_from(self.active, sectors).or_else(|| self.take_elsewhere(sectors));
        if start.is_some() {
            self.free -= sectors;
        }
        start
    }

    /// Gives sectors back.
    ///
    /// # Panics
    /// If part of them is free.
    pub(crate) fn give(&mut self, extent: Extent, now: Instant) {
        let number = index((extent.start - self.first) / self.metaslab_sectors);
        let metaslab = &mut self.metaslabs[number];
        metaslab.free.add(extent);
        self.free += extent.length;
        if self.keeps_trims {
            if metaslab.to_trim.is_empty() {
                metaslab.to_trim_since = now;
            }
            metaslab.to_trim.add(extent);
            self.to_trim += extent.length;
        }
    }

    /// Begins or ends to remember what is to be trimmed. What is remembered is forgotten.
    pub(crate) fn keep_trims(&mut self, keeps: bool) {
        self.keeps_trims = keeps;
        self.metaslabs.iter_mut().for_each(|metaslab| metaslab.to_trim = RangeTree::default());
        self.to_trim = 0;
    }

    /// Sectors that are to be trimmed.
    pub(crate) fn to_trim(&self) -> u64 {
        self.to_trim
    }

    /// Sectors that were to be trimmed, and were allocated before.
    pub(crate) fn reused(&self) -> u64 {
        self.reused
    }

    /// Whether a metaslab has something to trim.
    pub(crate) fn has_trims(&self, metaslab: usize) -> bool {
        !self.metaslabs[metaslab].to_trim.is_empty()
    }

    /// What is to be trimmed of a metaslab, and since when; it is forgotten here.
    pub(crate) fn take_trims(&mut self, metaslab: usize) -> (RangeTree, Instant) {
        let metaslab = &mut self.metaslabs[metaslab];
        self.to_trim -= metaslab.to_trim.sectors();
        (std::mem::take(&mut metaslab.to_trim), metaslab.to_trim_since)
    }

    /// All that is free in a metaslab.
    pub(crate) fn free_in(&self, metaslab: usize) -> &RangeTree {
        &self.metaslabs[metaslab].free
    }

    /// Ends allocation from a metaslab until [`Self::enable`]. `false`: it is not disabled, because
    /// as many others are as may be.
    pub(crate) fn disable(&mut self, metaslab: usize) -> bool {
        let disabled = self.metaslabs.iter().filter(|metaslab| metaslab.disabled > 0).count();
        let may = self.metaslabs[metaslab].disabled > 0 || disabled < DISABLED_MAX;
        self.metaslabs[metaslab].disabled += u32::from(may);
        may
    }

    pub(crate) fn enable(&mut self, metaslab: usize) {
        self.metaslabs[metaslab].disabled -= 1;
    }

    /// Free sectors in metaslabs that are disabled.
    pub(crate) fn withheld(&self) -> u64 {
        let disabled = self.metaslabs.iter().filter(|metaslab| metaslab.disabled > 0);
        disabled.map(|metaslab| metaslab.free.sectors()).sum()
    }

    /// Tries the other metaslabs, the emptiest first.
    fn take_elsewhere(&mut self, sectors: u64) -> Option<u64> {
        let free = |number: usize| self.metaslabs[number].free.sectors();
        let mut others: Vec<usize> =
            (0..self.metaslabs.len()).filter(|&number| free(number) >= sectors).collect();
        others.sort_by_key(|&number| (std::cmp::Reverse(free(number)), number));
        let found = others
            .into_iter()
            .find_map(|number| self.take_from(number, sectors).map(|start| (number, start)));
        found.map(|(number, start)| {
            self.active = number;
            start
        })
    }

    fn take_from(&mut self, number: usize, sectors: u64) -> Option<u64> {
        let metaslab = &mut self.metaslabs[number];
        if metaslab.disabled > 0 {
            return None;
        }
        let behind = metaslab.free.first_fit(metaslab.cursor, sectors);
        let start = behind.or_else(|| metaslab.free.first_fit(0, sectors))?;
        let taken = Extent::new(start, sectors);
        metaslab.free.remove(taken);
        metaslab.cursor = taken.end();
        let reused = metaslab.to_trim.remove(taken);
        (self.to_trim, self.reused) = (self.to_trim - reused, self.reused + reused);
        Some(start)
    }
}

/// Bytes of a metaslab in a pool of so many bytes: a power of two. There are 16 or more of at most
/// 512 MiB in up to 8 GB, one for each 512 MiB in up to 100 GB, about 200 in up to 3 TB, then one
/// for each 16 GiB; from 2 PiB on at most 2^17. Source: \[OPENZFS\] `vdev_metaslab_set_size`.
pub(crate) fn metaslab_bytes(pool: u64) -> u64 {
    const DEFAULT: u32 = 29;
    const LEAST: u32 = 24;
    const MOST: u32 = 34;
    const COUNT_MOST: u64 = 1 << 17;
    let high_bit = |bytes: u64| u64::BITS - bytes.leading_zeros();
    let shift = match pool >> DEFAULT {
        ..16 => high_bit(pool / 16),
        16..=200 => DEFAULT,
        _ => high_bit(pool / 200),
    };
    1 << match shift.clamp(LEAST, MOST) {
        MOST if pool >> MOST > COUNT_MOST => high_bit(pool / COUNT_MOST),
        shift => shift,
    }
}
