//! The fast oracle: what was last written to each logical block, as a number in a flat array.

use trimbench_core::units::{index, narrow};
use trimbench_core::{Content, Data, LbaRange};
use trimbench_ssd::TrimmedReads;

use super::{BLOCKS, Found, Judgement, Oracle, Rules, lba, touched};
use crate::soak::scenario::{PIECE_BLOCKS, Scenario};

/// What a block holds: the generation of its stamp, or one of the numbers below.
type Version = u32;

/// Never written since contents are kept. Generations begin at 1.
const BEFORE: Version = 0;
const ZEROES: Version = u32::MAX;
/// Bytes that the drive made up.
const BYTES: Version = u32::MAX - 1;
/// One of some of the others, between which a power cut did not let decide.
const EITHER: Version = u32::MAX - 2;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    mapped: bool,
    blocks: [Version; BLOCKS],
}

/// The oracle.
#[derive(Debug)]
pub(in crate::soak) struct Versions {
    rules: Rules,
    kept: bool,
    pieces: Vec<Piece>,
    /// What pieces were before each change since the last flush, in the order of the changes.
    earlier: Vec<(u32, Piece)>,
    mapped: u64,
}

impl Versions {
    fn change(&mut self, number: u64) -> &mut Piece {
        let piece = &mut self.pieces[index(number)];
        if self.kept && !self.rules.protected {
            self.earlier.push((narrow(number), *piece));
        }
        piece
    }

    /// Everything as it is made, or purged.
    fn reset(&mut self, mapped: bool) {
        self.pieces.fill(Piece { mapped, blocks: [BEFORE; BLOCKS] });
        self.earlier.clear();
        self.kept = false;
        self.mapped = if mapped { self.rules.pieces } else { 0 };
    }
}

impl Oracle for Versions {
    fn new(scenario: &Scenario) -> Self {
        let rules = Rules::new(scenario);
        let piece = Piece { mapped: false, blocks: [BEFORE; BLOCKS] };
        let pieces = vec![piece; index(rules.pieces)];
        let mut versions = Self { rules, kept: false, pieces, earlier: Vec::new(), mapped: 0 };
        versions.reset(rules.filled || rules.always_mapped);
        versions
    }

    fn write(&mut self, range: LbaRange, data: Data) {
        let version = match data {
            Data::Stamped(generation) => generation,
            Data::Compressible(0) => ZEROES,
            Data::Compressible(_) | Data::Random => BYTES,
        };
        self.kept |= matches!(data, Data::Stamped(_));
        let (kept, reads) = (self.kept, self.rules.reads);
        for (number, blocks) in touched(range, self.rules.unit_pieces) {
            let piece = self.change(number);
            let was_mapped = std::mem::replace(&mut piece.mapped, true);
            if kept {
                if !was_mapped && blocks.len() < piece.blocks.len() {
                    revive(&mut piece.blocks, reads);
                }
                piece.blocks[blocks].fill(version);
            }
            self.mapped += u64::from(!was_mapped);
        }
    }

    fn discard(&mut self, range: LbaRange) {
        let Rules { granule, alignment, .. } = self.rules;
        let Some(granule) = granule.filter(|_| range.end().0 >= alignment) else { return };
        let start = range.start().0.max(alignment) - alignment;
        let first = start.next_multiple_of(granule) + alignment;
        let end = (range.end().0 - alignment) / granule * granule + alignment;
        for number in first / PIECE_BLOCKS..end / PIECE_BLOCKS {
            if self.pieces[index(number)].mapped {
                self.change(number).mapped = false;
                self.mapped -= 1;
            }
        }
    }

    fn flush(&mut self) {
        self.earlier.clear();
    }

    fn purge(&mut self) {
        self.reset(self.rules.always_mapped);
    }

    fn power_cut(&mut self, mut look: impl FnMut(u64) -> Found) -> Judgement {
        let mut earlier = std::mem::take(&mut self.earlier);
        earlier.sort_by_key(|(number, _)| *number);
        for versions in earlier.chunk_by(|one, other| one.0 == other.0) {
            let number = versions[0].0;
            let (found, reads) = (look(number.into()), self.rules.reads);
            let now = self.pieces[number as usize];
            let all = versions.iter().map(|(_, piece)| *piece).chain([now]);
            let may_be = |piece: &Piece| agrees(piece, number.into(), &found, reads);
            let piece = all.filter(may_be).reduce(either).ok_or_else(|| {
                format!("piece {number}: {found:?}, neither {now:?} nor any of {versions:?}")
            })?;
            self.pieces[number as usize] = piece;
            self.mapped = self.mapped - u64::from(now.mapped) + u64::from(piece.mapped);
        }
        Ok(())
    }

    fn mapped_pieces(&self) -> u64 {
        self.mapped
    }

    fn judge(&mut self, number: u64, found: &Found) -> Judgement {
        let piece = &self.pieces[index(number)];
        let good =
            self.kept == found.blocks.is_some() && agrees(piece, number, found, self.rules.reads);
        good.then_some(()).ok_or_else(|| format!("piece {number}: {found:?} instead of {piece:?}"))
    }
}

/// One of the two, which both agree with what was found.
fn either(one: Piece, other: Piece) -> Piece {
    let blocks = std::array::from_fn(|block| {
        if one.blocks[block] == other.blocks[block] { one.blocks[block] } else { EITHER }
    });
    Piece { blocks, ..one }
}

/// Whether this may be found of such a piece.
fn agrees(piece: &Piece, number: u64, found: &Found, reads: TrimmedReads) -> bool {
    let matches = |(block, content): (usize, &Content)| {
        let version = piece.blocks[block];
        let version = match (piece.mapped, reads) {
            (false, TrimmedReads::Zeroes) => ZEROES,
            (false, TrimmedReads::OldData) if version == BEFORE => ZEROES,
            (false, TrimmedReads::Unstable) => BYTES,
            _ => version,
        };
        match (version, *content) {
            (ZEROES | EITHER, Content::Zeroes) => true,
            (BEFORE | BYTES | EITHER, content) => matches!(content, Content::Other { .. }),
            (generation, content) => {
                content == Content::Stamp { lba: lba(number, block), generation }
            }
        }
    };
    let blocks = found.blocks.as_ref();
    found.mapped == piece.mapped
        && blocks.is_none_or(|blocks| blocks.iter().enumerate().all(matches))
}

/// A piece that was trimmed is written in part.
fn revive(blocks: &mut [Version], reads: TrimmedReads) {
    match reads {
        TrimmedReads::Zeroes => blocks.fill(ZEROES),
        TrimmedReads::Unstable => blocks.fill(BYTES),
        TrimmedReads::OldData => {
            blocks.iter_mut().filter(|block| **block == BEFORE).for_each(|block| *block = ZEROES);
        }
    }
}
