//! Garbage collection: which superblock to reclaim, and when the flash does the work.
//!
//! Model: a policy chooses the victim (`mapping::victims`). The mapping of a victim moves at once;
//! its flash operations (a read for each program group that holds valid data, programs, the erase)
//! become a *debt*. The host's writes pay the debt in proportion, so that it is zero when the freed
//! space has been used up (write credits). Idle time pays it too, and then collects in advance up
//! to a watermark, as long as victims are worth it.
//!
//! Units: time in `Nanos`, space in mapping units. Source of the greedy bound: \[DESN12\];
//! `docs/model/gc.md` has the formulas that tests compare with.

use std::collections::VecDeque;
use std::ops::Range;

use trimbench_core::{Instant, Nanos, Ppm};

use crate::config::{RESERVE_SUPERBLOCKS, SsdConfig};
use crate::counters::DriveCounters;
use crate::mapping::{Fill, Frontier, Mapping, Region};
use crate::nand::{Cells, Nand};

mod burst;
mod fold;
mod map;
mod pace;

use burst::Bursts;

#[cfg(test)]
mod tests;

/// One flash operation that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    /// So many pages of a program group, with so many valid pieces.
    Read {
        cells: Cells,
        die: u32,
        pages: u32,
        pieces: u32,
    },
    Program {
        cells: Cells,
        die: u32,
    },
    Erase {
        die: u32,
    },
}

impl Owed {
    fn die(self) -> u32 {
        let (Self::Read { die, .. } | Self::Program { die, .. } | Self::Erase { die }) = self;
        die
    }
}

/// Pages of a word of 64 units: what the collector reads at once.
#[derive(Clone, Copy, Debug)]
struct Pages {
    /// Units of each, a power of two.
    width: u32,
    /// Their first units.
    begins: u64,
}

impl Pages {
    /// Of so many units each, a power of two; at most 64 of a larger one.
    fn of(width: u64) -> Self {
        let width = u32::try_from(width.min(64)).expect("at most 64");
        Self { width, begins: u64::MAX / (u64::MAX >> (64 - width)) }
    }

    /// The first units of the pages of which some unit is among these.
    #[inline]
    fn with_any(self, units: u64) -> u64 {
        let (mut found, mut reach) = (units, 1);
        while reach < self.width {
            found |= found >> reach;
            reach *= 2;
        }
        found & self.begins
    }
}

/// Valid units of one word of a victim, on their way.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// The first unit of the word, and which of its units.
    first: u32,
    bits: u64,
    /// What the victim has taken, and how many of its units have been moved before.
    from: Fill,
    moved: u32,
}

impl Load {
    fn space_of(&self, units: u32) -> u32 {
        self.from.space_of(self.moved + units) - self.from.space_of(self.moved)
    }

    fn fitting(&self, units: u32, space: u32) -> u32 {
        let most = self.bits.count_ones().min(units);
        if space == u32::MAX {
            return most;
        }
        (0..=most).rev().find(|&units| self.space_of(units) <= space).unwrap_or(0)
    }
}

#[derive(Debug)]
pub(crate) struct GarbageCollector {
    debt: VecDeque<Owed>,
    /// How much of the debt, from its front, groups of the host pay that have not left yet.
    assigned: usize,
    /// Whether flash operations are owed at all: not while no time passes.
    timed: bool,
    /// Where the next unit that it moves goes.
    frontier: Frontier,
    /// The region to which that one belongs, where data are separated; else always cold.
    region: Region,
    /// That of the other region, which is not in use.
    parked: Frontier,
    separates: bool,
    /// Whether what is folded is warm, and apart from what else is moved.
    folds_apart: bool,
    program_units: u32,
    /// Pieces of a unit.
    unit_pieces: u32,
    /// Which units it reads together.
    pages: Pages,
    /// Free superblocks below which a host write collects first.
    low: u64,
    /// Free superblocks up to which idle time collects.
    high: u64,
    /// Valid units up to which a victim is worth idle time.
    idle_valid_max: u32,
    idle_after: Nanos,
    /// The part of idle time that is used.
    idle_share: Ppm,
    pace: Nanos,
    /// When the next write may be acknowledged that is paced.
    paced_at: Instant,
    /// Collections from one that levels wear to the next, and how many there were since.
    level_every: Option<u32>,
    since_levelled: u32,
    /// What waits for its burst; `None`: each group of the host pays its share of everything.
    bursts: Option<Bursts>,
    /// Bits of a cell outside the SLC cache.
    bits_per_cell: u32,
}

impl GarbageCollector {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let low = RESERVE_SUPERBLOCKS - 1;
        let units = config.superblock_units();
        let valid_max = config.gc.idle_valid_max.of(units).min(units - 1);
        let page_units = config.gc.read_bytes.map_or(64, |bytes| config.unit().units(bytes));
        Self {
            debt: VecDeque::new(),
            assigned: 0,
            timed: true,
            frontier: Frontier::default(),
            region: Region::Cold,
            parked: Frontier::default(),
            separates: config.gc.separate_hot,
            folds_apart: config.reorganises(),
            program_units: u32::try_from(config.program_units()).expect("checked geometry"),
            unit_pieces: config.unit().pieces(),
            pages: Pages::of(page_units.min(config.program_units())),
            low,
            high: config.gc.idle_free_target.of(config.superblocks()).max(low + 1),
            idle_valid_max: u32::try_from(valid_max).expect("checked geometry"),
            idle_after: config.gc.idle_after,
            idle_share: config.gc.idle_share,
            pace: config.gc.pace,
            paced_at: Instant::START,
            level_every: config.gc.level_every,
            since_levelled: 0,
            bursts: Bursts::of(config),
            bits_per_cell: config.slc_cache.as_ref().map_or(1, |cache| cache.bits_per_cell),
        }
    }

    /// How long the host must be quiet before idle time counts.
    pub(crate) fn idle_after(&self) -> Nanos {
        self.idle_after
    }

    /// Those in use and parked.
    pub(crate) fn frontiers(&self) -> [Frontier; 2] {
        [self.frontier, self.parked]
    }

    /// Whether there are free superblocks beyond the collector's own.
    fn has_room(&self, mapping: &Mapping) -> bool {
        mapping.free_superblocks() > self.low
    }

    pub(crate) fn begin_untimed(&mut self) {
        self.debt.clear();
        self.bursts.iter_mut().for_each(Bursts::clear);
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
        counters: &mut DriveCounters,
    ) {
        while !self.has_room(mapping) {
            let worn_least = self.levels_wear().then(|| mapping.least_erased()).flatten();
            let victim = worn_least.unwrap_or_else(|| {
                let (victim, valid) = victim(mapping).expect("a full drive has closed superblocks");
                assert!(
                    valid < mapping.whole() || mapping.may_choose_full(),
                    "over-provisioning leaves at least one superblock with invalid units"
                );
                victim
            });
            self.collect(victim, mapping, nand, counters);
        }
    }

    /// Whether the next collection is one that levels wear.
    fn levels_wear(&mut self) -> bool {
        let Some(every) = self.level_every else { return false };
        self.since_levelled = (self.since_levelled + 1) % every;
        self.since_levelled == 0
    }

    /// How many operations of the debt one of `groups_left` program groups of the host owes: it
    /// pays them when it leaves. The group that completes a burst pays for all that is owed.
    #[inline]
    pub(crate) fn assign_share(&mut self, groups_left: u32) -> u32 {
        let groups_left = groups_left.max(1);
        let all = self.completes_bursts(groups_left);
        let open = self.debt.len() - self.assigned;
        let share = if all { open } else { open.div_ceil(groups_left as usize) };
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

    /// Uses idle time: pays debt, then collects ahead.
    pub(crate) fn use_idle_time(
        &mut self,
        idle: &Range<Instant>,
        mapping: &mut Mapping,
        nand: &mut Nand,
        counters: &mut DriveCounters,
    ) {
        let worth = mapping.measured(self.idle_valid_max);
        while self.pay_within(idle, nand) {
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

    /// Pays debt in idle time, as long as it begins before the end; whether all of it is paid.
    fn pay_within(&mut self, idle: &Range<Instant>, nand: &mut Nand) -> bool {
        debug_assert_eq!(self.assigned, 0, "nothing is on its way while the drive is idle");
        self.break_bursts();
        let end = idle.start + idle.end.since(idle.start).scaled(self.idle_share);
        if end <= idle.start {
            return false;
        }
        while let Some(&owed) = self.debt.front() {
            if nand.die_free_at(owed.die()).max(idle.start) >= end {
                return false;
            }
            self.debt.pop_front();
            perform(owed, idle.start, nand);
        }
        true
    }

    /// Moves the valid units of `victim` and frees it; the flash work becomes debt.
    fn collect(
        &mut self,
        victim: u32,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut DriveCounters,
    ) {
        self.owe_map_updates(victim, mapping, nand, counters);
        let cached = mapping.is_cache(victim);
        if self.folds_apart {
            self.direct(if cached { Region::Warm } else { Region::Cold });
        } else if self.separates {
            let hot = mapping.region(victim) == Region::Hot;
            self.direct(if hot { Region::Warm } else { Region::Cold });
        }
        let (base, from) = (victim * mapping.superblock_units(), mapping.fill(victim));
        let mut moved = 0;
        for word in 0..mapping.valid_words(victim).len() {
            let bits = mapping.valid_words(victim)[word];
            if let Some(&ahead) = mapping.valid_words(victim).get(word + 1) {
                mapping.prefetch_relocation(base + unit_of(word + 1), ahead);
            }
            if bits != 0 {
                let load = Load { first: base + unit_of(word), bits, from, moved };
                self.owe_reads(load, Cells::of(cached), mapping, nand);
                self.move_units(load, mapping, nand);
                moved += bits.count_ones();
            }
        }
        let moved = u64::from(moved);
        counters.programmed_units += moved;
        *(if cached { &mut counters.folded_units } else { &mut counters.moved_units }) += moved;
        // A fixed cache needs as many times the erase blocks for its units.
        let erases = if mapping.is_own(victim) { self.bits_per_cell } else { 1 };
        for _ in 0..erases {
            self.owe((0..nand.die_count()).map(|die| Owed::Erase { die }));
        }
        mapping.release(victim);
        counters.erased_superblocks += 1;
    }

    #[inline]
    fn owe(&mut self, operations: impl IntoIterator<Item = Owed>) {
        if self.timed {
            self.debt.extend(operations);
        }
    }

    #[inline]
    fn owe_moves(&mut self, operations: impl IntoIterator<Item = Owed>) {
        if self.timed {
            self.moves().extend(operations);
        }
    }

    /// Puts the frontier of this region to use.
    fn direct(&mut self, region: Region) {
        if region != self.region {
            self.region = region;
            std::mem::swap(&mut self.frontier, &mut self.parked);
        }
    }

    /// Reads are owed for each program group of the word with something valid in it: of all of it,
    /// or of each of its pages that hold something valid.
    fn owe_reads(&mut self, load: Load, cells: Cells, mapping: &Mapping, nand: &Nand) {
        if !self.timed {
            return;
        }
        if mapping.packing().is_none() {
            let width = self.program_units.min(64);
            let mask = u64::MAX >> (64 - width);
            let begun = self.pages.with_any(load.bits);
            for part in 0..64 / width {
                let count = |bits: u64| ((bits >> (part * width)) & mask).count_ones();
                let pieces = count(load.bits) * self.unit_pieces;
                if pieces > 0 {
                    let die = nand.die_of((load.first + part * width) / self.program_units);
                    self.moves().push_back(Owed::Read { cells, die, pages: count(begun), pieces });
                }
            }
            return;
        }
        let mut owe = |group, units| {
            // Where there is compression, a piece is a unit.
            let (die, pieces) = (nand.die_of(group), mapping.transferred(group, units));
            self.moves().push_back(Owed::Read { cells, die, pages: 1, pieces });
        };
        // Groups begin anywhere.
        let (mut left, mut open) = (load.bits, None);
        while left != 0 {
            let group = mapping.group_of(load.first + left.trailing_zeros());
            left &= left - 1;
            open = match open {
                Some((current, units)) if current == group => Some((current, units + 1)),
                before => {
                    if let Some((group, units)) = before {
                        owe(group, units);
                    }
                    Some((group, 1))
                }
            };
        }
        if let Some((group, units)) = open {
            owe(group, units);
        }
    }

    /// Moves up to 64 units to the frontier, over the end of its superblock if need be.
    fn move_units(&mut self, mut load: Load, mapping: &mut Mapping, nand: &Nand) {
        let program = |group| Owed::Program { cells: Cells::Data, die: nand.die_of(group) };
        while load.bits != 0 {
            if self.frontier.is_closed() {
                let opened = mapping.open_in(self.region);
                self.frontier = opened.expect("the reserve holds a superblock for the collector");
            }
            let space = mapping.space_left(self.frontier);
            let count = load.fitting(self.frontier.left(), space);
            let (part, rest) = split_bits(load.bits, count);
            mapping.relocate(load.first, part, self.frontier.next);
            self.frontier.next += count;
            let filled = mapping.taken(self.frontier, count, load.space_of(count));
            self.owe_moves(filled.map(program));
            load = Load { bits: rest, moved: load.moved + count, ..load };
            if rest != 0 || mapping.is_full(self.frontier) {
                let padded = mapping.finish(&mut self.frontier);
                self.owe_moves(padded.map(program));
            }
        }
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
        Owed::Read { cells, die, pages, pieces } => nand.collect(cells, die, (pages, pieces), now),
        Owed::Program { cells, die } => {
            nand.program(cells, die, now, None);
        }
        Owed::Erase { die } => nand.erase(die, now),
    }
}
