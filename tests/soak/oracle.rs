//! What the drive must hold: worked out beside it from `docs/model/contents.md`, with none of its
//! code.
//!
//! There are two. [`Exact`] is slow and obvious and remembers also which bytes it saw where it
//! cannot know them beforehand; it watches tiny drives after every step. [`Versions`] is a flat
//! array of what was last written to each logical block, fast enough for long runs. [`Nobody`]
//! watches nothing: what is run again only for its hash.

mod exact;
mod versions;

use std::ops::Range;

use trimbench_core::units::index;
use trimbench_core::{Content, Data, Lba, LbaRange};
use trimbench_ssd::{Media, TrimmedReads};

use super::scenario::{PIECE_BLOCKS, Scenario, Start};

pub(super) use exact::Exact;
pub(super) use versions::Versions;

#[cfg(test)]
mod tests;

/// The contents of a piece's blocks.
pub(super) type Blocks = [Content; BLOCKS];
/// Blocks of a piece.
const BLOCKS: usize = index(PIECE_BLOCKS);

/// What is found of a piece of 4 KiB: a mapping unit, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    /// Its unit holds data.
    pub(super) mapped: bool,
    /// `None` while the drive keeps no contents.
    pub(super) blocks: Option<Blocks>,
}

/// A disagreement, in words.
pub(super) type Judgement = Result<(), String>;

/// An oracle: it is notified of every command and knows the expected content.
pub(super) trait Oracle {
    /// Whether it knows anything.
    const WATCHES: bool = true;

    /// For a drive in its first state.
    fn new(scenario: &Scenario) -> Self;

    /// The range was written.
    fn write(&mut self, range: LbaRange, data: Data);

    /// The range was discarded.
    fn discard(&mut self, range: LbaRange);

    /// Everything so far is durable.
    fn flush(&mut self);

    /// The drive was purged.
    fn purge(&mut self);

    /// The power was cut: each unit is as it was at some time since the last flush. `look` tells
    /// when.
    fn power_cut(&mut self, look: impl FnMut(u64) -> Found) -> Judgement;

    /// Pieces whose units hold data.
    fn mapped_pieces(&self) -> u64;

    /// Whether this may be found of a piece.
    fn judge(&mut self, piece: u64, found: &Found) -> Judgement;
}

/// Knows nothing.
#[derive(Debug)]
pub(super) struct Nobody;

impl Oracle for Nobody {
    const WATCHES: bool = false;

    fn new(_: &Scenario) -> Self {
        Self
    }

    fn write(&mut self, _: LbaRange, _: Data) {}

    fn discard(&mut self, _: LbaRange) {}

    fn flush(&mut self) {}

    fn purge(&mut self) {}

    fn power_cut(&mut self, _: impl FnMut(u64) -> Found) -> Judgement {
        Ok(())
    }

    fn mapped_pieces(&self) -> u64 {
        0
    }

    fn judge(&mut self, _: u64, _: &Found) -> Judgement {
        Ok(())
    }
}

/// What both oracles know of the drive.
#[derive(Clone, Copy, Debug)]
struct Rules {
    pieces: u64,
    /// Pieces of a mapping unit: they become mapped together.
    unit_pieces: u64,
    reads: TrimmedReads,
    /// The TRIM granularity, in logical blocks; `None` where a TRIM frees nothing.
    granule: Option<u64>,
    alignment: u64,
    /// A unit holds data even if nothing was ever written.
    always_mapped: bool,
    /// A power cut loses nothing.
    protected: bool,
    /// Every unit was written before anything was watched.
    filled: bool,
}

impl Rules {
    fn new(scenario: &Scenario) -> Self {
        let Scenario { drive, load, .. } = scenario;
        let in_place = drive.media == Media::InPlace;
        Self {
            pieces: scenario.pieces(),
            unit_pieces: scenario.unit_pieces(),
            reads: drive.contents.reads,
            granule: scenario.trims().then_some(drive.discard_granularity().0 / 512),
            alignment: drive.trim.alignment.0 / 512,
            always_mapped: in_place,
            protected: in_place || drive.power_loss_protection,
            filled: load.start != Start::Fresh,
        }
    }
}

/// The pieces of the units that a range touches, and of each the blocks within the range, which may
/// be none.
fn touched(range: LbaRange, unit_pieces: u64) -> impl Iterator<Item = (u64, Range<usize>)> {
    let (start, end, unit) = (range.start().0, range.end().0, unit_pieces * PIECE_BLOCKS);
    let pieces = start / unit * unit_pieces..end.div_ceil(unit) * unit_pieces;
    pieces.map(move |piece| {
        let first = piece * PIECE_BLOCKS;
        let within = |lba: u64| index(lba.clamp(first, first + PIECE_BLOCKS) - first);
        (piece, within(start)..within(end))
    })
}

/// The address of a block of a piece.
fn lba(piece: u64, block: usize) -> Lba {
    Lba(piece * PIECE_BLOCKS + block as u64)
}
