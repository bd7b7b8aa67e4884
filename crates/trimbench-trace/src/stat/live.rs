//! Live units: a bit each, in chunks; no memory for chunks that are entirely live or entirely not.

use std::ops::Range;

use trimbench_core::units::index;

/// Chunks of bits at most: 1 GiB of them, for 32 TiB of units of 4 KiB.
pub const CHUNKS_MAX: usize = 1 << 15;
/// Units of a chunk: 1 GiB of units of 4 KiB.
const UNITS: u64 = 1 << 18;
/// Chunks that have a number. What is beyond is not followed: 256 TiB of units of 4 KiB.
const NUMBERS: u64 = 1 << 18;
const WORDS: usize = index(UNITS / 64);

/// Which units are live.
#[derive(Debug, Default)]
pub(super) struct LiveMap {
    chunks: Vec<Chunk>,
    /// Chunks with bits of their own.
    allocated: usize,
    units: u64,
}

/// What became of a range of units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Units that are live and were not, or were live and are not.
    pub(super) changed: u64,
    /// Units that cannot be followed.
    pub(super) unfollowed: u64,
}

/// The units of a chunk.
#[derive(Clone, Debug)]
enum Chunk {
    /// All are live, or none is.
    Uniform(bool),
    /// A bit for each, and how many are live.
    Mixed { bits: Box<[u64]>, count: u64 },
}

impl LiveMap {
    /// How many units are live.
    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Makes a range live.
    pub(super) fn set(&mut self, range: Range<u64>) -> Change {
        let limit = UNITS * NUMBERS;
        let beyond = range.end.max(limit) - range.start.max(limit);
        let range = range.start.min(limit)..range.end.min(limit);
        let chunks = index(range.end.div_ceil(UNITS));
        if !range.is_empty() && self.chunks.len() < chunks {
            self.chunks.resize(chunks, Chunk::Uniform(false));
        }
        let mut change = self.make(true, range);
        self.units += change.changed;
        change.unfollowed += beyond;
        change
    }

    /// Makes a range live no more.
    pub(super) fn clear(&mut self, range: Range<u64>) -> Change {
        let known = self.chunks.len() as u64 * UNITS;
        let change = self.make(false, range.start.min(known)..range.end.min(known));
        self.units -= change.changed;
        change
    }

    /// Marks a range, whose chunks exist, as live or not live.
    #[inline]
    fn make(&mut self, live: bool, range: Range<u64>) -> Change {
        let mut change = Change::default();
        for (number, within) in pieces(range) {
            let chunk = &mut self.chunks[number];
            if let Chunk::Uniform(before) = *chunk {
                if before == live {
                    continue;
                }
                if within == (0..UNITS) {
                    *chunk = Chunk::Uniform(live);
                    change.changed += UNITS;
                    continue;
                }
                if self.allocated == CHUNKS_MAX {
                    change.unfollowed += within.end - within.start;
                    continue;
                }
                self.allocated += 1;
                let (word, count) = if before { (u64::MAX, UNITS) } else { (0, 0) };
                *chunk = Chunk::Mixed { bits: vec![word; WORDS].into_boxed_slice(), count };
            }
            let Chunk::Mixed { bits, count } = chunk else { continue };
            let before = *count;
            for (word, mask) in words(within) {
                let bits = &mut bits[word];
                if live {
                    *count += u64::from((mask & !*bits).count_ones());
                    *bits |= mask;
                } else {
                    *count -= u64::from((mask & *bits).count_ones());
                    *bits &= !mask;
                }
            }
            change.changed += count.abs_diff(before);
            if *count == 0 || *count == UNITS {
                *chunk = Chunk::Uniform(live);
                self.allocated -= 1;
            }
        }
        change
    }
}

/// A range chunk by chunk: its number, and the units within.
fn pieces(range: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        if start >= range.end {
            return None;
        }
        let number = start / UNITS;
        let end = range.end.min((number + 1) * UNITS);
        let within = start - number * UNITS..end - number * UNITS;
        start = end;
        Some((index(number), within))
    })
}

/// The units of a chunk word by word: its number, and the bits within.
fn words(within: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    let mut start = within.start;
    std::iter::from_fn(move || {
        if start >= within.end {
            return None;
        }
        let word = start / 64;
        let end = within.end.min((word + 1) * 64);
        let mask = (u64::MAX << (start % 64)) & (u64::MAX >> (63 - (end - 1) % 64));
        start = end;
        Some((index(word), mask))
    })
}
