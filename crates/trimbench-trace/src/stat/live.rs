//! Which units are live: a bit each, in chunks; nothing where all or none of a chunk is.

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

#[derive(Clone, Debug, Default)]
enum Chunk {
    #[default]
    None,
    All,
    Some {
        bits: Box<[u64]>,
        count: u64,
    },
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
        let mut result = Change { changed: 0, unfollowed: beyond };
        for (number, within) in pieces(range.start.min(limit)..range.end.min(limit)) {
            if self.chunks.len() <= number {
                self.chunks.resize(number + 1, Chunk::None);
            }
            let chunk = &mut self.chunks[number];
            if matches!(chunk, Chunk::None) && within != (0..UNITS) {
                if self.allocated == CHUNKS_MAX {
                    result.unfollowed += within.end - within.start;
                    continue;
                }
                self.allocated += 1;
                *chunk = Chunk::with(0);
            }
            let changed = match chunk {
                Chunk::All => 0,
                Chunk::None => {
                    *chunk = Chunk::All;
                    UNITS
                }
                Chunk::Some { bits, count } => {
                    let mut changed = 0;
                    for (word, mask) in words(within) {
                        changed += u64::from((mask & !bits[word]).count_ones());
                        bits[word] |= mask;
                    }
                    *count += changed;
                    if *count == UNITS {
                        *chunk = Chunk::All;
                        self.allocated -= 1;
                    }
                    changed
                }
            };
            result.changed += changed;
        }
        self.units += result.changed;
        result
    }

    /// Makes a range live no more.
    pub(super) fn clear(&mut self, range: Range<u64>) -> Change {
        let known = self.chunks.len() as u64 * UNITS;
        let mut result = Change::default();
        for (number, within) in pieces(range.start.min(known)..range.end.min(known)) {
            let chunk = &mut self.chunks[number];
            if matches!(chunk, Chunk::All) && within != (0..UNITS) {
                if self.allocated == CHUNKS_MAX {
                    result.unfollowed += within.end - within.start;
                    continue;
                }
                self.allocated += 1;
                *chunk = Chunk::with(u64::MAX);
            }
            result.changed += match chunk {
                Chunk::None => 0,
                Chunk::All => {
                    *chunk = Chunk::None;
                    UNITS
                }
                Chunk::Some { bits, count } => {
                    let mut cleared = 0;
                    for (word, mask) in words(within) {
                        cleared += u64::from((mask & bits[word]).count_ones());
                        bits[word] &= !mask;
                    }
                    *count -= cleared;
                    if *count == 0 {
                        *chunk = Chunk::None;
                        self.allocated -= 1;
                    }
                    cleared
                }
            };
        }
        self.units -= result.changed;
        result
    }
}

impl Chunk {
    fn with(word: u64) -> Self {
        let count = if word == 0 { 0 } else { UNITS };
        Self::Some { bits: vec![word; WORDS].into_boxed_slice(), count }
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
