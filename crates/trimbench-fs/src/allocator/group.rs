//! Free space of one block group: a bitmap, and the same space as buddies.
//!
//! A buddy is a run of 2^n free blocks that begins at a multiple of 2^n and lies in no larger one;
//! ext4 has them up to 8192 blocks. Its searches see buddies, not extents: they follow a run only
//! as far as a request needs it.
//!
//! Invariants (`check`): buddies cover the free blocks, each once, and none could be larger; counts
//! are those of the bitmaps.
//!
//! Units: filesystem blocks within the group.

use trimbench_core::units::index;

/// The largest buddies have 2^13 blocks.
const LARGEST: u32 = 13;
/// Orders that a buddy can have.
pub(super) const ORDERS: usize = LARGEST as usize + 1;

const WORD: u32 = u64::BITS;

/// The free space of a group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    size: u32,
    pub(super) free: u32,
    /// Free runs.
    pub(super) runs: u32,
    /// No block before this one is free.
    first_free: u32,
    /// A bit for each block that is free.
    free_bits: Vec<u64>,
    /// For each order from 1 on, a bit for each buddy of that order.
    buddies: Vec<Vec<u64>>,
    counts: [u32; ORDERS],
}

impl Group {
    /// Everything is free.
    pub(super) fn new(size: u32) -> Self {
        let words = |order: u32| vec![0; index(u64::from((size >> order) / WORD + 1))];
        let mut new = Self {
            size,
            free: 0,
            runs: 0,
            first_free: size,
            free_bits: words(0),
            buddies: (1..).take(ORDERS - 1).map(words).collect(),
            counts: [0; ORDERS],
        };
        new.insert(0, size);
        new
    }

    /// Makes blocks free.
    pub(super) fn insert(&mut self, start: u32, length: u32) {
        let end = start + length;
        assert!(self.next_free(start).is_none_or(|at| at >= end), "a block is freed again");
        let left = self.start_of_run_before(start);
        let right = self.end_of_run(end);
        self.set(start, end, true);
        self.exchange(&[(left, start), (end, right)], &[(left, right)]);
        self.free += length;
        self.first_free = self.first_free.min(start);
    }

    /// Takes blocks, all of which are free.
    pub(super) fn remove(&mut self, start: u32, length: u32) {
        let end = start + length;
        let left = self.start_of_run_before(start);
        let right = self.end_of_run(start);
        assert!(right >= end, "what is taken is free");
        self.set(start, end, false);
        self.exchange(&[(left, right)], &[(left, start), (end, right)]);
        self.free -= length;
        if self.first_free == start {
            self.first_free = end;
        }
    }

    /// The free run that ends behind `from`, as far as it does not begin before: start and end; of
    /// a longer one so many blocks.
    pub(super) fn run_from(&self, from: u32, most: u32) -> Option<(u32, u32)> {
        let start = self.next_free(from)?;
        let limit = start.saturating_add(most).min(self.size);
        let bits = &self.free_bits[..index(limit.div_ceil(WORD).into())];
        let end = next_bit(bits, start, false).map_or(limit, |end| end.min(limit));
        Some((start, end))
    }

    /// The order of the largest buddy; `None` if nothing is free.
    pub(super) fn largest_order(&self) -> Option<usize> {
        self.counts.iter().rposition(|count| *count > 0)
    }

    /// The first buddy of the smallest order from this one on (at least 1) that there is.
    pub(super) fn first_buddy(&self, order: usize) -> Option<u32> {
        let order = (order..ORDERS).find(|order| self.counts[*order] > 0)?;
        Some(next_bit(&self.buddies[order - 1], 0, true)? << order)
    }

    /// How much is free from this free block on, in whole buddies, as soon as it is enough: the sum
    /// can be less than the run, and more than is needed.
    pub(super) fn reach(&self, from: u32, needed: u32) -> u32 {
        let mut end = from;
        loop {
            let order = self.order_of(end);
            end = ((end >> order) + 1) << order;
            if end - from >= needed || end >= self.size || !self.is_free(end) {
                return end - from;
            }
        }
    }

    pub(super) fn is_free(&self, at: u32) -> bool {
        bit(&self.free_bits, at)
    }

    /// Checks the invariants and calls `free` for every free run. Slow.
    pub(super) fn check(&self, mut free: impl FnMut(u32, u32)) {
        let mut expected = Self {
            free: 0,
            runs: 0,
            first_free: self.size,
            free_bits: vec![0; self.free_bits.len()],
            buddies: self.buddies.iter().map(|bits| vec![0; bits.len()]).collect(),
            counts: [0; ORDERS],
            ..*self
        };
        let mut at = 0;
        while let Some(start) = next_bit(&self.free_bits, at, true) {
            at = self.end_of_run(start);
            assert!(at <= self.size && start >= self.first_free, "free blocks lie in the group");
            expected.insert(start, at - start);
            free(start, at);
        }
        assert_eq!((expected.free, expected.runs), (self.free, self.runs), "the counts are right");
        assert_eq!(expected.counts, self.counts, "buddies are counted");
        assert!(expected.buddies == self.buddies, "buddies are as large as can be");
    }

    fn next_free(&self, from: u32) -> Option<u32> {
        let from = from.max(self.first_free);
        next_bit(&self.free_bits, from, true).filter(|start| *start < self.size)
    }

    /// The order of the buddy that this free block lies in.
    fn order_of(&self, at: u32) -> u32 {
        let mut orders = (1..).zip(&self.buddies);
        orders.find(|(order, bits)| bit(bits, at >> order)).map_or(0, |(order, _)| order)
    }

    /// The first block of the free run that ends at `at`; `at` if there is none.
    fn start_of_run_before(&self, at: u32) -> u32 {
        let mut word = index(u64::from(at / WORD));
        // Taken blocks before `at`, the nearest in the highest bit.
        let mut taken = if at.is_multiple_of(WORD) {
            0
        } else {
            !self.free_bits[word] & (u64::MAX >> (WORD - at % WORD))
        };
        while taken == 0 {
            if word == 0 {
                return 0;
            }
            word -= 1;
            taken = !self.free_bits[word];
        }
        let words = u32::try_from(word).expect("a group has few words");
        words * WORD + WORD - taken.leading_zeros()
    }

    /// One past the last block of the free run at `at`; `at` if it is taken.
    fn end_of_run(&self, at: u32) -> u32 {
        next_bit(&self.free_bits, at, false).unwrap_or(self.size).min(self.size)
    }

    fn set(&mut self, start: u32, end: u32, free: bool) {
        let mut at = start;
        while at < end {
            let within = at % WORD;
            let count = (WORD - within).min(end - at);
            let mask = (u64::MAX >> (WORD - count)) << within;
            let word = &mut self.free_bits[index(u64::from(at / WORD))];
            *word = if free { *word | mask } else { *word & !mask };
            at += count;
        }
    }

    /// The buddies of some runs go, those of others come; empty runs are none.
    fn exchange(&mut self, gone: &[(u32, u32)], come: &[(u32, u32)]) {
        for &(start, end) in gone.iter().filter(|(start, end)| start < end) {
            self.runs -= 1;
            self.flip_buddies(start, end, |count| *count -= 1);
        }
        for &(start, end) in come.iter().filter(|(start, end)| start < end) {
            self.runs += 1;
            self.flip_buddies(start, end, |count| *count += 1);
        }
    }

    fn flip_buddies(&mut self, mut start: u32, end: u32, count: impl Fn(&mut u32)) {
        while start < end {
            let fitting = (end - start).ilog2();
            let order = start.trailing_zeros().min(fitting).min(LARGEST);
            let at = index(order.into());
            count(&mut self.counts[at]);
            if at > 0 {
                let buddy = start >> order;
                self.buddies[at - 1][index(u64::from(buddy / WORD))] ^= 1 << (buddy % WORD);
            }
            start += 1 << order;
        }
    }
}

fn bit(bits: &[u64], at: u32) -> bool {
    bits[index(u64::from(at / WORD))] >> (at % WORD) & 1 == 1
}

fn next_bit(bits: &[u64], from: u32, wanted: bool) -> Option<u32> {
    let invert = if wanted { 0 } else { u64::MAX };
    let first = index(u64::from(from / WORD));
    let within = (bits.get(first)? ^ invert) & (u64::MAX << (from % WORD));
    if within != 0 {
        return Some(from / WORD * WORD + within.trailing_zeros());
    }
    // Runs are long: eight words at a time, as far as none has such a bit.
    let behind = &bits[first + 1..];
    let none = |words: &&[u64]| words.iter().fold(0, |any, word| any | (word ^ invert)) == 0;
    let skipped = 8 * behind.chunks_exact(8).take_while(none).count();
    let at = skipped + behind[skipped..].iter().position(|word| word ^ invert != 0)?;
    let words = u32::try_from(first + 1 + at).expect("a group has few words");
    Some(words * WORD + (behind[at] ^ invert).trailing_zeros())
}
