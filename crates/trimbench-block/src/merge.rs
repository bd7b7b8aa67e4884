//! Pieces of discards, and the requests that they become.

use trimbench_core::{Blocks, LbaRange};

/// One piece of a discard, as a sender hands it in (a bio).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) range: LbaRange,
    /// Whether others may join it: not if the device's limit cut it off (7.2 of the reference).
    pub(crate) mergeable: bool,
}

/// What limits discards, in blocks of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscardLimits {
    /// Of one piece that a sender makes.
    pub(crate) bio_max: u64,
    /// Of one command.
    pub(crate) command_max: u64,
    /// Where the device's own pieces begin.
    pub(crate) granularity: u64,
    /// Ranges of one command.
    pub(crate) segments: usize,
}

impl DiscardLimits {
    /// The pieces of a range, in order.
    pub(crate) fn pieces(self, range: LbaRange) -> impl Iterator<Item = Piece> {
        let mut at = range.start().0;
        let end = range.end().0;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let bio_end = self.cut(at, end, self.bio_max);
                let stop = self.cut(at, bio_end, self.command_max);
                let piece = Piece { range: between(at, stop), mergeable: stop == bio_end };
                at = stop;
                piece
            })
        })
    }

    /// Where a piece that begins at `at` ends: at most `longest` on, back to a whole granule.
    fn cut(self, at: u64, end: u64, longest: u64) -> u64 {
        if end - at <= longest {
            return end;
        }
        let stop = at + longest;
        let aligned = stop / self.granularity * self.granularity;
        if aligned > at { aligned } else { stop }
    }
}

/// A discard that may still grow.
#[derive(Clone, Debug)]
pub(crate) struct Discard {
    pub(crate) ranges: Vec<LbaRange>,
    length: u64,
    mergeable: bool,
    /// Pieces in it.
    pub(crate) pieces: u32,
}

impl Discard {
    pub(crate) fn new(piece: Piece) -> Self {
        Self {
            ranges: vec![piece.range],
            length: piece.range.length().0,
            mergeable: piece.mergeable,
            pieces: 1,
        }
    }

    /// Takes a piece in, if both may be one command.
    pub(crate) fn merges(&mut self, piece: Piece, limits: DiscardLimits) -> bool {
        let length = self.length + piece.range.length().0;
        if !self.mergeable || !piece.mergeable || length > limits.command_max {
            return false;
        }
        let merged = if limits.segments > 1 {
            self.ranges.len() < limits.segments && {
                self.ranges.push(piece.range);
                true
            }
        } else {
            let own = &mut self.ranges[0];
            let behind = own.end() == piece.range.start();
            let before = piece.range.end() == own.start();
            if behind {
                *own = between(own.start().0, piece.range.end().0);
            } else if before {
                *own = between(piece.range.start().0, own.end().0);
            }
            behind || before
        };
        if merged {
            self.length = length;
            self.pieces += 1;
        }
        merged
    }
}

fn between(start: u64, end: u64) -> LbaRange {
    LbaRange::new(trimbench_core::Lba(start), Blocks(end - start)).expect("a piece is not empty")
}
