//! What the logical blocks hold, for methods that look whether TRIM does what it says.
//!
//! Model: what was last written to each logical block, kept from the first stamped write on; before
//! it nothing is kept, and the drive costs what it costs without. Whether a block is trimmed, and
//! whose data it reads, is not kept here: that is asked of the translation layer's own tables, so
//! that a fault in deallocation or mapping shows in what is read.
//!
//! For power cuts a journal keeps what each unit held before its first change since the last flush.
//! With power-loss protection, and on a medium without translation, every change lasts at once and
//! nothing is journalled.
//!
//! Units: mapping units of [`UNIT_BLOCKS`] logical blocks.

use std::collections::BTreeMap;

use trimbench_core::units::index;
use trimbench_core::{Content, Data, Lba, LbaRange};

use crate::config::{ContentsConfig, TrimmedReads};

#[cfg(test)]
mod tests;

/// Logical blocks of a mapping unit.
pub(crate) const UNIT_BLOCKS: u64 = 8;
/// Logical blocks whose contents are kept together: 1 MiB.
const CHUNK: u64 = 2_048;
const _: () = assert!(CHUNK.is_multiple_of(UNIT_BLOCKS), "no unit lies in two chunks");

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

/// What a unit held before its first change since the last flush.
#[derive(Clone, Copy, Debug)]
struct Durable {
    mapped: bool,
    held: [Held; index(UNIT_BLOCKS)],
}

/// The contents of a drive.
#[derive(Debug)]
pub(crate) struct Contents {
    reads: TrimmedReads,
    /// By the number of the chunk.
    chunks: BTreeMap<u64, Box<[Held]>>,
    /// Numbers the plain writes: each carries something else.
    writes: u32,
    /// Numbers the reads of trimmed blocks, where each gives something else.
    trimmed_reads: u64,
    /// By the number of the unit.
    journal: BTreeMap<u32, Durable>,
}

impl Contents {
    /// Nothing kept yet.
    pub(crate) fn new(config: ContentsConfig) -> Self {
        Self {
            reads: config.reads,
            chunks: BTreeMap::new(),
            writes: 0,
            trimmed_reads: 0,
            journal: BTreeMap::new(),
        }
    }

    /// The unit is about to change; `mapped` says whether it holds data before.
    pub(crate) fn journal(&mut self, lpn: u32, mapped: bool) {
        let chunks = &self.chunks;
        self.journal.entry(lpn).or_insert_with(|| {
            let mut held = [Held::Unknown; index(UNIT_BLOCKS)];
            let blocks = blocks_of(lpn);
            if let Some(chunk) = chunks.get(&(blocks.start / CHUNK)) {
                let first = index(blocks.start % CHUNK);
                held.copy_from_slice(&chunk[first..first + index(UNIT_BLOCKS)]);
            }
            Durable { mapped, held }
        });
    }

    /// Every change so far lasts.
    pub(crate) fn flushed(&mut self) {
        self.journal.clear();
    }

    /// Units that have changed since the last flush, ascending.
    pub(crate) fn unflushed(&self) -> Vec<u32> {
        self.journal.keys().copied().collect()
    }

    /// The unit's changes since the last flush are lost. Returns whether it held data before them.
    pub(crate) fn revert(&mut self, lpn: u32) -> bool {
        let Some(durable) = self.journal.remove(&lpn) else { return true };
        for (held, lba) in durable.held.into_iter().zip(blocks_of(lpn)) {
            *self.at(lba) = held;
        }
        durable.mapped
    }

    /// The range was written.
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
            self.chunk(lba)[first..first + index(until - lba)].fill(held);
            lba = until;
        }
    }

    /// The unit was trimmed and is written in part: from now on the rest holds what a read of it
    /// would have given.
    pub(crate) fn revive(&mut self, lpn: u32) {
        for lba in blocks_of(lpn) {
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
        self.chunks.get(&(lba / CHUNK)).map_or(Held::Unknown, |chunk| chunk[index(lba % CHUNK)])
    }

    fn at(&mut self, lba: u64) -> &mut Held {
        &mut self.chunk(lba)[index(lba % CHUNK)]
    }

    /// The chunk of `lba`.
    fn chunk(&mut self, lba: u64) -> &mut [Held] {
        let chunk = self.chunks.entry(lba / CHUNK);
        chunk.or_insert_with(|| vec![Held::Unknown; index(CHUNK)].into())
    }
}

/// The logical blocks of a mapping unit.
pub(crate) fn blocks_of(lpn: u32) -> std::ops::Range<u64> {
    let first = u64::from(lpn) * UNIT_BLOCKS;
    first..first + UNIT_BLOCKS
}

fn hash(words: [u64; 2]) -> u64 {
    let mut hash = trimbench_core::trace_hash::TraceHash::default();
    for word in words {
        hash.word(word);
    }
    hash.value()
}
