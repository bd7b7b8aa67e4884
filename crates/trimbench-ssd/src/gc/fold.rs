//! Folding: moves valid data from the SLC cache to the other cells.
//!
//! A fold is a collection whose victim is the oldest full superblock of the cache: the same reads
//! (of one-bit cells), programs, erases and debt.

use std::ops::Range;

use trimbench_core::Instant;

use super::GarbageCollector;
use crate::counters::DriveCounters;
use crate::mapping::Mapping;
use crate::nand::Nand;

impl GarbageCollector {
    /// Folds the oldest full superblock of the cache; whether there was one.
    pub(crate) fn fold_oldest(
        &mut self,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut DriveCounters,
    ) -> bool {
        if mapping.oldest_cached().is_none() {
            return false;
        }
        // What is folded out of a cache of its own needs room among the others; making it may fold
        // the last superblock of one that shares its flash.
        self.make_room(mapping, nand, counters);
        if let Some((oldest, _)) = mapping.oldest_cached() {
            self.collect(oldest, mapping, nand, counters);
        }
        true
    }

    /// Whether there are free superblocks beyond the collector's own, after reclaiming those that
    /// hold nothing valid any more.
    pub(crate) fn has_room_without_moves(
        &mut self,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut DriveCounters,
    ) -> bool {
        while !self.has_room(mapping) {
            match super::emptiest(mapping) {
                Some((empty, 0)) => self.collect(empty, mapping, nand, counters),
                _ => return false,
            }
        }
        true
    }

    /// Folds in idle time, after paying what is owed.
    pub(crate) fn fold_while_idle(
        &mut self,
        idle: &Range<Instant>,
        mapping: &mut Mapping,
        nand: &mut Nand,
        counters: &mut DriveCounters,
    ) {
        while self.pay_within(idle, nand) && self.fold_oldest(mapping, nand, counters) {}
    }
}
