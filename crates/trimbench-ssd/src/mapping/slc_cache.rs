//! Superblocks of the SLC cache: which are being filled, and which are full and wait to be folded.
//!
//! A superblock of the cache is never a garbage-collection victim by its count; the full ones wait
//! in the order in which they were filled. A fixed cache has superblocks of its own, after all
//! others, with a separate free list.

use std::collections::VecDeque;

use super::{Frontier, Mapping, NOT_CLOSED, Stage};

#[derive(Debug, Default)]
pub(super) struct CacheSets {
    pub(super) present: bool,
    /// Free superblocks of a fixed cache.
    free: VecDeque<u32>,
    /// Full superblocks, the oldest first.
    full: VecDeque<u32>,
    /// How many superblocks are being filled.
    open: u32,
    /// How many superblocks a fixed cache has for itself.
    own: u32,
}

impl Mapping {
    /// The same mapping with a cache, to which the last `own` superblocks belong.
    pub(crate) fn with_cache(mut self, own: u64) -> Self {
        let own = u32::try_from(own).expect("configurations stay below 2^32 units");
        let first = self.superblock_count() - own;
        self.free.retain(|&superblock| superblock < first);
        self.cache =
            CacheSets { present: true, free: (first..first + own).collect(), own, ..self.cache };
        self
    }

    #[inline]
    pub(crate) fn has_cache(&self) -> bool {
        self.cache.present
    }

    /// Superblocks of the cache, full ones and those being filled.
    pub(crate) fn cache_in_use(&self) -> u64 {
        self.cache.full.len() as u64 + u64::from(self.cache.open)
    }

    /// Free superblocks of a fixed cache.
    pub(crate) fn cache_free(&self) -> u64 {
        self.cache.free.len() as u64
    }

    /// Units in full superblocks of the cache that are valid.
    pub(crate) fn cache_valid(&mut self) -> u64 {
        self.drain();
        let full = &self.cache.full;
        full.iter().map(|&full| u64::from(self.counts[full as usize] & !NOT_CLOSED)).sum()
    }

    /// Opens a superblock for the cache, of its own or else a free one. It holds `usable` units;
    /// they count as valid from now on, as with [`Self::open`].
    pub(crate) fn open_cache(&mut self, usable: u32) -> Option<Frontier> {
        let first = if self.cache.own > 0 {
            self.cache.free.pop_front().map(|superblock| self.start(superblock))?
        } else {
            self.open()?
        };
        self.stages[(first >> self.shift) as usize] = Stage::Caching;
        self.cache.open += 1;
        self.truncate(first, first + usable);
        Some(Frontier { next: first, end: first + usable })
    }

    pub(super) fn close_cache(&mut self, superblock: u32) {
        self.stages[superblock as usize] = Stage::Cached;
        self.cache.open -= 1;
        self.cache.full.push_back(superblock);
    }

    /// The full superblock of the cache that was filled first, and its valid units.
    pub(crate) fn oldest_cached(&mut self) -> Option<(u32, u32)> {
        self.drain();
        let &oldest = self.cache.full.front()?;
        Some((oldest, self.counts[oldest as usize] & !NOT_CLOSED))
    }

    /// The same, if the collector gains space for others by folding it.
    pub(crate) fn oldest_shared(&mut self) -> Option<(u32, u32)> {
        if self.cache.own > 0 { None } else { self.oldest_cached() }
    }

    pub(crate) fn is_cache(&self, superblock: u32) -> bool {
        matches!(self.stages[superblock as usize], Stage::Caching | Stage::Cached)
    }

    /// Whether the unit lies in the cache.
    #[inline]
    pub(super) fn in_cache(&self, ppn: u32) -> bool {
        self.cache.present && self.is_cache(ppn >> self.shift)
    }

    /// Whether the program group lies in the cache.
    #[inline]
    pub(crate) fn is_group_in_cache(&self, group: u32) -> bool {
        self.in_cache(group << self.group_shift)
    }

    /// Whether the superblock belongs to a fixed cache for ever.
    pub(crate) fn is_own(&self, superblock: u32) -> bool {
        superblock >= self.superblock_count() - self.cache.own
    }

    /// A superblock without valid units goes where free ones are taken from.
    pub(super) fn free_again(&mut self, superblock: u32) {
        if self.stages[superblock as usize] == Stage::Cached {
            let oldest = self.cache.full.pop_front();
            debug_assert_eq!(oldest, Some(superblock), "the cache is folded in its order");
        }
        self.stages[superblock as usize] = Stage::Free;
        if self.is_own(superblock) {
            self.cache.free.push_back(superblock);
        } else {
            self.free.push_back(superblock);
        }
    }

    /// Checks that the lists name exactly the superblocks of the cache.
    pub(super) fn check_cache(&self) {
        let count = |stage| self.stages.iter().filter(|&&other| other == stage).count();
        assert_eq!(count(Stage::Caching), self.cache.open as usize, "superblocks being filled");
        assert_eq!(count(Stage::Cached), self.cache.full.len(), "full superblocks of the cache");
        let cached = |superblock: &u32| self.stages[*superblock as usize] == Stage::Cached;
        assert!(self.cache.full.iter().all(cached), "the list holds full superblocks");
        assert!(self.cache.free.iter().all(|&free| self.is_own(free)), "the cache's own");
        assert!(!self.free.iter().any(|&free| self.is_own(free)), "and nobody else's");
    }

    fn superblock_count(&self) -> u32 {
        u32::try_from(self.stages.len()).expect("configurations stay below 2^32 units")
    }
}
