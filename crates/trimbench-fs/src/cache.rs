//! The page cache: how much is dirty, whose data is written back next, and what is evicted.
//!
//! Model: a buffered write makes pages dirty. Above `dirty_background` of the memory the flusher
//! writes back (pages under write-back do not count), oldest dirty file first; each
//! `write_back_interval` it also takes pages that have been dirty for `dirty_expire`. At
//! `dirty_limit` (pages under write-back count) writers wait for space, first come, first served.
//! Clean pages are evicted by whole files, least recently used first. Source: Linux
//! Documentation/admin-guide/sysctl/vm.rst, mm/page-writeback.c.
//!
//! Simplified: a hard limit, where Linux slows writers from halfway between the two thresholds on;
//! no estimate of the device's speed; no active and inactive lists; all memory counts as dirtyable.
//! Metadata of the filesystem is always in memory and not counted.
//!
//! Units: pages of 4 KiB.

use std::collections::{BTreeMap, VecDeque};

use trimbench_core::{Errno, FileId, Instant, Nanos};

use crate::allocator::Allocator;
use crate::commands::Slot;
use crate::config::{FS_BLOCK, FsConfig};
use crate::extent::Extent;
use crate::file::{File, FilePages};
use crate::files::Files;

/// So many uses are kept in any case.
const USES_LEAST: usize = 1_024;

/// What the cache knows of all files together.
#[derive(Debug, Default)]
pub(crate) struct PageCache {
    memory: u64,
    background: u64,
    limit: u64,
    /// Dirty pages that are not under write-back.
    dirty: u64,
    /// Pages under write-back, and those of all writes that ended.
    in_flight: u64,
    written_back: u64,
    /// Pages of files, dirty or not.
    cached: u64,
    /// Dirty files and since when, oldest first.
    dirty_files: BTreeMap<u64, (FileId, Instant)>,
    /// Uses of files, the oldest first: only the last use of a file that has pages counts.
    uses: VecDeque<(u64, FileId)>,
    files: usize,
    next_order: u64,
    flusher: Flusher,
    /// Writers that wait for room, and how many ever had to.
    throttled: VecDeque<Slot>,
    throttled_count: u64,
}

/// Who writes back, and for whom.
#[derive(Debug, Default)]
struct Flusher {
    depth: u32,
    interval: Nanos,
    expire: Nanos,
    /// When it looks again.
    looks_at: Instant,
    /// Data that are dirty since before this instant are written back.
    expired: Option<Instant>,
    /// Writes under way.
    requests: u32,
    /// Files that an fsync waits for.
    urgent: VecDeque<FileId>,
    /// Everything that became dirty up to here is written back: syncs wait.
    sync_until: u64,
    syncs: Vec<Slot>,
}

impl PageCache {
    pub(crate) fn new(config: &FsConfig) -> Self {
        let memory = config.memory.0 / FS_BLOCK.0;
        Self {
            memory,
            background: config.dirty_background.of(memory),
            limit: config.dirty_limit.of(memory),
            flusher: Flusher {
                depth: config.write_back_depth,
                interval: config.write_back_interval,
                expire: config.dirty_expire,
                looks_at: Instant::NEVER,
                ..Flusher::default()
            },
            ..Self::default()
        }
    }

    /// Dirty pages that are not under write-back.
    pub(crate) fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Pages that were written back.
    pub(crate) fn written_back(&self) -> u64 {
        self.written_back
    }

    /// Times that a writer had to wait for room.
    pub(crate) fn throttled_count(&self) -> u64 {
        self.throttled_count
    }

    /// Pages that may still become dirty.
    pub(crate) fn room(&self) -> u64 {
        self.limit.saturating_sub(self.dirty + self.in_flight)
    }

    /// A writer waits for room.
    pub(crate) fn throttle(&mut self, slot: Slot) {
        self.throttled.push_back(slot);
        self.throttled_count += 1;
    }

    /// The next writer that waits for room, if there is some.
    pub(crate) fn take_throttled(&mut self) -> Option<Slot> {
        if self.room() == 0 { None } else { self.throttled.pop_front() }
    }

    /// Pages of a file become dirty.
    pub(crate) fn make_dirty(
        &mut self,
        files: &mut Files,
        id: FileId,
        range: Extent,
        now: Instant,
    ) {
        let pages = &mut files[id].pages;
        let (added, fresh) = pages.make_dirty(range, self.next_order + 1);
        self.dirty += added;
        if fresh {
            self.next_order += 1;
            self.dirty_files.insert(self.next_order, (id, now));
        }
        self.keep(files, id, range);
        self.arm_flusher(now);
    }

    /// Pages of a file are in the cache and were just used.
    pub(crate) fn keep(&mut self, files: &mut Files, id: FileId, range: Extent) {
        let pages = &mut files[id].pages;
        self.cached += pages.keep(range);
        self.note_use(id, pages);
        // Uses that do not count are thrown away once they are the greater part.
        if self.uses.len() > 2 * self.files + USES_LEAST {
            let last = |order, id| files.get(id).is_some_and(|file| file.pages.is_last_use(order));
            self.uses.retain(|(order, file)| last(*order, *file));
        }
        self.evict(files);
    }

    /// Pages of a file are gone, and with them what was promised to them.
    pub(crate) fn forget(&mut self, file: &mut File, range: Extent, allocator: &mut Allocator) {
        let File { pages, map, .. } = file;
        let promised = |part: Extent| part.length - map.count(part);
        allocator.end_promise(pages.dirty().within(range).map(promised).sum());
        self.clean(pages, range);
        self.drop_cached(pages, range);
    }

    /// The file whose pages are written next, if any are to be and another write may be sent.
    pub(crate) fn next_to_write(&mut self, files: &Files) -> Option<FileId> {
        let flusher = &mut self.flusher;
        if flusher.requests >= flusher.depth {
            return None;
        }
        while let Some(&id) = flusher.urgent.front() {
            if files.get(id).is_some_and(|file| file.pages.any_dirty()) {
                return Some(id);
            }
            flusher.urgent.pop_front();
        }
        let (order, (id, since)) = self.dirty_files.first_key_value()?;
        let wanted = if flusher.syncs.is_empty() {
            let over = self.dirty > self.background;
            over || flusher.expired.is_some_and(|expired| *since <= expired)
        } else {
            *order <= flusher.sync_until
        };
        wanted.then_some(*id)
    }

    /// Dirty pages of a file are written, in so many requests.
    pub(crate) fn write(&mut self, pages: &mut FilePages, range: Extent, requests: u32) {
        pages.sent(requests);
        self.flusher.requests += requests;
        self.in_flight += self.clean(pages, range);
    }

    /// A write of so many pages of a file ended. If it was the last one, returns who waited for
    /// it.
    pub(crate) fn written(
        &mut self,
        pages: &mut FilePages,
        length: u64,
        failure: Option<Errno>,
    ) -> Option<Vec<Slot>> {
        self.flusher.requests -= 1;
        self.in_flight -= length;
        self.written_back += length;
        pages.written(failure)
    }

    /// An fsync waits for a file.
    pub(crate) fn hurry(&mut self, id: FileId) {
        self.flusher.urgent.push_back(id);
    }

    /// A sync waits for all that is dirty now.
    pub(crate) fn await_sync(&mut self, slot: Slot) {
        self.flusher.sync_until = self.next_order;
        self.flusher.syncs.push(slot);
    }

    /// The syncs for which everything is written that they wait for.
    pub(crate) fn take_synced(&mut self) -> Vec<Slot> {
        let oldest = self.dirty_files.first_key_value();
        let left = oldest.is_some_and(|(order, _)| *order <= self.flusher.sync_until);
        let over = self.flusher.requests == 0 && !left;
        if over { std::mem::take(&mut self.flusher.syncs) } else { Vec::new() }
    }

    /// When the flusher looks for what has been dirty for too long.
    pub(crate) fn flusher_at(&self) -> Instant {
        self.flusher.looks_at
    }

    /// The flusher looks. Returns since when something must be dirty to be written now.
    pub(crate) fn flusher_looks(&mut self, now: Instant) -> Option<Instant> {
        let flusher = &mut self.flusher;
        flusher.looks_at = Instant::NEVER;
        if now.since_start() < flusher.expire {
            return None;
        }
        flusher.expired = Some(now - flusher.expire);
        flusher.expired
    }

    /// The flusher is to look in a while, if it is not to anyway.
    pub(crate) fn arm_flusher(&mut self, now: Instant) {
        if self.flusher.looks_at == Instant::NEVER {
            self.flusher.looks_at = now + self.flusher.interval;
        }
    }

    /// Checks that it knows of all files together what they know. Returns how many dirty pages have
    /// no place on the device. Slow.
    pub(crate) fn check(&self, files: &Files) -> u64 {
        let (mut dirty, mut cached, mut requests, mut without_place) = (0, 0, 0, 0);
        for (_, file) in files.iter() {
            requests += file.pages.check();
            dirty += file.pages.dirty().total();
            cached += file.pages.cached().total();
            let placeless = |range: &Extent| range.length - file.map.count(*range);
            without_place += file.pages.dirty().ranges().iter().map(placeless).sum::<u64>();
        }
        assert_eq!(dirty, self.dirty, "the cache knows what is dirty");
        assert_eq!(cached, self.cached, "the cache knows what it holds");
        assert_eq!(requests, self.flusher.requests, "every write of the cache is a file's");
        without_place
    }

    /// A file is used last.
    fn note_use(&mut self, id: FileId, pages: &mut FilePages) {
        self.next_order += 1;
        self.uses.push_back((self.next_order, id));
        self.files += usize::from(pages.note_use(self.next_order));
    }

    /// Pages are dirty no more; how many were.
    fn clean(&mut self, pages: &mut FilePages, range: Extent) -> u64 {
        let (cleaned, left) = pages.clean(range);
        if let Some(order) = left {
            self.dirty_files.remove(&order);
        }
        self.dirty -= cleaned;
        cleaned
    }

    fn drop_cached(&mut self, pages: &mut FilePages, range: Extent) {
        let (evicted, left) = pages.evict(range);
        self.cached -= evicted;
        self.files -= usize::from(left);
    }

    /// Forgets clean files until the rest fits.
    fn evict(&mut self, files: &mut Files) {
        // What is in use at present comes up once.
        for _ in 0..self.uses.len() {
            if self.cached <= self.memory {
                return;
            }
            let Some((order, id)) = self.uses.pop_front() else { return };
            let Some(file) = files.get_mut(id) else { continue };
            let pages = &mut file.pages;
            if !pages.is_last_use(order) {
                continue;
            }
            if pages.any_dirty() || pages.any_in_flight() {
                // It stays until it is clean.
                self.note_use(id, pages);
            } else {
                self.drop_cached(pages, Extent::between(0, u64::MAX));
            }
        }
    }
}
