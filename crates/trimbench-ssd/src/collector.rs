//! Garbage collection: which superblock to reclaim, and when the flash works for it.
//!
//! Model: a policy chooses the victim (`mapping::victims`). The mapping of a victim moves at once;
//! its flash operations (a read for each program group that holds valid data, programs, the erase)
//! become a *debt* that the host's writes pay in proportion, so that it is paid when the space that
//! it freed has been used up (write credits). Idle time pays it too, and then collects ahead up to
//! a watermark, while the victims are worth it.
//!
//! Units: time in `Nanos`, space in mapping units. Source of the greedy bound: \[DESN12\]; the
//! formulas that it is tested against are in `docs/model/collector.md`.

use std::collections::VecDeque;

use trimbench_core::{Instant, Nanos};

use crate::config::{RESERVE_SUPERBLOCKS, SsdConfig, WHOLE};
use crate::counters::{Counters, share_of};
use crate::mapping::{Mapping, Region};
use crate::nand::Nand;

mod fold;
mod map;
mod packed;

#[cfg(test)]
mod tests;

/// One flash operation that is owed. Those of the map are of translation pages.
#[derive(Clone, Copy, Debug)]
enum Owed {
    Read { die: u32, units: u32 },
    CacheRead { die: u32, units: u32 },
    Program { die: u32 },
    Erase { die: u32 },
    MapRead { die: u32 },
    MapProgram { die: u32 },
}

impl Owed {
    fn die(self) -> u32 {
        match self {
            Self::Read { die, .. }
            | Self::CacheRead { die, .. }
            | Self::Program { die }
            | Self::Erase { die }
            | Self::MapRead { die }
            | Self::MapProgram { die } => die,
        }
    }
}

/// The collector.
#[derive(Debug)]
pub(crate) struct Collector {
    debt: VecDeque<Owed>,
    /// How much of the debt, from its front, groups of the host pay that have not left yet.
    assigned: usize,
    /// Whether flash operations are owed at all: not while no time passes.
    timed: bool,
    /// Next unit of the collector's open superblock, and its end; equal when there is none.
    next: u32,
    end: u32,
    /// The region to which that one belongs, where hot data is separated; else always cold.
    region: Region,
    /// The same of another region, which is not in use.
    parked: (u32, u32),
    separates: bool,
    program_units: u32,
    /// Free superblocks below which a host write collects first.
    low: u64,
    /// Free superblocks up to which idle time collects.
    high: u64,
    /// Valid units up to which a victim is worth idle time.
    idle_valid_max: u32,
    idle_after: Nanos,
    /// Bits of a cell outside the SLC cache.
    bits_per_cell: u32,
}

impl Collector {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let low = RESERVE_SUPERBLOCKS - 1;
        let units = config.superblock_units();
        let valid_max = config.collector.idle_valid_max.of(units).min(units - 1);
        Self {
            debt: VecDeque::new(),
            assigned: 0,
            timed: true,
            next: 0,
            end: 0,
            region: Region::Cold,
            parked: (0, 0),
            separates: config.collector.separate_hot,
            program_units: u32::try_from(config.program_units()).expect("checked geometry"),
            low,
            high: share_of(config.superblocks(), config.collector.idle_free_target, low + 1),
            idle_valid_max: u32::try_from(valid_max).expect("checked geometry"),
            idle_after: config.collector.idle_after,
            bits_per_cell: config.slc_cache.as_ref().map_or(1, |cache| cache.bits_per_cell),
        }
    }

    /// How long the host must be quiet before idle time counts.
    pub(crate) fn idle_after(&self) -> Nanos {
        self.idle_after
    }

    /// What is written in each of the collector's open superblocks, and its end; equal when there
    /// is none.
    pub(crate) fn write_points(&self) -> [(u32, u32); 2] {
        [(self.next, self.end), self.parked]
    }

    /// Whether there are free superblocks beyond the collector's own.
    fn has_room(&self, mapping: &Mapping) -> bool {
        mapping.free_superblocks() > self.low
    }

    /// From now on nothing is owed, also not what was.
    pub(crate) fn begin_untimed(&mut self) {
        self.debt.clear();
        self.assigned = 0;
        self.timed = false;
    }

    /// Whether flash operations take time.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// What is collected from now on takes time again.
    pub(crate) fn end_untimed(&mut self) {
        self.timed = true;
    }

    /// Makes sure that the host may open a superblock: collects until the reserve is whole.
    pub(crate) fn make_room(
        &mut self,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut Counters,
    ) {
        while !self.has_room(mapping) {
            let (victim, valid) = victim(mapping).expect("a full drive has closed superblocks");
            assert!(
                valid < mapping.whole() || mapping.may_choose_full(),
                "over-provisioning leaves at least one superblock with invalid units"
            );
            self.collect(victim, mapping, nand, counters);
        }
    }

    /// How many operations of the debt one of `groups_left` program groups of the host owes: it
    /// pays them when it leaves.
    #[inline]
    pub(crate) fn assign_share(&mut self, groups_left: u32) -> u32 {
        let open = self.debt.len() - self.assigned;
        let share = open.div_ceil(groups_left.max(1) as usize);
        self.assigned += share;
        u32::try_from(share).expect("a debt of a few superblocks")
    }

    /// Performs operations that were assigned.
    pub(crate) fn pay(&mut self, operations: u32, now: Instant, nand: &mut Nand) {
        self.assigned -= operations as usize;
        for owed in self.debt.drain(..operations as usize) {
            perform(owed, now, nand);
        }
    }

    /// Uses the idle time `[from, until)`: pays debt, then collects ahead.
    pub(crate) fn use_idle_time(
        &mut self,
        (from, until): (Instant, Instant),
        mapping: &mut Mapping,
        nand: &mut Nand,
        counters: &mut Counters,
    ) {
        let worth = self.idle_valid_max * mapping.packing.as_ref().map_or(1, |_| WHOLE);
        while self.pay_within((from, until), nand) {
            if mapping.free_superblocks() >= self.high {
                return;
            }
            match victim(mapping) {
                Some((victim, valid)) if valid <= worth => {
                    self.collect(victim, mapping, nand, counters);
                }
                _ => return,
            }
        }
    }

    /// Pays debt in idle time, as long as it begins before `until`; whether all of it is paid.
    fn pay_within(&mut self, (from, until): (Instant, Instant), nand: &mut Nand) -> bool {
        debug_assert_eq!(self.assigned, 0, "nothing is on its way while the drive is idle");
        while let Some(&owed) = self.debt.front() {
            if nand.die_free_at(owed.die()).max(from) >= until {
                return false;
            }
            self.debt.pop_front();
            perform(owed, from, nand);
        }
        true
    }

    /// Moves the valid units of `victim` and frees it; the flash work becomes debt.
    fn collect(
        &mut self,
        victim: u32,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut Counters,
    ) {
        self.owe_map_updates(victim, mapping, nand, counters);
        if mapping.packing.is_some() {
            self.collect_packed(victim, mapping, nand, counters);
            return;
        }
        if self.separates {
            self.direct(mapping.region(victim));
        }
        let cached = mapping.is_cache(victim);
        let mut moved = 0;
        let words = mapping.valid_words(victim).len();
        let base = victim * mapping.superblock_units();
        for word in 0..words {
            let bits = mapping.valid_words(victim)[word];
            if let Some(&ahead) = mapping.valid_words(victim).get(word + 1) {
                mapping.prefetch_relocation(base + unit_of(word + 1), ahead);
            }
            if bits != 0 {
                self.owe_reads(base + unit_of(word), bits, cached, nand);
                self.move_word(base + unit_of(word), bits, mapping, nand);
                moved += u64::from(bits.count_ones());
            }
        }
        counters.programmed_units += moved;
        *(if cached { &mut counters.folded_units } else { &mut counters.moved_units }) += moved;
        // A fixed cache needs as many times the erase blocks for its units.
        let erases = if mapping.is_own(victim) { self.bits_per_cell } else { 1 };
        (0..erases).for_each(|_| self.owe_erase(nand));
        mapping.release(victim);
        counters.erased_superblocks += 1;
    }

    /// Notes what is owed.
    #[inline]
    fn owe(&mut self, operations: impl IntoIterator<Item = Owed>) {
        if self.timed {
            self.debt.extend(operations);
        }
    }

    /// Puts the write point to use to which what is moved out of this region belongs.
    fn direct(&mut self, from: Region) {
        let region = if from == Region::Hot { Region::Warm } else { Region::Cold };
        if region != self.region {
            self.region = region;
            let in_use = std::mem::replace(&mut self.parked, (self.next, self.end));
            (self.next, self.end) = in_use;
        }
    }

    fn owe_erase(&mut self, nand: &Nand) {
        self.owe((0..nand.die_count()).map(|die| Owed::Erase { die }));
    }

    /// A read is owed for each program group of the word with something valid in it.
    fn owe_reads(&mut self, first: u32, bits: u64, cached: bool, nand: &Nand) {
        if !self.timed {
            return;
        }
        let width = self.program_units.min(64);
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        for part in 0..64 / width {
            let units = ((bits >> (part * width)) & mask).count_ones();
            if units > 0 {
                let die = nand.die_of((first + part * width) / self.program_units);
                self.debt.push_back(if cached {
                    Owed::CacheRead { die, units }
                } else {
                    Owed::Read { die, units }
                });
            }
        }
    }

    /// Moves up to 64 units to the collector's write point, over the end of its superblock if need
    /// be.
    fn move_word(&mut self, first: u32, bits: u64, mapping: &mut Mapping, nand: &Nand) {
        let mut left = bits;
        while left != 0 {
            if self.next == self.end {
                self.open(mapping);
            }
            let room = self.end - self.next;
            let (part, rest) = split_bits(left, room);
            let count = part.count_ones();
            mapping.relocate(first, part, self.next);
            let (begun, ended) =
                (self.next / self.program_units, (self.next + count) / self.program_units);
            self.owe((begun..ended).map(|group| Owed::Program { die: nand.die_of(group) }));
            self.next += count;
            left = rest;
            if self.next == self.end {
                mapping.close(self.end);
            }
        }
    }

    fn open(&mut self, mapping: &mut Mapping) {
        self.next =
            mapping.open_in(self.region).expect("the reserve holds a superblock for the collector");
        self.end = self.next + mapping.superblock_units();
    }
}

/// What is collected next, and how much of it is valid: units, or the space that they take in a
/// drive that compresses.
fn victim(mapping: &mut Mapping) -> Option<(u32, u32)> {
    let best = mapping.victim();
    or_of_cache(best, mapping)
}

/// The superblock in which the least is valid, whatever the policy, and how much.
fn emptiest(mapping: &mut Mapping) -> Option<(u32, u32)> {
    let best = mapping.emptiest();
    or_of_cache(best, mapping)
}

/// The oldest superblock of an SLC cache that shares its flash competes with the others: whatever
/// it does not hold is gained.
fn or_of_cache(best: Option<(u32, u32)>, mapping: &mut Mapping) -> Option<(u32, u32)> {
    if !mapping.has_cache() {
        return best;
    }
    [best, mapping.oldest_shared()].into_iter().flatten().min_by_key(|&(_, valid)| valid)
}

/// Unit offset of a word of 64 units.
fn unit_of(word: usize) -> u32 {
    u32::try_from(word * 64).expect("within a superblock")
}

/// The lowest `count` set bits, and the others.
fn split_bits(bits: u64, count: u32) -> (u64, u64) {
    if bits.count_ones() <= count {
        return (bits, 0);
    }
    let mut rest = bits;
    for _ in 0..count {
        rest &= rest - 1;
    }
    (bits & !rest, rest)
}

#[inline]
fn perform(owed: Owed, now: Instant, nand: &mut Nand) {
    match owed {
        Owed::Read { die, units } => nand.collect(die, units, now),
        Owed::CacheRead { die, units } => nand.collect_cache(die, units, now),
        Owed::Program { die } => {
            nand.program(die, now);
        }
        Owed::Erase { die } => nand.erase(die, now),
        Owed::MapRead { die } => nand.collect_map(die, now),
        Owed::MapProgram { die } => {
            nand.program_map(die, now);
        }
    }
}
