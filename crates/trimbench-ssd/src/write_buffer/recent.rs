//! Which units may be in the buffer.
//!
//! A drive that takes overwrites into its buffer must ask at every write whether the older data are
//! still there. The mapping knows, but is too large to be asked so often; this table is small, and
//! says "no" of nearly all units that are not there. It never says so of one that is.
//!
//! Time is cut into epochs, for each of the host's frontiers by itself: the groups of one frontier
//! fill and leave in the order in which they begin, so that an epoch whose groups are all full by
//! some count is over for good once the groups up to that count have left and lost their places.

use std::collections::VecDeque;

use trimbench_core::units::index;

use crate::memory::prefetch;

/// Buckets a unit of the buffer: one bucket in about 50 is taken.
const BUCKETS: usize = 64;
/// Epochs in the time that a group spends in a full buffer.
const EPOCHS: u64 = 8;
/// Epochs that are told apart at most: their numbers are bytes.
const EPOCHS_MAX: usize = 250;

/// The units that were written a while ago at most.
#[derive(Debug)]
pub(super) struct Recent {
    /// By the hash of a unit: the epoch of the last write there, for each frontier.
    epochs: Vec<[u8; 2]>,
    frontiers: [Epochs; 2],
    /// Places of the buffer.
    places: u64,
}

/// The epochs of a frontier of which data may be in the buffer.
#[derive(Debug)]
struct Epochs {
    /// The first and the last of them, counted around.
    oldest: u8,
    current: u8,
    /// Groups that have begun in the current one.
    begun: u64,
    /// Groups of the drive that were full when each of the others ended.
    ends: VecDeque<u64>,
}

impl Epochs {
    fn new() -> Self {
        // Nothing was written in epoch 0.
        Self { oldest: 1, current: 1, begun: 0, ends: VecDeque::new() }
    }

    #[inline]
    fn contain(&self, epoch: u8) -> bool {
        epoch.wrapping_sub(self.oldest) <= self.current.wrapping_sub(self.oldest)
    }
}

impl Recent {
    /// For a buffer of so many places, of `group_units` units each.
    pub(super) fn new(places: usize, group_units: usize) -> Self {
        let buckets = (places * group_units * BUCKETS).next_power_of_two();
        let frontiers = [Epochs::new(), Epochs::new()];
        Self { epochs: vec![[0; 2]; buckets], frontiers, places: places as u64 }
    }

    /// A group begins at a frontier (0 or 1), of which all that began before are full: of the
    /// drive's groups `full` are full and `left` have left.
    pub(super) fn begin(&mut self, frontier: usize, full: u64, left: u64) {
        let epochs = &mut self.frontiers[frontier];
        while epochs.ends.front().is_some_and(|end| end + self.places <= left) {
            epochs.ends.pop_front();
            epochs.oldest = epochs.oldest.wrapping_add(1);
        }
        if epochs.begun * EPOCHS >= self.places && epochs.ends.len() < EPOCHS_MAX {
            epochs.ends.push_back(full);
            epochs.current = epochs.current.wrapping_add(1);
            epochs.begun = 0;
        }
        epochs.begun += 1;
    }

    /// A unit is written into the open group of a frontier.
    #[inline]
    pub(super) fn write(&mut self, lpn: u32, frontier: usize) {
        let bucket = self.bucket(lpn);
        self.epochs[bucket][frontier] = self.frontiers[frontier].current;
    }

    /// Fetches what the two questions about a unit will touch.
    #[inline]
    pub(super) fn prefetch(&self, lpn: u32) {
        prefetch(&self.epochs, self.bucket(lpn));
    }

    /// Whether a unit may be in the buffer.
    #[inline]
    pub(super) fn may_hold(&self, lpn: u32) -> bool {
        let epochs = self.epochs[self.bucket(lpn)];
        self.frontiers.iter().zip(epochs).any(|(frontier, epoch)| frontier.contain(epoch))
    }

    /// From now on groups are counted from 0 again, and those that are full have left.
    pub(super) fn settle(&mut self) {
        for frontier in &mut self.frontiers {
            frontier.ends.iter_mut().for_each(|end| *end = 0);
        }
    }

    #[inline]
    fn bucket(&self, lpn: u32) -> usize {
        // Fibonacci hashing: neighbours come to lie far apart.
        let hash = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        index(hash) & (self.epochs.len() - 1)
    }
}

#[cfg(test)]
mod tests;
