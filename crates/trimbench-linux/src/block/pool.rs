//! Registered memory in several sizes, reused, of bounded total size, and what writes carry.
//!
//! Each read and each write under way has memory of its own. Reads could share one place but for
//! layers that check or decrypt what they read where it lies (dm-integrity, dm-crypt). What was
//! read is never written: memory for the two is kept apart.
//!
//! Random data is prepared once and stamped at each use: 8 bytes in every 4 KiB differ from all
//! other writes, the rest is random, so nothing below can compress or deduplicate it. Stamps
//! lie 4 KiB apart, so that every aligned 4 KiB of a write has one even where the write does not
//! begin at a multiple of 4 KiB.

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Data, Lba, stamp};

use crate::ring::fixed::{Chunk, FixedRing};
use crate::size_classes::{CLASSES, Direction, LARGEST, PAGE, class_of, class_size};

#[cfg(test)]
mod tests;

/// Memory is added in so many bytes at least.
const SLAB: u64 = 1 << 20;

/// Memory that is lent, and what it holds.
pub(super) struct Buffer {
    pub(super) chunk: Chunk,
    pub(super) holds: Holds,
}

/// What memory was prepared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Unknown,
    /// In each 4 KiB so many random bytes, then zeroes.
    Random {
        bytes: u64,
    },
}

/// Where a write begins, for data that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lba: Lba,
    /// Bytes of a logical block.
    pub(super) logical_block: u64,
}

pub(super) struct Pool {
    /// Unused memory by direction and class.
    free: [[Vec<Buffer>; CLASSES]; 2],
    /// Bytes of all memory by direction and class, lent or not.
    made: [[u64; CLASSES]; 2],
    /// What each of these may be.
    limit: Bytes,
    /// Random bytes.
    template: Vec<u8>,
    /// Written into every 4 KiB before it is written; never repeats.
    stamp: u64,
    scratch: Vec<Chunk>,
}

impl Pool {
    /// A pool of at most `limit` bytes for each direction and class, at least one piece each.
    pub(super) fn new(limit: Bytes, seed: u64, first_stamp: u64) -> Self {
        let mut rng = Rng::new(seed).split("block-data");
        let words = (0..LARGEST / 8).flat_map(|_| rng.bits().to_le_bytes());
        Self {
            free: Default::default(),
            made: Default::default(),
            limit,
            template: words.collect(),
            stamp: first_stamp,
            scratch: Vec::new(),
        }
    }

    /// Memory for `length` bytes (at most [`LARGEST`]); `None` while the limit is reached.
    #[inline]
    pub(super) fn lend(
        &mut self,
        ring: &mut FixedRing,
        direction: Direction,
        length: u64,
    ) -> Option<Buffer> {
        let class = class_of(length);
        if let Some(buffer) = self.free[direction as usize][class].pop() {
            return Some(buffer);
        }
        self.add(ring, direction, class);
        self.free[direction as usize][class].pop()
    }

    #[inline]
    pub(super) fn give_back(&mut self, direction: Direction, buffer: Buffer) {
        let class = class_of(buffer.chunk.length());
        self.free[direction as usize][class].push(buffer);
    }

    /// Puts what a write carries into the first `length` bytes.
    #[inline]
    pub(super) fn fill(&mut self, buffer: &mut Buffer, length: u64, data: Data, place: Place) {
        let random = match data {
            Data::Random => PAGE,
            Data::Compressible(percent) => u64::from(percent.min(100)) * PAGE / 100,
            Data::Stamped(generation) => {
                buffer.holds = Holds::Unknown;
                let memory = &mut buffer.chunk.bytes()[..index(length)];
                let blocks = memory.chunks_exact_mut(index(place.logical_block));
                for (number, block) in (0..).zip(blocks) {
                    stamp::write(block, Lba(place.lba.0 + number), generation);
                }
                return;
            }
        };
        if buffer.holds != (Holds::Random { bytes: random }) {
            self.prepare(buffer, random);
        }
        if random >= 8 {
            let memory = &mut buffer.chunk.bytes()[..index(length)];
            for page in memory.chunks_mut(index(PAGE)) {
                page[..8].copy_from_slice(&self.stamp.to_le_bytes());
                self.stamp = self.stamp.wrapping_add(1);
            }
        }
    }

    /// Makes the whole memory ready: in each 4 KiB `random` random bytes, then zeroes.
    #[cold]
    fn prepare(&mut self, buffer: &mut Buffer, random: u64) {
        buffer.holds = Holds::Random { bytes: random };
        let template = self.template.chunks_exact(index(PAGE));
        for (page, bytes) in buffer.chunk.bytes().chunks_exact_mut(index(PAGE)).zip(template) {
            let (noise, zeroes) = page.split_at_mut(index(random));
            noise.copy_from_slice(&bytes[..index(random)]);
            zeroes.fill(0);
        }
    }

    /// Adds memory of a class, as far as the limit goes; in any case the first of its kind, so that
    /// nothing waits for ever.
    #[cold]
    fn add(&mut self, ring: &mut FixedRing, direction: Direction, class: usize) {
        let (size, made) = (class_size(class), &mut self.made[direction as usize][class]);
        let room = self.limit.0.saturating_sub(*made) / size;
        let least = u64::from(*made == 0);
        let count = (SLAB / size).max(1).min(room).max(least);
        if count > 0 {
            ring.add_memory(size, count, &mut self.scratch);
            *made += size * count;
            let new = self.scratch.drain(..).map(|chunk| Buffer { chunk, holds: Holds::Unknown });
            self.free[direction as usize][class].extend(new);
        }
    }
}
