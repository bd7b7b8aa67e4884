//! Contents of the logical blocks, for methods that check whether TRIM does what it promises.
//!
//! Model: the last write of each logical block, kept from the first stamped write on. Before that
//! nothing is kept, at no cost. Whether a block is trimmed, and whose data it reads, is not kept
//! here: the translation layer's own tables are asked, so that a fault in deallocation or mapping
//! shows in what is read.
//!
//! For power cuts a journal keeps what each unit goes back to as long as what it holds is not
//! durable ([`Journal`]). With power-loss protection, and on a medium without translation, every
//! change is durable at once and nothing is journalled.
//!
//! Units: mapping units, logical blocks.

use std::collections::BTreeMap;
use std::ops::Range;

use trimbench_core::units::{index, narrow};
use trimbench_core::{Content, Data, Lba, LbaRange};

use crate::config::{ContentsConfig, SsdConfig, TrimmedReads};
use crate::slots::Slot;
use crate::unit::UnitSize;
use journal::Journal;

mod journal;

pub(crate) use journal::Version;

#[cfg(test)]
mod tests;

/// Logical blocks whose contents are kept together: 1 MiB. A unit is a power of two of blocks, at
/// most 64 KiB: none lies in two chunks.
const CHUNK: u64 = 2_048;

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
type Chunk = [Held; index(CHUNK)];

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
    journal: Journal,
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
            journal: Journal::new(index(config.unit().units(config.write_buffer))),
        }
    }

    /// From now on trimmed blocks read in this way.
    pub(crate) fn read_discarded(&mut self, reads: TrimmedReads) {
        self.reads = reads;
    }

    /// The unit is about to change. `mapped` says whether it holds data, and `is_on_flash` whether
    /// the program of that has ended.
    pub(crate) fn journal(&mut self, lpn: u32, mapped: bool, is_on_flash: impl FnOnce() -> bool) {
        let (unit, chunks) = (self.unit, &self.chunks);
        self.journal.change(lpn, is_on_flash, || (mapped, held_by(unit, chunks, lpn)));
    }

    /// These units, whose data are durable, are about to be trimmed.
    pub(crate) fn journal_trim(&mut self, units: Range<u32>) {
        self.journal.trim_durable(units);
    }

    /// The flush in this slot has started: when it ends, all changes so far are durable.
    pub(crate) fn flush_started(&mut self, slot: Slot) {
        self.journal.flush_started(slot);
    }

    /// The flush in this slot has ended.
    pub(crate) fn flush_ended(&mut self, slot: Slot) {
        self.journal.flush_ended(slot);
    }

    /// Whether the journal has become so long that [`Self::prune`] is worth its time.
    pub(crate) fn is_overgrown(&self) -> bool {
        self.journal.is_overgrown()
    }

    /// Forgets what units held whose contents are on the flash now.
    pub(crate) fn prune(&mut self, is_on_flash: impl FnMut(u32) -> bool) {
        self.journal.prune(is_on_flash);
    }

    /// Whether no power cut takes what the unit holds; `is_on_flash` says whether its program has
    /// ended.
    pub(crate) fn is_durable(&mut self, lpn: u32, is_on_flash: impl FnOnce(u32) -> bool) -> bool {
        self.journal.is_durable(lpn, is_on_flash)
    }

    /// Whether the block holds the stamp of this generation, or a power cut may bring it back.
    pub(crate) fn may_hold(&self, lba: u64, generation: u32) -> bool {
        let (held, lpn) = (Held::Stamp(generation), narrow(lba / self.unit.blocks()));
        let block = index(lba % self.unit.blocks());
        self.get(lba) == held || self.journal.keeps(lpn, block, held)
    }

    /// The power is cut: what each unit falls back to if the program of what it holds has not
    /// ended, by ascending unit. All that is left counts as durable from now on.
    pub(crate) fn take_volatile(&mut self) -> Vec<(u32, Version)> {
        let (unit, chunks) = (self.unit, &self.chunks);
        self.journal.take(|lpn| held_by(unit, chunks, lpn))
    }

    /// The unit goes back to what it held.
    pub(crate) fn revert(&mut self, lpn: u32, to: &Version) {
        for (held, lba) in to.held.iter().zip(self.unit.blocks_of(lpn)) {
            *self.at(lba) = *held;
        }
    }

    /// Units of which the journal keeps older contents.
    #[cfg(test)]
    pub(crate) fn journalled_units(&self) -> usize {
        self.journal.units()
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
            self.chunk(lba)[first..first + index(until - lba)].fill(held);
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
        self.chunks.get(&(lba / CHUNK)).map_or(Held::Unknown, |chunk| chunk[index(lba % CHUNK)])
    }

    fn at(&mut self, lba: u64) -> &mut Held {
        &mut self.chunk(lba)[index(lba % CHUNK)]
    }

    fn chunk(&mut self, lba: u64) -> &mut Chunk {
        self.chunks.entry(lba / CHUNK).or_insert_with(|| Box::new([Held::Unknown; index(CHUNK)]))
    }
}

/// What was last written to the blocks of a unit.
fn held_by(unit: UnitSize, chunks: &BTreeMap<u64, Box<Chunk>>, lpn: u32) -> Box<[Held]> {
    let (first, blocks) = (unit.blocks_of(lpn).start, index(unit.blocks()));
    let within = index(first % CHUNK);
    chunks.get(&(first / CHUNK)).map_or_else(
        || vec![Held::Unknown; blocks].into(),
        |chunk| chunk[within..within + blocks].into(),
    )
}

fn hash(words: [u64; 2]) -> u64 {
    let mut hash = trimbench_core::trace_hash::TraceHash::default();
    for word in words {
        hash.word(word);
    }
    hash.value()
}
