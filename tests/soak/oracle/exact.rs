//! The slow and obvious oracle: a map of pieces, and of those that changed since the last flush
//! what they were before each change.

use std::collections::BTreeMap;

use trimbench_core::{Content, Data, Lba, LbaRange};
use trimbench_ssd::TrimmedReads;

use super::{BLOCKS, Found, Judgement, Oracle, Rules, lba, touched};
use crate::soak::scenario::{PIECE_BLOCKS, Scenario};

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    /// What it held before contents were kept, by its hash as soon as it was seen.
    Before(Option<u64>),
    /// Bytes that the drive made up, by their hash as soon as they were seen.
    Bytes(Option<u64>),
    /// One of the two, between which a power cut did not let decide.
    Either(Option<u64>),
    Stamp(u32),
    Zeroes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    mapped: bool,
    blocks: [Holds; BLOCKS],
}

/// The oracle.
#[derive(Debug)]
pub(in crate::soak) struct Exact {
    rules: Rules,
    /// Contents are kept from the first stamped write on.
    kept: bool,
    /// What is not in the map was never touched.
    untouched: Piece,
    pieces: BTreeMap<u64, Piece>,
    /// What those that changed since the last flush were before each change, in that order.
    earlier: BTreeMap<u64, Vec<Piece>>,
}

impl Exact {
    fn piece(&mut self, piece: u64) -> &mut Piece {
        self.pieces.entry(piece).or_insert(self.untouched)
    }

    /// The piece is about to change.
    fn change(&mut self, piece: u64) -> &mut Piece {
        let now = *self.piece(piece);
        if self.kept && !self.rules.protected {
            self.earlier.entry(piece).or_default().push(now);
        }
        self.piece(piece)
    }

    /// The piece with the bytes that are seen for the first time, if this may be found of it.
    fn seen(&self, piece: Piece, number: u64, found: &Found) -> Result<Piece, String> {
        let Some(blocks) = &found.blocks else {
            let agrees = !self.kept && found.mapped == piece.mapped;
            return agrees.then_some(piece).ok_or_else(|| format!("piece {number}: {found:?}"));
        };
        if found.mapped != piece.mapped {
            return Err(format!("piece {number} holds data: {}", found.mapped));
        }
        let mut seen = piece;
        for (block, (&content, holds)) in blocks.iter().zip(&mut seen.blocks).enumerate() {
            let address = lba(number, block);
            let agrees = match (piece.mapped, self.rules.reads) {
                (false, TrimmedReads::Zeroes) => content == Content::Zeroes,
                (false, TrimmedReads::Unstable) => matches!(content, Content::Other { .. }),
                (false, TrimmedReads::OldData) if matches!(holds, Holds::Before(_)) => {
                    content == Content::Zeroes
                }
                _ => holds.reads_as(address, content),
            };
            if !agrees {
                return Err(format!("{address:?} holds {content:?} instead of {holds:?}"));
            }
        }
        Ok(seen)
    }
}

impl Oracle for Exact {
    fn new(scenario: &Scenario) -> Self {
        let rules = Rules::new(scenario);
        let mapped = rules.filled || rules.always_mapped;
        let untouched = Piece { mapped, blocks: [Holds::Before(None); BLOCKS] };
        Self { rules, kept: false, untouched, pieces: BTreeMap::new(), earlier: BTreeMap::new() }
    }

    fn write(&mut self, range: LbaRange, data: Data) {
        self.kept |= matches!(data, Data::Stamped(_));
        let (kept, reads) = (self.kept, self.rules.reads);
        for (number, blocks) in touched(range, self.rules.unit_pieces) {
            let piece = self.change(number);
            if kept {
                if !piece.mapped {
                    piece.blocks = piece.blocks.map(|block| revived(block, reads));
                }
                piece.blocks[blocks].fill(match data {
                    Data::Stamped(generation) => Holds::Stamp(generation),
                    Data::Compressible(0) => Holds::Zeroes,
                    Data::Compressible(_) | Data::Random => Holds::Bytes(None),
                });
            }
            piece.mapped = true;
        }
    }

    fn discard(&mut self, range: LbaRange) {
        let Rules { granule, alignment, pieces, .. } = self.rules;
        let Some(granule) = granule else { return };
        let mut first = alignment;
        while first + granule <= pieces * PIECE_BLOCKS {
            if range.start().0 <= first && first + granule <= range.end().0 {
                for piece in first / PIECE_BLOCKS..(first + granule) / PIECE_BLOCKS {
                    self.change(piece).mapped = false;
                }
            }
            first += granule;
        }
    }

    fn flush(&mut self) {
        self.earlier.clear();
    }

    fn purge(&mut self) {
        self.kept = false;
        self.untouched.mapped = self.rules.always_mapped;
        self.pieces.clear();
        self.earlier.clear();
    }

    fn power_cut(&mut self, mut look: impl FnMut(u64) -> Found) -> Judgement {
        for (number, mut versions) in std::mem::take(&mut self.earlier) {
            let found = look(number);
            versions.push(*self.piece(number));
            let seen = |version: &Piece| self.seen(*version, number, &found);
            // The newest one first.
            let agree: Vec<(Piece, Piece)> =
                versions.iter().rev().filter_map(|it| Some((*it, seen(it).ok()?))).collect();
            // Bytes that are known come a second time only if they are the same.
            let is_known = |(version, seen): &&(Piece, Piece)| version == seen;
            let known = agree.iter().find(is_known).map(|(_, seen)| *seen);
            let piece = known.or_else(|| agree.iter().map(|(_, seen)| *seen).reduce(either));
            let Some(piece) = piece else {
                return Err(format!(
                    "piece {number}: {found:?} as it never was since the flush: {versions:?}"
                ));
            };
            self.pieces.insert(number, piece);
        }
        Ok(())
    }

    fn mapped_pieces(&self) -> u64 {
        let touched = self.pieces.values().filter(|piece| piece.mapped).count() as u64;
        let others = self.rules.pieces - self.pieces.len() as u64;
        touched + if self.untouched.mapped { others } else { 0 }
    }

    fn judge(&mut self, number: u64, found: &Found) -> Judgement {
        let piece = *self.piece(number);
        let seen = self.seen(piece, number, found)?;
        self.pieces.insert(number, seen);
        Ok(())
    }
}

impl Holds {
    /// Whether a read may find this; bytes are the same at every sight.
    fn reads_as(&mut self, address: Lba, content: Content) -> bool {
        match (self, content) {
            (Self::Stamp(generation), content) => {
                content == Content::Stamp { lba: address, generation: *generation }
            }
            (Self::Zeroes | Self::Either(_), Content::Zeroes) => true,
            (
                Self::Before(known) | Self::Bytes(known) | Self::Either(known),
                Content::Other { hash },
            ) => *known.get_or_insert(hash) == hash,
            _ => false,
        }
    }
}

/// One of the two, which both agree with what was found.
fn either(one: Piece, other: Piece) -> Piece {
    let blocks = std::array::from_fn(|block| match (one.blocks[block], other.blocks[block]) {
        (Holds::Before(known), Holds::Bytes(_)) | (Holds::Bytes(known), Holds::Before(_)) => {
            Holds::Either(known)
        }
        (Holds::Either(known), _) | (_, Holds::Either(known)) => Holds::Either(known),
        // Others that look alike stay alike.
        (block, _) => block,
    });
    Piece { blocks, ..one }
}

/// What a block of a trimmed piece holds from a write of another block of it on.
fn revived(block: Holds, reads: TrimmedReads) -> Holds {
    match (reads, block) {
        (TrimmedReads::Zeroes, _) | (TrimmedReads::OldData, Holds::Before(_)) => Holds::Zeroes,
        (TrimmedReads::OldData, block) => block,
        (TrimmedReads::Unstable, _) => Holds::Bytes(None),
    }
}
