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

use trimbench_core::{FileId, Instant};

use crate::commands::Slot;
use crate::config::{FS_BLOCK, FsConfig};

/// So many uses are kept in any case.
const USES_LEAST: usize = 1_024;

/// What the cache knows of all files together.
#[derive(Debug)]
pub(crate) struct PageCache {
    memory: u64,
    background: u64,
    limit: u64,
    /// Dirty pages that are not under write-back.
    pub(crate) dirty: u64,
    /// Pages under write-back.
    pub(crate) in_flight: u64,
    /// Dirty pages that have no place on the device yet.
    pub(crate) delayed: u64,
    /// Pages of files, dirty or not.
    pub(crate) cached: u64,
    /// Dirty files and since when, oldest first.
    dirty_files: BTreeMap<u64, (FileId, Instant)>,
    /// Uses of files, the oldest first: only the last use of a file that has pages counts.
    uses: VecDeque<(u64, FileId)>,
    files: usize,
    next_order: u64,
    /// Writers that wait for room.
    pub(crate) throttled: VecDeque<Slot>,
}

impl PageCache {
    pub(crate) fn new(config: &FsConfig) -> Self {
        let memory = config.memory.0 / FS_BLOCK.0;
        Self {
            memory,
            background: config.dirty_background.of(memory),
            limit: config.dirty_limit.of(memory),
            dirty: 0,
            in_flight: 0,
            delayed: 0,
            cached: 0,
            dirty_files: BTreeMap::new(),
            uses: VecDeque::new(),
            files: 0,
            next_order: 0,
            throttled: VecDeque::new(),
        }
    }

    /// Pages that may still become dirty.
    pub(crate) fn room(&self) -> u64 {
        self.limit.saturating_sub(self.dirty + self.in_flight)
    }

    /// Whether so much is dirty that the flusher runs.
    pub(crate) fn over_background(&self) -> bool {
        self.dirty > self.background
    }

    /// Whether clean pages must go.
    pub(crate) fn over_memory(&self) -> bool {
        self.cached > self.memory
    }

    /// The file that has been dirty for longest, its place in that order, and since when.
    pub(crate) fn oldest_dirty(&self) -> Option<(u64, FileId, Instant)> {
        self.dirty_files.first_key_value().map(|(order, (file, since))| (*order, *file, *since))
    }

    /// The last place in the order of dirty files.
    pub(crate) fn latest_order(&self) -> u64 {
        self.next_order
    }

    pub(crate) fn add_dirty_file(&mut self, file: FileId, now: Instant) -> u64 {
        self.next_order += 1;
        self.dirty_files.insert(self.next_order, (file, now));
        self.next_order
    }

    pub(crate) fn remove_dirty_file(&mut self, order: u64) {
        self.dirty_files.remove(&order);
    }

    /// A file is used; `order` is its former place. Returns its new one.
    pub(crate) fn used(&mut self, file: FileId, order: Option<u64>) -> u64 {
        self.files += usize::from(order.is_none());
        self.next_order += 1;
        self.uses.push_back((self.next_order, file));
        self.next_order
    }

    /// A file has no page any more.
    pub(crate) fn forget(&mut self) {
        self.files -= 1;
    }

    /// Takes out the oldest use: the file's place in the order of use, if it was the last one.
    pub(crate) fn pop_use(&mut self) -> Option<(u64, FileId)> {
        self.uses.pop_front()
    }

    /// Throws away the uses that do not count, once they are the greater part; `last` says whether
    /// one does.
    pub(crate) fn tidy_uses(&mut self, last: impl Fn(u64, FileId) -> bool) {
        if self.uses.len() > 2 * self.files + USES_LEAST {
            self.uses.retain(|(order, file)| last(*order, *file));
        }
    }

    pub(crate) fn uses(&self) -> usize {
        self.uses.len()
    }
}
