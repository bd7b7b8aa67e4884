//! The mapping unit: what the map has an entry for.

use std::ops::Range;

use trimbench_core::units::narrow;
use trimbench_core::{BlockSize, Bytes, LbaRange};

/// Logical block of all emulated drives.
pub(crate) const LOGICAL_BLOCK: BlockSize = BlockSize::SECTOR;
/// The smallest mapping unit, and what the flash gives at least: a read or a write of less counts
/// as this much.
pub(crate) const PIECE_BYTES: u64 = 4_096;

/// How large a mapping unit is: a power of two of pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitSize {
    /// log2 of its logical blocks.
    shift: u32,
}

impl UnitSize {
    /// Of a checked size.
    pub(crate) fn new(size: Bytes) -> Self {
        debug_assert!(size.0.is_power_of_two() && size.0 >= PIECE_BYTES);
        Self { shift: (size.0 / LOGICAL_BLOCK.bytes().0).trailing_zeros() }
    }

    /// Logical blocks of a unit.
    #[inline]
    pub(crate) fn blocks(self) -> u64 {
        1 << self.shift
    }

    /// So many units.
    #[inline]
    pub(crate) fn bytes(self, units: u64) -> Bytes {
        Bytes((units << self.shift) * LOGICAL_BLOCK.bytes().0)
    }

    /// Whole units of so many bytes.
    #[inline]
    pub(crate) fn units(self, bytes: Bytes) -> u64 {
        (bytes.0 / LOGICAL_BLOCK.bytes().0) >> self.shift
    }

    /// Pieces of a unit.
    #[inline]
    pub(crate) fn pieces(self) -> u32 {
        narrow(self.bytes(1).0 / PIECE_BYTES)
    }

    /// The logical blocks of a unit.
    pub(crate) fn blocks_of(self, lpn: u32) -> Range<u64> {
        let first = u64::from(lpn) << self.shift;
        first..first + self.blocks()
    }

    /// The pieces of a unit that a range touches.
    #[inline]
    pub(crate) fn pieces_within(self, lpn: u32, range: LbaRange) -> u64 {
        if self.bytes(1).0 == PIECE_BYTES {
            return 1;
        }
        let unit = self.blocks_of(lpn);
        pieces_between(unit.start.max(range.start().0), unit.end.min(range.end().0))
    }

    /// The units that a range touches.
    #[inline]
    pub(crate) fn span(self, range: LbaRange) -> UnitSpan {
        let (start, end, mask) = (range.start().0, range.end().0, self.blocks() - 1);
        UnitSpan {
            first: narrow(start >> self.shift),
            end: narrow((end + mask) >> self.shift),
            head_partial: start & mask != 0,
            tail_partial: end & mask != 0,
        }
    }
}

/// The pieces that a range touches.
#[inline]
pub(crate) fn pieces_of(range: LbaRange) -> u64 {
    pieces_between(range.start().0, range.end().0)
}

#[inline]
fn pieces_between(start: u64, end: u64) -> u64 {
    const BLOCKS: u64 = PIECE_BYTES / LOGICAL_BLOCK.bytes().0;
    end.div_ceil(BLOCKS) - start / BLOCKS
}

/// The mapping units that a range of logical blocks touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitSpan {
    pub(crate) first: u32,
    /// One past the last.
    pub(crate) end: u32,
    /// The first unit is covered in part only; likewise the last.
    head_partial: bool,
    tail_partial: bool,
}

impl UnitSpan {
    /// The units that are covered whole; empty if there are none.
    pub(crate) fn whole(self) -> Range<u32> {
        let first = self.first + u32::from(self.head_partial);
        let end = self.end - u32::from(self.tail_partial);
        first..end.max(first)
    }

    /// The units that are covered in part.
    #[inline]
    pub(crate) fn partial(self) -> impl Iterator<Item = u32> {
        let head = self.head_partial.then_some(self.first);
        let last = self.end - 1;
        let tail =
            (self.tail_partial && !(self.head_partial && last == self.first)).then_some(last);
        head.into_iter().chain(tail)
    }
}
