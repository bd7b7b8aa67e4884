//! A trace with the published statistics of JEDEC's client master trace (JESD219A), at any
//! capacity. Sources: \[S4\] for the statistics, \[JESD219\] for the spread of random writes.
//!
//! - Published \[S4\]: bytes written over the capacity, writes for them, the sequential share, the
//!   trimmed share, and that there are writes, flushes and TRIMs only.
//! - From the enterprise workload of \[JESD219\], and assumed for this one: half of the random
//!   writes go to 5 % of the space, 30 % to 15 %, 20 % to 80 %.
//! - Assumed: everything else, for example sizes, files, deletions, flushes and timestamps.
//!
//! Model: the space is divided into slots. Random writes go to slots that are in use. Sequential
//! writes are files of one slot each, written in episodes of 1 to 512. While little is free,
//! files take slots in use, and others are deleted: that is a clean-up. While enough is free, files
//! take free slots and nothing is deleted. So a slot is trimmed only after the trace itself has
//! written it whole, and most trimmed slots are written again later. The free share goes up and
//! down between two levels around the published one, and ends there.

use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::units::{index, narrow};
use trimbench_core::{Bytes, Nanos, Ppm};

use super::{BATCH, UNIT};
use crate::record::{Record, RecordKind};
use crate::source::{TraceError, TraceSource};

/// What is published of the master trace.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The drive for which the other numbers are given.
    pub capacity: Bytes,
    /// Bytes that a run writes: "close to 800 GB".
    pub written: Bytes,
    /// Its write commands: "over 37 million".
    pub writes: u64,
    /// The share of writes that continue where the one before ended.
    pub sequential: Ppm,
    /// The share of the space that is trimmed.
    pub trimmed: Ppm,
}

/// The published numbers. Source: \[S4\].
pub const PUBLISHED: Published = Published {
    capacity: Bytes(256_000_000_000),
    written: Bytes(800_000_000_000),
    writes: 37_000_000,
    sequential: Ppm(250_000),
    trimmed: Ppm(130_000),
};

/// The least capacity for which one is made.
pub const SPACE_MIN: Bytes = Bytes::mib(16);

/// Units of a write, and in how many of 1,024 writes. Their mean is 21 KiB; published are 800 GB
/// over 37 million writes, 21.1 KiB.
const SIZES: [(u64, usize); 6] = [(1, 522), (2, 133), (4, 123), (8, 103), (16, 82), (32, 61)];
const WRITE_MAX: Bytes = Bytes(128 << 10);
/// Slots are a 256th of the space within these limits: from 1 GiB on they are alike, and so are the
/// TRIMs for a byte written. The least one holds the largest write.
const SLOTS: u64 = 256;
const SLOT_MIN: Bytes = Bytes(256 << 10);
const SLOT_MAX: Bytes = Bytes::mib(4);
/// Files of an episode, and how many episodes of a hundred have so many.
const EPISODES: [(u32, u64); 5] = [(1, 50), (4, 25), (16, 15), (64, 8), (512, 2)];
/// No episode writes more than this part of the slots.
const EPISODE_SHARE: u32 = 64;
/// Random writes by regions of the space: of a thousand writes, to how many thousandths of it.
const REGIONS: [(u64, u64); 3] = [(500, 50), (300, 150), (200, 800)];
/// The free share at which a clean-up begins, and at which it ends.
const SCARCE: Ppm = Ppm(80_000);
const ENOUGH: Ppm = Ppm(180_000);
/// From this share of the trace on the free share is brought to the published one.
const ENDING: Ppm = Ppm(900_000);
/// In a clean-up a tenth of the slots is deleted while so much of the trace is written.
const CLEAN_UP: Ppm = Ppm(20_000);
/// A file is trimmed in so many pieces, each equally often.
const PIECES: [u64; 3] = [1, 4, 16];
/// Writes between two flushes, on average.
const FLUSH_EVERY: u64 = 500;
/// Time between two commands, on average.
const GAP: Nanos = Nanos::from_millis(1);

/// Which trace is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MasterConfig {
    /// The drive for which it is made; at least [`SPACE_MIN`].
    pub capacity: Bytes,
    /// How much of it: all of it writes 3.125 times the capacity. The free share reaches its levels
    /// in about a quarter.
    pub length: Ppm,
}

/// A set of slots, a bit each, so that it stays in the cache.
#[derive(Clone, Debug)]
struct Slots(Vec<u64>);

impl Slots {
    fn none_of(count: u32) -> Self {
        Self(vec![0; index(u64::from(count.div_ceil(64)))])
    }

    #[inline]
    fn has(&self, slot: u32) -> bool {
        self.0[index(u64::from(slot / 64))] >> (slot % 64) & 1 == 1
    }

    fn add(&mut self, slot: u32) {
        self.0[index(u64::from(slot / 64))] |= 1 << (slot % 64);
    }

    fn remove(&mut self, slot: u32) {
        self.0[index(u64::from(slot / 64))] &= !(1 << (slot % 64));
    }
}

/// Its commands.
#[derive(Clone, Debug)]
pub struct Master {
    rng: Rng,
    slot: Bytes,
    /// How many there are.
    slots: u32,
    /// Slots in the order of the regions of random writes are this far apart, round and round.
    stride: u64,
    /// Slots that hold nothing, the longest free first.
    free: VecDeque<u32>,
    is_free: Slots,
    /// Slots that the trace has written whole. The others hold what the drive was filled with, or
    /// pieces of it.
    files: Vec<u32>,
    is_file: Slots,
    /// By 10 random bits, the units of a write.
    sizes: Vec<u8>,
    cleaning: bool,
    /// The file being written, and how far.
    file: Option<(u32, Bytes)>,
    /// Files of this episode that are still to be written.
    episode: u32,
    /// Random writes before the next episode.
    random: u64,
    /// Random writes less those that keep the published share, with what files have so far.
    surplus: i64,
    /// Bytes by which last writes of files were cut; random writes make up for them.
    cut: Bytes,
    until_flush: u64,
    written: Bytes,
    total: Bytes,
    /// Bytes written between two deletions of a clean-up, and when the next one is.
    deletion_every: u64,
    next_deletion: u64,
    time: Nanos,
}

impl Master {
    /// From its beginning.
    ///
    /// # Panics
    /// If the capacity is below [`SPACE_MIN`].
    pub fn new(config: MasterConfig, rng: Rng) -> Self {
        let MasterConfig { capacity, length } = config;
        assert!(capacity >= SPACE_MIN, "a made trace needs {SPACE_MIN}");
        let mut rng = rng;
        let slot = Bytes(capacity.0 / SLOTS / UNIT.0 * UNIT.0).clamp(SLOT_MIN, SLOT_MAX);
        let count = narrow(capacity.0 / slot.0);
        let sizes = SIZES.iter().flat_map(|&(units, share)| {
            let units = u8::try_from(units).expect("a write is of a few units");
            std::iter::repeat_n(units, share)
        });
        let total = length.of(scaled(capacity, PUBLISHED.written));
        Self {
            slot,
            slots: count,
            stride: stride(u64::from(count), &mut rng),
            free: VecDeque::new(),
            is_free: Slots::none_of(count),
            files: Vec::new(),
            is_file: Slots::none_of(count),
            sizes: sizes.collect(),
            cleaning: true,
            file: None,
            episode: 0,
            random: 0,
            surplus: 0,
            cut: Bytes(0),
            until_flush: FLUSH_EVERY,
            written: Bytes(0),
            total: Bytes(total),
            deletion_every: CLEAN_UP.of(total) * 10 / u64::from(count) + 1,
            next_deletion: 0,
            time: Nanos::ZERO,
            rng,
        }
    }

    /// Bytes that such a trace writes, but for a part of its last command.
    pub fn written(config: MasterConfig) -> Bytes {
        Bytes(config.length.of(scaled(config.capacity, PUBLISHED.written)))
    }

    /// Write commands that such a trace has, about.
    pub fn writes(config: MasterConfig) -> u64 {
        config.length.of(scaled(config.capacity, Bytes(PUBLISHED.writes)))
    }

    /// The next write, and what comes with it.
    fn step(&mut self, batch: &mut Vec<Record>) {
        let (offset, length) = self.write();
        self.put(batch, RecordKind::Write, offset, length);
        self.written += length;
        self.until_flush -= 1;
        if self.until_flush == 0 {
            self.until_flush = 1 + self.rng.below(2 * FLUSH_EVERY - 1);
            self.put(batch, RecordKind::Flush, Bytes(0), Bytes(0));
        }
        if self.cleaning && self.written.0 >= self.next_deletion {
            self.next_deletion = self.written.0 + self.deletion_every;
            self.delete(batch);
        }
    }

    fn put(&mut self, batch: &mut Vec<Record>, kind: RecordKind, offset: Bytes, length: Bytes) {
        batch.push(Record { time: self.time, kind, offset, length });
        self.time += Nanos(self.rng.below(2 * GAP.0));
    }

    /// Where the next write goes.
    #[inline]
    fn write(&mut self) -> (Bytes, Bytes) {
        let size = Bytes(u64::from(self.sizes[index(self.rng.bits() >> 54)]) * UNIT.0);
        if let Some((slot, done)) = self.file {
            return self.continue_file(slot, done, size);
        }
        if self.random > 0 {
            self.random -= 1;
            self.surplus += 1;
            return self.write_randomly(size);
        }
        let slot = self.begin_file();
        self.continue_file(slot, Bytes(0), size)
    }

    fn continue_file(&mut self, slot: u32, done: Bytes, size: Bytes) -> (Bytes, Bytes) {
        let drawn = size;
        let size = drawn.min(self.slot - done);
        self.cut += drawn - size;
        let end = done + size;
        // A file's first write is a jump, of the others each stands for three that are none.
        self.surplus += if done > Bytes(0) { -3 } else { 1 };
        self.file = (end < self.slot).then_some((slot, end));
        if self.file.is_none() {
            self.end_file(slot);
        }
        (self.start(slot) + done, size)
    }

    /// Takes a slot for a file.
    fn begin_file(&mut self) -> u32 {
        if self.episode == 0 {
            self.episode = self.draw_episode();
        }
        self.episode -= 1;
        self.reconsider();
        let free = if self.cleaning { None } else { self.free.pop_front() };
        if let Some(slot) = free {
            self.is_free.remove(slot);
        }
        free.unwrap_or_else(|| self.draw_used())
    }

    fn end_file(&mut self, slot: u32) {
        if !self.is_file.has(slot) {
            self.is_file.add(slot);
            self.files.push(slot);
        }
        if self.episode == 0 {
            // Some more or fewer than are needed; the next time makes up for it.
            let needed = u64::try_from(-self.surplus).unwrap_or(0);
            self.random = needed / 2 + self.rng.below(needed + 1);
        }
    }

    /// Whether to clean up from now on.
    fn reconsider(&mut self) {
        let free = self.free.len() as u64;
        let slots = u64::from(self.slots);
        let ending = self.written.0 >= ENDING.of(self.total.0);
        let (scarce, enough) =
            if ending { (PUBLISHED.trimmed, PUBLISHED.trimmed) } else { (SCARCE, ENOUGH) };
        if free < scarce.of(slots) {
            self.cleaning = true;
        } else if free >= enough.of(slots) {
            self.cleaning = false;
        }
    }

    /// Deletes any one file, and trims it.
    fn delete(&mut self, batch: &mut Vec<Record>) {
        self.reconsider();
        let being_written = self.file.map(|(slot, _)| slot);
        if !self.cleaning || self.files.is_empty() {
            return;
        }
        let place = index(self.rng.below(self.files.len() as u64));
        if Some(self.files[place]) == being_written {
            return;
        }
        let slot = self.files.swap_remove(place);
        self.is_file.remove(slot);
        self.is_free.add(slot);
        self.free.push_back(slot);
        let pieces = PIECES[index(self.rng.below(PIECES.len() as u64))];
        let piece = Bytes((self.slot.0 / pieces).next_multiple_of(UNIT.0));
        let mut done = Bytes(0);
        while done < self.slot {
            let length = piece.min(self.slot - done);
            self.put(batch, RecordKind::Discard, self.start(slot) + done, length);
            done += length;
        }
    }

    fn write_randomly(&mut self, drawn: Bytes) -> (Bytes, Bytes) {
        let size = if drawn == UNIT && self.cut >= WRITE_MAX - UNIT { WRITE_MAX } else { drawn };
        self.cut = self.cut.saturating_sub(size - drawn);
        let slot = self.draw_warm();
        let places = (self.slot - size).0 / UNIT.0 + 1;
        let offset = Bytes(self.rng.below(places) * UNIT.0);
        (self.start(slot) + offset, size)
    }

    /// A slot in use, by the regions of random writes.
    #[inline]
    fn draw_warm(&mut self) -> u32 {
        let count = u64::from(self.slots);
        loop {
            let mut drawn = self.rng.below(1_000);
            let mut start = 0;
            for (writes, share) in REGIONS {
                let end = start + share;
                if drawn < writes {
                    let (first, end) = (start * count / 1_000, end * count / 1_000);
                    let place = first + self.rng.below((end - first).max(1));
                    let slot = narrow(place * self.stride % count);
                    if !self.is_free.has(slot) {
                        return slot;
                    }
                    break;
                }
                drawn -= writes;
                start = end;
            }
        }
    }

    /// Any slot in use.
    fn draw_used(&mut self) -> u32 {
        loop {
            let slot = narrow(self.rng.below(u64::from(self.slots)));
            if !self.is_free.has(slot) {
                return slot;
            }
        }
    }

    fn draw_episode(&mut self) -> u32 {
        let mut drawn = self.rng.below(100);
        for (files, share) in EPISODES {
            if drawn < share {
                return files.min((self.slots / EPISODE_SHARE).max(1));
            }
            drawn -= share;
        }
        unreachable!("the shares are a hundred");
    }

    fn start(&self, slot: u32) -> Bytes {
        Bytes(u64::from(slot) * self.slot.0)
    }
}

/// A step by which each of `count` slots is met once on a way round and round: any in the middle
/// third that has no divisor with the count in common.
fn stride(count: u64, rng: &mut Rng) -> u64 {
    let first = count / 3 + rng.below(count / 3 + 1);
    let is_prime_to = |step: &u64| {
        let (mut larger, mut rest) = (count, *step);
        while rest > 0 {
            (larger, rest) = (rest, larger % rest);
        }
        larger == 1
    };
    (first..first + count).find(is_prime_to).expect("one of so many in a row")
}

/// What is published, for a drive of this capacity.
fn scaled(capacity: Bytes, published: Bytes) -> u64 {
    let wide = u128::from(published.0) * u128::from(capacity.0) / u128::from(PUBLISHED.capacity.0);
    u64::try_from(wide).expect("a few times the capacity")
}

impl TraceSource for Master {
    fn is_timed(&self) -> bool {
        true
    }

    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH && self.written < self.total {
            self.step(batch);
        }
        Ok(())
    }
}
