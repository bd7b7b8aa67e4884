//! The mapping cache: which translation pages a drive without DRAM holds, and which lie on flash.
//!
//! Model: demand caching of whole translation pages, after \[GUPT09\]. The least recently used page
//! is evicted (exact LRU, by a list through the frames: each step takes constant time); an updated
//! page is programmed at its eviction. A page that no unit ever needed, or that was trimmed as a
//! whole, has no location; the directory of pages, which is always in memory, records that.
//!
//! The cost of a page is computed elsewhere: `ssd/path/translation` and `gc/map`. Memory: 12 bytes
//! for each translation page of the drive, 16 for each cached page.
//!
//! Invariants (checked by [`MappingCache::check`]):
//! - a cached page names its frame, and that frame the page; the list has each frame in use once;
//! - a page with an entry in use has a location.

use std::ops::Range;

use trimbench_core::Instant;
use trimbench_core::units::{index, narrow};

use crate::config::{MappingCacheConfig, SsdConfig};
use crate::mapping::UNMAPPED;
use crate::slots::Slot;

#[cfg(test)]
mod tests;

/// No frame.
const NONE: u32 = u32::MAX;

/// Where a translation page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It holds no entry in use.
    Nowhere,
    /// On the flash alone.
    Flash,
    /// On its way into the cache; who fetches it, and whether it was updated meanwhile.
    Loading { first: Slot, updated: bool },
    /// In this frame.
    Cached(u32),
}

/// What a command finds that needs a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is cached.
    Cached,
    /// The command in this slot fetches it.
    Loading(Slot),
    /// It must be read.
    OnFlash,
    /// There is none.
    Nowhere,
}

/// What a TRIM does to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trimmed {
    /// It must be read, to know what is freed.
    pub(crate) loads: bool,
    /// It takes the place of this page, which must be programmed.
    pub(crate) writes_back: Option<u32>,
}

/// A page in the cache.
#[derive(Clone, Copy, Debug)]
struct Frame {
    page: u32,
    /// The frames used next after this one and last before it.
    newer: u32,
    older: u32,
    /// The page differs from what is on the flash.
    updated: bool,
}

/// The cache and its directory.
#[derive(Debug)]
pub(crate) struct MappingCache {
    /// log2 of the entries of a page.
    shift: u32,
    /// Units of the drive: its last page may have fewer than others.
    units: u32,
    places: Vec<Place>,
    /// The number of the last collection that moved units of each page.
    moved_in: Vec<u32>,
    /// How many collections there were.
    collections: u32,
    frames: Vec<Frame>,
    frames_max: usize,
    vacant: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// When the last programs of updated pages end, in a circle: as many at once as there are dies.
    write_backs: Vec<Instant>,
    written_back: u64,
}

impl MappingCache {
    /// Of a drive that holds nothing.
    pub(crate) fn new(cache: &MappingCacheConfig, config: &SsdConfig) -> Self {
        let (pages, frames) = (index(cache.pages(config)), index(cache.frames(config)));
        Self {
            shift: cache.entries().trailing_zeros(),
            units: narrow(config.exported_units()),
            places: vec![Place::Nowhere; pages],
            moved_in: vec![0; pages],
            collections: 0,
            frames: Vec::with_capacity(frames),
            frames_max: frames,
            vacant: Vec::new(),
            newest: NONE,
            oldest: NONE,
            write_backs: vec![Instant::START; config.geometry.dies as usize],
            written_back: 0,
        }
    }

    /// The translation pages of the units `[first, end)`.
    pub(crate) fn pages_of(&self, first: u32, end: u32) -> Range<u32> {
        if first == end { 0..0 } else { first >> self.shift..((end - 1) >> self.shift) + 1 }
    }

    /// What a command finds that reads the page, or `updates` it. A page that is found cached is
    /// the last that goes.
    pub(crate) fn reach(&mut self, page: u32, updates: bool) -> Found {
        match self.places[page as usize] {
            Place::Nowhere => Found::Nowhere,
            Place::Flash => Found::OnFlash,
            Place::Loading { first, .. } => Found::Loading(first),
            Place::Cached(frame) => {
                self.unlink(frame);
                self.link(frame);
                self.frames[frame as usize].updated |= updates;
                Found::Cached
            }
        }
    }

    /// From now on the page is on its way, fetched by the command in this slot.
    pub(crate) fn expect(&mut self, page: u32, first: Slot) {
        self.places[page as usize] = Place::Loading { first, updated: false };
    }

    /// When a page that comes at `now` finds its place: it waits while the one that must go cannot
    /// be programmed yet.
    pub(crate) fn room_at(&self, now: Instant) -> Instant {
        let full = self.vacant.is_empty() && self.frames.len() == self.frames_max;
        if full && self.frames[self.oldest as usize].updated {
            self.write_backs[self.write_back_place()].max(now)
        } else {
            now
        }
    }

    /// A page that was expected is cached; the page that must be programmed because it goes.
    pub(crate) fn arrive(&mut self, page: u32) -> Option<u32> {
        let updated = matches!(self.places[page as usize], Place::Loading { updated: true, .. });
        self.insert(page, updated)
    }

    /// The program of a page that went ends at this instant.
    pub(crate) fn written_back(&mut self, until: Instant) {
        let place = self.write_back_place();
        self.write_backs[place] = until;
        self.written_back += 1;
    }

    /// A TRIM of these units, some of which are of this page.
    pub(crate) fn trim(&mut self, page: u32, units: &Range<u32>) -> Trimmed {
        let (first, end) = (units.start, units.end);
        let begin = u64::from(page) << self.shift;
        let whole = u64::from(first) <= begin
            && (u64::from(end) >= begin + (1 << self.shift) || end == self.units);
        match (self.places[page as usize], whole) {
            (Place::Nowhere, _) => Trimmed::default(),
            (Place::Flash, true) => {
                self.places[page as usize] = Place::Nowhere;
                Trimmed { loads: true, writes_back: None }
            }
            (Place::Flash, false) => Trimmed { loads: true, writes_back: self.insert(page, true) },
            (Place::Loading { first, .. }, _) => {
                self.places[page as usize] = Place::Loading { first, updated: true };
                Trimmed::default()
            }
            (Place::Cached(frame), true) => {
                self.unlink(frame);
                self.vacant.push(frame);
                self.places[page as usize] = Place::Nowhere;
                Trimmed::default()
            }
            (Place::Cached(_), false) => {
                self.reach(page, true);
                Trimmed::default()
            }
        }
    }

    /// A collection begins: what [`Self::moved`] says of a page, it says once.
    pub(crate) fn begin_collection(&mut self) {
        self.collections = self.collections.wrapping_add(1);
    }

    /// The collector moves a unit: the page that it must read and program for that.
    pub(crate) fn moved(&mut self, lpn: u32) -> Option<u32> {
        let page = lpn >> self.shift;
        let last = std::mem::replace(&mut self.moved_in[page as usize], self.collections);
        if last == self.collections {
            return None;
        }
        match &mut self.places[page as usize] {
            Place::Flash => return Some(page),
            Place::Loading { updated, .. } => *updated = true,
            Place::Cached(frame) => self.frames[*frame as usize].updated = true,
            // The update of a write that has not reached the map comes with it.
            Place::Nowhere => {}
        }
        None
    }

    /// The cache is empty and all pages are on flash, by what is mapped.
    pub(crate) fn rest(&mut self, l2p: &[u32]) {
        self.frames.clear();
        self.vacant.clear();
        (self.newest, self.oldest) = (NONE, NONE);
        self.write_backs.fill(Instant::START);
        for (place, entries) in self.places.iter_mut().zip(l2p.chunks(1 << self.shift)) {
            let in_use = entries.iter().any(|&ppn| ppn != UNMAPPED);
            *place = if in_use { Place::Flash } else { Place::Nowhere };
        }
    }

    /// Checks all invariants, of a drive without outstanding commands.
    ///
    /// # Panics
    /// If one does not hold.
    pub(crate) fn check(&self, l2p: &[u32]) {
        let mut cached = 0;
        for (page, (place, entries)) in
            self.places.iter().zip(l2p.chunks(1 << self.shift)).enumerate()
        {
            let in_use = entries.iter().any(|&ppn| ppn != UNMAPPED);
            assert!(*place != Place::Nowhere || !in_use, "translation page {page} is somewhere");
            assert!(!matches!(place, Place::Loading { .. }), "nobody waits for page {page}");
            if let Place::Cached(frame) = place {
                assert_eq!(
                    self.frames[*frame as usize].page as usize, page,
                    "frame and page agree"
                );
                cached += 1;
            }
        }
        let (mut listed, mut frame, mut newer) = (0, self.newest, NONE);
        while frame != NONE {
            assert_eq!(self.frames[frame as usize].newer, newer, "the list leads both ways");
            (newer, frame) = (frame, self.frames[frame as usize].older);
            listed += 1;
        }
        assert_eq!(newer, self.oldest, "the list ends with the oldest");
        assert_eq!(listed, cached, "the list has all cached pages");
        assert_eq!(self.frames.len() - self.vacant.len(), cached, "other frames are vacant");
        assert!(self.frames.len() <= self.frames_max, "the cache is no larger than it says");
    }

    fn write_back_place(&self) -> usize {
        index(self.written_back % self.write_backs.len() as u64)
    }

    /// Caches a page; the page that must be programmed because it goes.
    fn insert(&mut self, page: u32, updated: bool) -> Option<u32> {
        let mut writes_back = None;
        let frame = if let Some(frame) = self.vacant.pop() {
            frame
        } else if self.frames.len() < self.frames_max {
            self.frames.push(Frame { page, newer: NONE, older: NONE, updated });
            narrow(self.frames.len() as u64 - 1)
        } else {
            let oldest = self.oldest;
            let gone = self.frames[oldest as usize];
            writes_back = gone.updated.then_some(gone.page);
            self.places[gone.page as usize] = Place::Flash;
            self.unlink(oldest);
            oldest
        };
        self.frames[frame as usize] = Frame { page, newer: NONE, older: NONE, updated };
        self.places[page as usize] = Place::Cached(frame);
        self.link(frame);
        writes_back
    }

    /// Takes a frame out of the list.
    fn unlink(&mut self, frame: u32) {
        let Frame { newer, older, .. } = self.frames[frame as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.frames[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.frames[older as usize].newer = newer,
        }
    }

    /// Puts a frame at the new end of the list.
    fn link(&mut self, frame: u32) {
        let before = self.newest;
        let entry = &mut self.frames[frame as usize];
        (entry.newer, entry.older) = (NONE, before);
        match before {
            NONE => self.oldest = frame,
            before => self.frames[before as usize].newer = frame,
        }
        self.newest = frame;
    }
}
