//! The mapping: which flash unit holds which logical unit, and which units of each superblock are
//! valid.
//!
//! Model: page-mapped, 4 KiB units, two 32-bit tables, a bitmap of valid units, and their count for
//! each superblock. Memory: 8 bytes and 1 bit a unit. Units: logical (`lpn`) and physical (`ppn`)
//! addresses in mapping units, superblock indices.
//!
//! The update of a write waits in a ring of [`RING`] prefetched entries, so that the cache misses
//! of many writes overlap. Everything that reads the mapping drains the ring first: the private
//! tables are reached only through methods that do. A drive that looks up what each write replaces
//! ([`Mapping::looking_up`]) has its L2P table up to date at once.
//!
//! Invariants (checked by [`Mapping::check`]):
//! - a valid unit has exactly one L2P entry, and that entry points back at it;
//! - the valid count of a superblock is the number of its bits, and the counts add up to the mapped
//!   units;
//! - free + open + closed + cached superblocks = all.

use std::collections::VecDeque;
use std::ops::AddAssign;

use trimbench_core::units::{index, narrow};

use crate::memory::{large_table, prefetch};

mod frontier;
mod packing;
mod planted;
mod slc_cache;
mod translation;
mod victims;
mod warmth;

pub(crate) use frontier::Frontier;
use frontier::Space;
pub(crate) use packing::{Fill, Packing};
pub use planted::TableFault;
use slc_cache::CacheSets;
pub(crate) use translation::{MappingCache, PageLookup};
use victims::Order;
pub use victims::VictimSearch;
pub(crate) use warmth::Region;

#[cfg(test)]
mod tests;

/// No unit. Never an address: configurations stay below it.
pub(crate) const UNMAPPED: u32 = u32::MAX;
/// Deferred writes. 64 misses in flight saturate the memory of the machines this was tried on.
const RING: usize = 64;
/// Of these, writes of which the L2P table knows already. The bitmap is in the processor's caches,
/// so that fewer suffice.
const REPLACED: usize = 16;
/// Superblocks a chunk of the victim index: its two levels are both short for any drive.
const CHUNK: usize = 64;
/// Marks the valid count of a superblock that may not be collected (free or open).
const NOT_CLOSED: u32 = 1 << 31;

/// A superblock's place in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Erased, or to be erased before its next use.
    Free,
    /// Being filled.
    Open,
    /// Full, and a candidate for collection.
    Closed,
    /// Being filled as part of the SLC cache.
    Caching,
    /// Full, and waits to be folded.
    Cached,
}

/// A write whose mapping update waits.
#[derive(Clone, Copy, Debug, Default)]
struct Deferred {
    lpn: u32,
    ppn: u32,
}

/// Writes whose mapping update waits, in two stages, so that neither waits for memory: for the
/// entry of the L2P table, then for the bits of what that entry held. The counts are of writes
/// since the drive was made, `replaced <= mapped <= placed`.
#[derive(Debug)]
struct Ring {
    entries: [Deferred; RING],
    /// What the writes between `replaced` and `mapped` replaced.
    old: [u32; REPLACED],
    placed: usize,
    mapped: usize,
    replaced: usize,
}

impl Default for Ring {
    fn default() -> Self {
        let (entries, old) = ([Deferred::default(); RING], [UNMAPPED; REPLACED]);
        Self { entries, old, placed: 0, mapped: 0, replaced: 0 }
    }
}

impl Ring {
    fn is_empty(&self) -> bool {
        self.replaced == self.placed
    }
}

/// The two tables and what is known of each superblock.
#[derive(Debug)]
pub(crate) struct Mapping {
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    /// Bit set: the unit holds current data (or will, when the ring is drained).
    valid: Vec<u64>,
    /// Valid units a superblock, with [`NOT_CLOSED`] while it is not a candidate.
    counts: Vec<u32>,
    /// The least of `counts` in each chunk of [`CHUNK`] superblocks, exactly where it is the count
    /// of a candidate.
    chunk_least: Vec<u32>,
    stages: Vec<Stage>,
    /// How often each superblock was erased.
    erases: Vec<u32>,
    /// How hot what each superblock holds is, where hot data is separated.
    regions: Vec<Region>,
    order: Order,
    search: VictimSearch,
    /// In the order of release: the longest free is used first, which levels wear.
    free: VecDeque<u32>,
    /// log2 of the units of a superblock, and of a program group; those less one.
    shift: u32,
    group_shift: u32,
    group_mask: u32,
    mapped: u64,
    ring: Ring,
    /// Whether the L2P table is asked and changed at each write, with no wait in the ring.
    looks_up: bool,
    cache: CacheSets,
    space: Space,
    /// In a drive without DRAM.
    translation: Option<Box<MappingCache>>,
}

/// What a deallocation found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deallocated {
    /// Units that held data.
    pub(crate) mapped: u64,
    /// Those of them that were in the SLC cache.
    pub(crate) cached: u64,
    /// Units that held none.
    pub(crate) unmapped: u64,
}

impl AddAssign for Deallocated {
    fn add_assign(&mut self, other: Self) {
        self.mapped += other.mapped;
        self.cached += other.cached;
        self.unmapped += other.unmapped;
    }
}

impl Mapping {
    /// An empty drive: all superblocks free.
    pub(crate) fn new(
        exported_units: u64,
        superblocks: u64,
        superblock_units: u64,
        group_units: u64,
    ) -> Self {
        debug_assert!(superblock_units.is_power_of_two() && superblock_units >= 64);
        debug_assert!(superblocks * superblock_units > exported_units);
        let count = u32::try_from(superblocks).expect("configurations stay below 2^32 units");
        Self {
            l2p: large_table(index(exported_units), UNMAPPED),
            p2l: large_table(index(superblocks * superblock_units), UNMAPPED),
            valid: large_table(index(superblocks * superblock_units / 64), 0),
            counts: vec![NOT_CLOSED; index(superblocks)],
            chunk_least: vec![NOT_CLOSED; index(superblocks).div_ceil(CHUNK)],
            stages: vec![Stage::Free; index(superblocks)],
            erases: vec![0; index(superblocks)],
            regions: vec![Region::Cold; index(superblocks)],
            order: Order::default(),
            search: VictimSearch::default(),
            free: (0..count).collect(),
            shift: superblock_units.trailing_zeros(),
            group_shift: group_units.trailing_zeros(),
            group_mask: narrow(group_units - 1),
            mapped: 0,
            ring: Ring::default(),
            looks_up: false,
            cache: CacheSets::default(),
            space: Space::Units,
            translation: None,
        }
    }

    /// The same mapping in a drive that looks up what each write replaces.
    pub(crate) fn looking_up(self, looks_up: bool) -> Self {
        Self { looks_up, ..self }
    }

    /// Whether each write looks up what it replaces.
    #[inline]
    pub(crate) fn looks_up(&self) -> bool {
        self.looks_up
    }

    pub(crate) fn free_superblocks(&self) -> u64 {
        self.free.len() as u64
    }

    pub(crate) fn superblock_units(&self) -> u32 {
        1 << self.shift
    }

    /// Takes a free superblock for writing; its first unit. All its units count as valid from now
    /// on: each must be written with [`Self::place`] or given up with [`Self::pad`] before it is
    /// closed.
    pub(crate) fn open(&mut self) -> Option<u32> {
        let superblock = self.free.pop_front()?;
        Some(self.start(superblock))
    }

    /// A free superblock becomes an open one; its first unit.
    fn start(&mut self, superblock: u32) -> u32 {
        let first = superblock << self.shift;
        debug_assert_eq!(self.stages[superblock as usize], Stage::Free);
        self.stages[superblock as usize] = Stage::Open;
        self.counts[superblock as usize] = NOT_CLOSED | self.superblock_units();
        let words = (first as usize / 64)..((first as usize + (1 << self.shift)) / 64);
        debug_assert!(self.valid[words.clone()].iter().all(|&word| word == 0));
        self.valid[words].fill(u64::MAX);
        first
    }

    /// An open superblock that begins at `first` will hold nothing from `end` on.
    pub(crate) fn truncate(&mut self, first: u32, end: u32) {
        let last = first + self.superblock_units();
        debug_assert!((first..=last).contains(&end));
        let mut ppn = end;
        while ppn < last {
            let word = &mut self.valid[ppn as usize / 64];
            *word &= !(u64::MAX << (ppn % 64));
            ppn = (ppn / 64 + 1) * 64;
        }
        self.counts[(first >> self.shift) as usize] -= last - end;
    }

    /// The open superblock that ends before `end` is full: a candidate for collection, or one that
    /// waits to be folded.
    pub(crate) fn close(&mut self, end: u32) {
        let superblock = (end - 1) >> self.shift;
        let at = superblock as usize;
        if self.stages[at] == Stage::Caching {
            self.close_cache(superblock);
            return;
        }
        debug_assert_eq!(self.stages[at], Stage::Open);
        self.stages[at] = Stage::Closed;
        self.counts[at] &= !NOT_CLOSED;
        let least = &mut self.chunk_least[at / CHUNK];
        *least = (*least).min(self.counts[at]);
        self.order.closed(superblock);
    }

    /// Records that `ppn` of an open superblock now holds `lpn`. The rest waits in the ring.
    #[inline]
    pub(crate) fn place(&mut self, lpn: u32, ppn: u32) {
        self.p2l[ppn as usize] = lpn;
        if self.looks_up {
            self.ring.placed += 1;
            self.map(Deferred { lpn, ppn });
            return;
        }
        if self.ring.placed - self.ring.mapped == RING {
            self.map_oldest();
        }
        self.prefetch_entry(lpn);
        self.ring.entries[self.ring.placed % RING] = Deferred { lpn, ppn };
        self.ring.placed += 1;
    }

    /// Gives up `ppn` of an open superblock unwritten.
    pub(crate) fn pad(&mut self, ppn: u32) {
        self.drain();
        self.p2l[ppn as usize] = UNMAPPED;
        self.invalidate(ppn);
    }

    /// Applies the deferred updates.
    pub(crate) fn drain(&mut self) {
        while self.ring.mapped < self.ring.placed {
            self.map_oldest();
        }
        while self.ring.replaced < self.ring.mapped {
            self.replace_oldest();
        }
    }

    /// First half of the oldest update: L2P, and a prefetch for the second half.
    #[inline]
    fn map_oldest(&mut self) {
        self.map(self.ring.entries[self.ring.mapped % RING]);
    }

    #[inline]
    fn map(&mut self, Deferred { lpn, ppn }: Deferred) {
        if self.ring.mapped - self.ring.replaced == REPLACED {
            self.replace_oldest();
        }
        let old = std::mem::replace(&mut self.l2p[lpn as usize], ppn);
        if old != UNMAPPED {
            prefetch(&self.valid, old as usize / 64);
        }
        self.ring.old[self.ring.mapped % REPLACED] = old;
        self.ring.mapped += 1;
    }

    /// Second half of the oldest update: what was replaced becomes invalid.
    #[inline]
    fn replace_oldest(&mut self) {
        let old = self.ring.old[self.ring.replaced % REPLACED];
        self.ring.replaced += 1;
        if old == UNMAPPED {
            self.mapped += 1;
        } else {
            self.invalidate(old);
        }
    }

    /// Where `lpn` is; `None` if it holds no data.
    #[inline]
    pub(crate) fn lookup(&mut self, lpn: u32) -> Option<u32> {
        if !self.ring.is_empty() {
            self.drain();
        }
        let ppn = self.l2p[lpn as usize];
        (ppn != UNMAPPED).then_some(ppn)
    }

    /// The same as [`Self::lookup`] before a write, in a drive that looks up what each replaces.
    #[inline]
    pub(crate) fn replaced_by(&self, lpn: u32) -> Option<u32> {
        debug_assert!(self.looks_up, "entries wait in the ring");
        let ppn = self.l2p[lpn as usize];
        (ppn != UNMAPPED).then_some(ppn)
    }

    /// Fetches what a lookup or a write of `lpn` will touch.
    #[inline]
    pub(crate) fn prefetch_entry(&self, lpn: u32) {
        prefetch(&self.l2p, lpn as usize);
    }

    /// The logical unit whose data a read of `lpn` finds, by what the flash unit itself says:
    /// another than `lpn` if the two tables disagree. `None` if it holds no data.
    pub(crate) fn holder(&mut self, lpn: u32) -> Option<u32> {
        self.lookup(lpn).map(|ppn| self.p2l[ppn as usize])
    }

    /// Frees the logical units `[first, end)`.
    pub(crate) fn deallocate(&mut self, first: u32, end: u32) -> Deallocated {
        self.drain();
        let before = self.mapped;
        let mut cached = 0;
        for lpn in first as usize..end as usize {
            // The bitmap of a 256 GiB drive has 8 MiB: far enough ahead to come from memory.
            if let Some(&ahead) = self.l2p.get(lpn + 24)
                && ahead != UNMAPPED
            {
                prefetch(&self.valid, ahead as usize / 64);
            }
            let old = std::mem::replace(&mut self.l2p[lpn], UNMAPPED);
            if old != UNMAPPED {
                self.mapped -= 1;
                cached += u64::from(self.in_cache(old));
                self.invalidate(old);
            }
        }
        let mapped = before - self.mapped;
        Deallocated { mapped, cached, unmapped: u64::from(end - first) - mapped }
    }

    /// The valid bits of a superblock, 64 units a word.
    pub(crate) fn valid_words(&self, superblock: u32) -> &[u64] {
        let words = 1_usize << (self.shift - 6);
        let first = superblock as usize * words;
        &self.valid[first..first + words]
    }

    /// Moves the valid units of `word` (64 units from `first_ppn`, bits as `valid_words` gave) to
    /// consecutive units from `to` on; the caller has room for all of them.
    #[inline]
    pub(crate) fn relocate(&mut self, first_ppn: u32, bits: u64, to: u32) {
        debug_assert!(self.ring.is_empty(), "the ring is drained before a collection");
        let (mut left, mut to) = (bits, to as usize);
        while left != 0 {
            let from = first_ppn as usize + left.trailing_zeros() as usize;
            left &= left - 1;
            let lpn = self.p2l[from];
            debug_assert_eq!(self.l2p[lpn as usize] as usize, from, "no trimmed unit is copied");
            self.p2l[to] = lpn;
            self.l2p[lpn as usize] = u32::try_from(to).expect("an address of an open superblock");
            to += 1;
        }
    }

    /// Fetches what [`Self::relocate`] of these units will touch.
    #[inline]
    pub(crate) fn prefetch_relocation(&self, first_ppn: u32, bits: u64) {
        let mut left = bits;
        while left != 0 {
            let lpn = self.p2l[first_ppn as usize + left.trailing_zeros() as usize];
            left &= left - 1;
            self.prefetch_entry(lpn);
        }
    }

    /// Ends the collection of a closed superblock whose valid units have all been relocated.
    pub(crate) fn release(&mut self, superblock: u32) {
        let words = 1_usize << (self.shift - 6);
        let first = superblock as usize * words;
        debug_assert!(matches!(self.stages[superblock as usize], Stage::Closed | Stage::Cached));
        if self.stages[superblock as usize] == Stage::Closed {
            self.order.collected(superblock);
        }
        self.erases[superblock as usize] += 1;
        self.valid[first..first + words].fill(0);
        self.counts[superblock as usize] = NOT_CLOSED;
        self.free_again(superblock);
        if let Some(packing) = self.packing_mut() {
            packing.clear(superblock);
        }
        let chunk = superblock as usize / CHUNK;
        self.chunk_least[chunk] = least_of_chunk(&self.counts, chunk);
    }

    /// How often each superblock was erased.
    pub(crate) fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Logical units that hold data.
    pub(crate) fn mapped_units(&mut self) -> u64 {
        self.drain();
        self.mapped
    }

    #[inline]
    fn invalidate(&mut self, ppn: u32) {
        let superblock = (ppn >> self.shift) as usize;
        let word = &mut self.valid[ppn as usize / 64];
        debug_assert!(*word & (1 << (ppn % 64)) != 0, "only valid units are invalidated");
        *word &= !(1 << (ppn % 64));
        let count = self.counts[superblock] - 1;
        self.counts[superblock] = count;
        let least = &mut self.chunk_least[superblock / CHUNK];
        if count < *least {
            *least = count;
        }
    }

    /// Checks all invariants; `frontiers` are those of all open superblocks. Slow: it walks every
    /// table.
    ///
    /// # Panics
    /// If one does not hold.
    pub(crate) fn check(&mut self, frontiers: &[Frontier]) {
        self.drain();
        let mut valid_total = 0;
        for superblock in 0..self.stages.len() {
            let bits: u32 = self
                .valid_words(u32::try_from(superblock).expect("an index of a superblock"))
                .iter()
                .map(|word| word.count_ones())
                .sum();
            let stage = self.stages[superblock];
            let here = |frontier: &&Frontier| {
                index(((frontier.end - 1) >> self.shift).into()) == superblock
            };
            let unwritten = match (stage, frontiers.iter().find(here)) {
                (Stage::Open | Stage::Caching, Some(frontier)) => frontier.left(),
                (Stage::Open | Stage::Caching, None) => {
                    panic!("superblock {superblock} is open without a writer")
                }
                _ => 0,
            };
            assert_eq!(self.counts[superblock] & !NOT_CLOSED, bits, "count of {superblock}");
            assert_eq!(self.counts[superblock] & NOT_CLOSED == 0, stage == Stage::Closed);
            assert!(stage != Stage::Free || bits == 0, "superblock {superblock} is free and valid");
            valid_total += u64::from(bits) - u64::from(unwritten);
        }
        assert_eq!(valid_total, self.mapped, "valid units and mapped units");
        let mut mapped = 0;
        for (lpn, &ppn) in self.l2p.iter().enumerate().filter(|(_, ppn)| **ppn != UNMAPPED) {
            assert_eq!(self.p2l[ppn as usize] as usize, lpn, "L2P and P2L of {lpn} agree");
            assert!(self.valid[ppn as usize / 64] & (1 << (ppn % 64)) != 0, "{lpn} is valid");
            mapped += 1;
        }
        assert_eq!(mapped, self.mapped, "mapped units are counted right");
        let free = self.stages.iter().filter(|stage| **stage == Stage::Free).count();
        let listed = self.free.len() as u64 + self.cache_free();
        assert_eq!(free as u64, listed, "free superblocks are all in the lists");
        for (chunk, counts) in self.counts.chunks(CHUNK).enumerate() {
            let candidates = counts.iter().filter(|count| **count & NOT_CLOSED == 0);
            let least = self.chunk_least[chunk];
            let known = (least & NOT_CLOSED == 0).then_some(least);
            assert_eq!(known, candidates.min().copied(), "the least of chunk {chunk}");
        }
        self.check_cache();
        self.check_packing();
        self.check_order();
    }
}

/// The least of the values of the superblocks of a chunk.
fn least_of_chunk<T: Ord + Copy>(values: &[T], chunk: usize) -> T {
    let end = values.len().min((chunk + 1) * CHUNK);
    let least = values[chunk * CHUNK..end].iter().copied().min();
    least.expect("a chunk has at least one superblock")
}
