//! The pages of a file.

use trimbench_core::Errno;

use crate::commands::Slot;
use crate::extent::{Extent, RangeSet};

/// Which pages of a file are in the cache, and what they wait for.
#[derive(Debug, Default)]
pub(crate) struct FilePages {
    /// Those that differ from the device; those without a place on it get one at write-back.
    dirty: RangeSet,
    /// Those in the cache, dirty ones too.
    cached: RangeSet,
    /// The file's place in the order of dirty files, if it is one.
    dirty_order: Option<u64>,
    /// Its place in the order of use, if it has pages.
    used_order: Option<u64>,
    /// Writes under way.
    in_flight: u32,
    /// A write-back failed since the last fsync.
    failure: Option<Errno>,
    /// Commands that wait until it is not written back any more.
    waiters: Vec<Slot>,
}

impl FilePages {
    pub(crate) fn any_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    pub(crate) fn any_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// The dirty ranges.
    pub(crate) fn dirty(&self) -> &RangeSet {
        &self.dirty
    }

    /// The ranges in the cache.
    pub(crate) fn cached(&self) -> &RangeSet {
        &self.cached
    }

    /// A command waits until the file is not written back any more.
    pub(crate) fn await_written(&mut self, slot: Slot) {
        self.waiters.push(slot);
    }

    /// What a write-back failed with since the last call.
    pub(crate) fn take_failure(&mut self) -> Option<Errno> {
        self.failure.take()
    }

    /// Pages become dirty; `order` is the file's place if none was. Returns how many were not, and
    /// whether the file takes the place.
    pub(crate) fn make_dirty(&mut self, range: Extent, order: u64) -> (u64, bool) {
        let fresh = self.dirty_order.is_none();
        self.dirty_order.get_or_insert(order);
        (self.dirty.insert(range), fresh)
    }

    /// Pages are dirty no more. Returns how many were, and the place that the file leaves if none
    /// is left.
    pub(crate) fn clean(&mut self, range: Extent) -> (u64, Option<u64>) {
        let cleaned = self.dirty.remove(range);
        let left = if self.dirty.is_empty() { self.dirty_order.take() } else { None };
        (cleaned, left)
    }

    /// Pages are in the cache. Returns how many were not.
    pub(crate) fn keep(&mut self, range: Extent) -> u64 {
        self.cached.insert(range)
    }

    /// Pages are in the cache no more. Returns how many were, and whether the file leaves the
    /// order of use because none is left.
    pub(crate) fn evict(&mut self, range: Extent) -> (u64, bool) {
        let evicted = self.cached.remove(range);
        (evicted, self.cached.is_empty() && self.used_order.take().is_some())
    }

    /// The file is used, which gives it a place. Returns whether it had none.
    pub(crate) fn note_use(&mut self, order: u64) -> bool {
        self.used_order.replace(order).is_none()
    }

    /// Whether this was the last use of the file.
    pub(crate) fn is_last_use(&self, order: u64) -> bool {
        self.used_order == Some(order)
    }

    /// So many writes are sent.
    pub(crate) fn sent(&mut self, writes: u32) {
        self.in_flight += writes;
    }

    /// A write ended. If it was the last one, returns who waited for it.
    pub(crate) fn written(&mut self, failure: Option<Errno>) -> Option<Vec<Slot>> {
        self.in_flight -= 1;
        self.failure = self.failure.or(failure);
        (self.in_flight == 0).then(|| std::mem::take(&mut self.waiters))
    }

    /// Checks the invariants. Returns how many writes are under way.
    pub(crate) fn check(&self) -> u32 {
        for range in self.dirty.ranges() {
            assert!(self.cached.gaps(*range).is_empty(), "dirty pages are in the cache");
        }
        assert_eq!(self.dirty.is_empty(), self.dirty_order.is_none(), "dirty files are known");
        assert_eq!(self.cached.is_empty(), self.used_order.is_none(), "users are known");
        self.in_flight
    }
}
