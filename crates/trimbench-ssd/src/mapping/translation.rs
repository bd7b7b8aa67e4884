//! The map of a drive without DRAM, as pages on its flash.

use super::Mapping;
use crate::mapping_cache::MappingCache;

impl Mapping {
    /// The same mapping behind a cache.
    pub(crate) fn with_translation(mut self, cache: MappingCache) -> Self {
        self.translation = Some(Box::new(cache));
        self
    }

    /// The mapping cache, in a drive without DRAM.
    #[inline]
    pub(crate) fn translation(&mut self) -> Option<&mut MappingCache> {
        self.translation.as_deref_mut()
    }

    /// The valid units of a victim are about to move: calls `on_flash` once with each translation
    /// page that must be read and programmed for it. What is cached is updated there.
    pub(crate) fn update_pages_of(&mut self, victim: u32, mut on_flash: impl FnMut(u32)) {
        let Some(cache) = &mut self.translation else { return };
        debug_assert!(self.ring.is_empty(), "the ring is drained before a collection");
        cache.begin_collection();
        let first = (victim as usize) << self.shift;
        let words = first / 64..(first + (1 << self.shift)) / 64;
        for word in words {
            let mut left = self.valid[word];
            while left != 0 {
                let ppn = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if let Some(page) = cache.moved(self.p2l[ppn]) {
                    on_flash(page);
                }
            }
        }
    }

    /// The drive is at rest: the cache is empty, and the map on flash is what is mapped.
    pub(crate) fn rest_translation(&mut self) {
        self.drain();
        if let Some(cache) = &mut self.translation {
            cache.rest(&self.l2p);
        }
    }

    /// Checks the cache, while no command is outstanding.
    pub(crate) fn check_translation(&mut self) {
        self.drain();
        if let Some(cache) = &self.translation {
            cache.check(&self.l2p);
        }
    }
}
