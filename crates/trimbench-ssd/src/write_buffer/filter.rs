//! Which program groups may be in the buffer.
//!
//! The groups of a buffer are listed by their places; to look through them for each write or read
//! would take long. This table fits into the nearest cache of a processor and says "no" of nearly
//! all groups that are not there. It never says so of one that is: it is a counting filter
//! \[FAN00\] with one hash.

use trimbench_core::units::index;

/// Buckets a place of the buffer: one bucket in 64 is taken.
const BUCKETS: usize = 64;

/// The groups that are in the buffer, counted by their hash.
#[derive(Debug)]
pub(super) struct GroupFilter {
    counts: Vec<u16>,
}

impl GroupFilter {
    /// For a buffer of so many places.
    pub(super) fn new(places: usize) -> Self {
        Self { counts: vec![0; (places * BUCKETS).next_power_of_two()] }
    }

    #[inline]
    pub(super) fn add(&mut self, group: u32) {
        let bucket = self.bucket(group);
        self.counts[bucket] += 1;
    }

    /// A group that was added goes.
    #[inline]
    pub(super) fn remove(&mut self, group: u32) {
        let bucket = self.bucket(group);
        self.counts[bucket] -= 1;
    }

    /// Whether a group may be there.
    #[inline]
    pub(super) fn may_hold(&self, group: u32) -> bool {
        self.counts[self.bucket(group)] > 0
    }

    #[inline]
    fn bucket(&self, group: u32) -> usize {
        // Fibonacci hashing: neighbours come to lie far apart.
        let hash = u64::from(group).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        index(hash) & (self.counts.len() - 1)
    }
}
