//! Contents of the logical blocks, for methods that check whether TRIM does what it promises.
//!
//! Model: the last write of each logical block, kept from the first stamped write on. Before that
//! nothing is kept, at no cost. Whether a block is trimmed, and whose data it reads, is not kept
//! here: the translation layer's own tables are asked, so that a fault in deallocation or mapping
//! shows in what is read.
//!
//! For power cuts a journal keeps what each unit held before its first change since the last flush.
//! With power-loss protection, and on a medium without translation, every change is durable at once
//! and nothing is journalled.
//!
//! Units: mapping units, logical blocks.

use std::collections::BTreeMap;

use trimbench_core::units::index;
use trimbench_core::{Content, Data, Lba, LbaRange};

use crate::config::{ContentsConfig, SsdConfig, TrimmedReads};
use crate::unit::{LOGICAL_BLOCK, PIECE_BYTES, UnitSize};

#[cfg(test)]
mod tests;

/// Logical blocks whose contents are kept together: 1 MiB.
const CHUNK: u64 = 2_048;
/// Units of a chunk at most. A unit is a power of two of blocks, at most 64 KiB: none lies in two
/// chunks.
const CHUNK_UNITS: u64 = CHUNK * LOGICAL_BLOCK.bytes().0 / PIECE_BYTES;

/// What was last written to a logical block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    /// Nothing since the contents are kept.
    #[default]
    Unknown,
    /// The block's own stamp of this generation.
    Stamp(u32),
    /// What the write of this number carried.
    Plain(u32),
    /// Zeroes.
    Zeroes,
}

/// Blocks whose contents are kept together.
#[derive(Debug)]
struct Chunk {
    held: [Held; index(CHUNK)],
    /// Of each unit: the number of flushes before it was last journalled, and one.
    journalled: [u64; index(CHUNK_UNITS)],
}

impl Chunk {
    fn new() -> Box<Self> {
        let journalled = [0; index(CHUNK_UNITS)];
        Box::new(Self { held: [Held::Unknown; index(CHUNK)], journalled })
    }
}

/// What a unit held before its first change since the last flush.
#[derive(Clone, Debug)]
pub(crate) struct Durable {
    pub(crate) lpn: u32,
    pub(crate) mapped: bool,
    held: Box<[Held]>,
}

#[derive(Debug)]
pub(crate) struct Contents {
    unit: UnitSize,
    reads: TrimmedReads,
    /// By the number of the chunk.
    chunks: BTreeMap<u64, Box<Chunk>>,
    /// Numbers the plain writes: each carries something else.
    writes: u32,
    /// Numbers the reads of trimmed blocks, where each gives something else.
    trimmed_reads: u64,
    /// In the order of the changes.
    journal: Vec<Durable>,
    /// Flushes so far, and one.
    flushes: u64,
}

impl Contents {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let ContentsConfig { reads, .. } = config.contents;
        Self {
            unit: config.unit(),
            reads,
            chunks: BTreeMap::new(),
            writes: 0,
            trimmed_reads: 0,
            journal: Vec::new(),
            flushes: 1,
        }
    }

    /// The unit is about to change; `mapped` says whether it holds data before.
    pub(crate) fn journal(&mut self, lpn: u32, mapped: bool) {
        let (first, blocks) = (self.unit.blocks_of(lpn).start, index(self.unit.blocks()));
        let flushes = self.flushes;
        let chunk = self.chunk(first);
        let within = index(first % CHUNK);
        if std::mem::replace(&mut chunk.journalled[within / blocks], flushes) != flushes {
            let held = chunk.held[within..within + blocks].into();
            self.journal.push(Durable { lpn, mapped, held });
        }
    }

    /// Every change so far lasts.
    pub(crate) fn flushed(&mut self) {
        self.journal.clear();
        self.flushes += 1;
    }

    /// What the units that have changed since the last flush held then, by ascending unit. All
    /// counts as flushed from now on.
    pub(crate) fn take_unflushed(&mut self) -> Vec<Durable> {
        let mut unflushed = std::mem::take(&mut self.journal);
        self.flushed();
        unflushed.sort_unstable_by_key(|durable| durable.lpn);
        unflushed
    }

    /// The unit's changes since the last flush are lost.
    pub(crate) fn revert(&mut self, durable: &Durable) {
        for (held, lba) in durable.held.iter().zip(self.unit.blocks_of(durable.lpn)) {
            *self.at(lba) = *held;
        }
    }

    pub(crate) fn write(&mut self, range: LbaRange, data: Data) {
        let held = match data {
            Data::Stamped(generation) => Held::Stamp(generation),
            Data::Compressible(0) => Held::Zeroes,
            Data::Random | Data::Compressible(_) => {
                self.writes = self.writes.wrapping_add(1);
                Held::Plain(self.writes)
            }
        };
        let (mut lba, end) = (range.start().0, range.end().0);
        while lba < end {
            let until = end.min((lba / CHUNK + 1) * CHUNK);
            let first = index(lba % CHUNK);
            self.chunk(lba).held[first..first + index(until - lba)].fill(held);
            lba = until;
        }
    }

    /// The unit was trimmed and is written in part: from now on the rest holds what a read of it
    /// would have given.
    pub(crate) fn revive(&mut self, lpn: u32) {
        for lba in self.unit.blocks_of(lpn) {
            match self.reads {
                TrimmedReads::Zeroes => *self.at(lba) = Held::Zeroes,
                TrimmedReads::OldData if self.get(lba) == Held::Unknown => {
                    *self.at(lba) = Held::Zeroes;
                }
                TrimmedReads::OldData => {}
                TrimmedReads::Unstable => {
                    self.writes = self.writes.wrapping_add(1);
                    *self.at(lba) = Held::Plain(self.writes);
                }
            }
        }
    }

    /// What a read of `lba` gives; `holder` is the block whose data the translation layer finds
    /// there, `None` if the unit is trimmed or was never written.
    pub(crate) fn read(&mut self, lba: u64, holder: Option<u64>) -> Content {
        match (holder, self.reads) {
            (Some(holder), _) => self.held(holder),
            (None, TrimmedReads::Zeroes) => Content::Zeroes,
            (None, TrimmedReads::OldData) => match self.get(lba) {
                Held::Unknown => Content::Zeroes,
                _ => self.held(lba),
            },
            (None, TrimmedReads::Unstable) => {
                self.trimmed_reads += 1;
                Content::Other { hash: hash([lba, 1 << 63 | self.trimmed_reads]) }
            }
        }
    }

    /// What was last written to `lba`, as a read gives it.
    fn held(&self, lba: u64) -> Content {
        match self.get(lba) {
            Held::Unknown => Content::Other { hash: hash([lba, 0]) },
            Held::Stamp(generation) => Content::Stamp { lba: Lba(lba), generation },
            Held::Plain(write) => Content::Other { hash: hash([lba, 1 << 32 | u64::from(write)]) },
            Held::Zeroes => Content::Zeroes,
        }
    }

    fn get(&self, lba: u64) -> Held {
        self.chunks
            .get(&(lba / CHUNK))
            .map_or(Held::Unknown, |chunk| chunk.held[index(lba % CHUNK)])
    }

    fn at(&mut self, lba: u64) -> &mut Held {
        &mut self.chunk(lba).held[index(lba % CHUNK)]
    }

    fn chunk(&mut self, lba: u64) -> &mut Chunk {
        self.chunks.entry(lba / CHUNK).or_insert_with(Chunk::new)
    }
}

fn hash(words: [u64; 2]) -> u64 {
    let mut hash = trimbench_core::trace_hash::TraceHash::default();
    for word in words {
        hash.word(word);
    }
    hash.value()
}
