//! The SLC cache and the host's write frontiers.
//!
//! There are two frontiers, inside and outside the cache. One is in use and the other is parked.
//! They swap only between two program groups, so that no group is left half full.

use trimbench_core::{Instant, Nanos};

use super::{Ftl, Streams};
use crate::config::{SlcCacheConfig, SlcMode, SsdConfig, WhenFull};
use crate::counters::DriveCounters;
use crate::nand::{Cells, Nand};

/// The cache as the frontier sees it. Which superblocks are in it is known to the mapping.
#[derive(Debug)]
pub(super) struct SlcCache {
    config: SlcCacheConfig,
    usable_units: u32,
    /// Superblocks at most, and what a full drive leaves it.
    most: u64,
    least: u64,
    exported_units: u64,
    /// Host data goes past the cache.
    bypassed: bool,
}

impl SlcCache {
    pub(super) fn new(cache: SlcCacheConfig, config: &SsdConfig) -> Self {
        Self {
            usable_units: u32::try_from(cache.usable_units(config)).expect("checked geometry"),
            most: cache.superblocks_of(cache.size, config),
            least: cache.superblocks_of(cache.minimum, config),
            exported_units: config.exported_units(),
            bypassed: false,
            config: cache,
        }
    }

    pub(super) fn usable_units(&self) -> u32 {
        self.usable_units
    }

    pub(super) fn fold_idle_after(&self) -> Nanos {
        self.config.fold_idle_after
    }
}

impl Ftl {
    /// Lets host data go past the cache, or no longer.
    pub(crate) fn bypass_cache(&mut self, bypassed: bool) {
        if let Streams::SlcCache(cache) = &mut self.streams {
            cache.bypassed = bypassed;
            self.reconsider = true;
        }
    }

    /// The die phase of a host read of a group.
    #[inline]
    pub(crate) fn sense(&mut self, group: u32, from: Instant, nand: &mut Nand) -> Instant {
        let cells = Cells::of(self.mapping.is_group_in_cache(group));
        self.sense_cells(cells, nand.die_of(group), from, nand)
    }

    /// The die phase of a read that a command waits for.
    #[inline]
    pub(crate) fn sense_cells(
        &mut self,
        cells: Cells,
        die: u32,
        from: Instant,
        nand: &mut Nand,
    ) -> Instant {
        let sensed = nand.sense(cells, die, from);
        self.postpone(die, from, nand);
        sensed
    }

    /// A read at `from` may have moved the ends of its die's programs.
    #[inline]
    fn postpone(&mut self, die: u32, from: Instant, nand: &Nand) {
        for (group, programmed_at) in nand.programs_of(die) {
            self.buffer.postponed(group, from, programmed_at);
        }
    }

    /// Folds in the idle time until `until`, if the host was quiet from `quiet` on for long enough.
    pub(super) fn fold_while_idle(
        &mut self,
        quiet: Instant,
        until: Instant,
        nand: &mut Nand,
        counters: &mut DriveCounters,
    ) {
        let Streams::SlcCache(cache) = &self.streams else { return };
        let from = quiet + cache.fold_idle_after();
        if from < until {
            self.gc.fold_while_idle(&(from..until), &mut self.mapping, nand, counters);
            self.reconsider = true;
        }
    }

    /// Folds all full superblocks of the cache.
    pub(super) fn fold_all(&mut self, nand: &Nand, counters: &mut DriveCounters) {
        while self.gc.fold_oldest(&mut self.mapping, nand, counters) {}
    }

    /// Whether the next program group goes into the cache; folds for it if the drive works so.
    pub(super) fn chooses_cache(&mut self, nand: &Nand, counters: &mut DriveCounters) -> bool {
        let Streams::SlcCache(cache) = &self.streams else { return false };
        if cache.bypassed {
            return false;
        }
        let frontier = if self.second { self.frontier } else { self.parked };
        if !frontier.is_closed() {
            return true;
        }
        let when_full = cache.config.when_full;
        if when_full == WhenFull::Reorganise && self.is_reorganised(nand, counters) {
            return self.cache_has_room(nand, counters);
        }
        let folds = when_full != WhenFull::Direct;
        loop {
            if self.cache_has_room(nand, counters) {
                return true;
            }
            if !folds || !self.gc.fold_oldest(&mut self.mapping, nand, counters) {
                return false;
            }
        }
    }

    /// Folds what the data on the drive no longer leave to the cache; whether it may be larger
    /// than its minimum, so that writes go past it when it is full.
    fn is_reorganised(&mut self, nand: &Nand, counters: &mut DriveCounters) -> bool {
        loop {
            let (in_use, allowed) = (self.mapping.cache_in_use(), self.cache_allowed());
            let Streams::SlcCache(cache) = &self.streams else { return false };
            if in_use <= allowed || !self.gc.fold_oldest(&mut self.mapping, nand, counters) {
                return allowed > cache.least;
            }
        }
    }

    /// Whether the cache may have another superblock: one of its own, or one without valid units
    /// that neither the collector needs nor the data on the drive.
    fn cache_has_room(&mut self, nand: &Nand, counters: &mut DriveCounters) -> bool {
        let Streams::SlcCache(cache) = &self.streams else { return false };
        if cache.config.mode == SlcMode::Fixed {
            return self.mapping.cache_free() > 0;
        }
        let in_use = self.mapping.cache_in_use();
        if in_use >= cache.most
            || !self.gc.has_room_without_moves(&mut self.mapping, nand, counters)
        {
            return false;
        }
        in_use < self.cache_allowed()
    }

    /// Superblocks that a dynamic cache may have beside the data on the drive.
    fn cache_allowed(&mut self) -> u64 {
        let Streams::SlcCache(cache) = &self.streams else { return 0 };
        // What is in the cache takes no room beside it yet.
        let elsewhere = self.mapping.mapped_units() - self.mapping.cache_valid();
        let unused = cache.exported_units - elsewhere;
        let spare = unused / u64::from(self.mapping.superblock_units());
        spare.min(cache.most).max(cache.least)
    }
}
