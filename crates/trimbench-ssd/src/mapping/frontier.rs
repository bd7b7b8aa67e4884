//! Write frontiers: how far the open superblock of a stream is written, and how much still fits.
//!
//! Without compression a program group and a superblock are full after a number of units; with
//! compression, when their space is. The caller need not know which: each unit carries its size,
//! which is ignored without compression.

use std::ops::Range;

use super::{Fill, Mapping, Packing, Region};
use crate::config::WHOLE;

/// Where the next unit of a stream goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frontier {
    /// The next unit, and the end of the open superblock; equal when there is none.
    pub(crate) next: u32,
    pub(crate) end: u32,
}

/// What a superblock has room for.
#[derive(Debug)]
pub(super) enum Space {
    /// So many units.
    Units,
    /// What fits, in a drive that compresses.
    Packed(Packing),
}

impl Frontier {
    /// Whether there is no open superblock.
    #[inline]
    pub(crate) fn is_closed(self) -> bool {
        self.next == self.end
    }

    /// Units that can still be addressed.
    pub(crate) fn left(self) -> u32 {
        self.end - self.next
    }
}

impl Mapping {
    /// The same mapping in a drive that compresses.
    pub(crate) fn with_packing(mut self, packing: Packing) -> Self {
        self.space = Space::Packed(packing);
        self
    }

    /// Opens a free superblock for data of this region.
    pub(crate) fn open_in(&mut self, region: Region) -> Option<Frontier> {
        let next = self.open()?;
        self.regions[(next >> self.shift) as usize] = region;
        Some(Frontier { next, end: next + self.superblock_units() })
    }

    /// Nothing more goes into the open superblock. The program group that is padded for it, if one
    /// has begun and is not full.
    pub(crate) fn finish(&mut self, frontier: &mut Frontier) -> Option<u32> {
        let superblock = self.superblock_of(*frontier);
        let padded = self.packing_mut().and_then(|packing| packing.pad_group(superblock));
        if !frontier.is_closed() {
            self.truncate(frontier.end - self.superblock_units(), frontier.next);
        }
        self.close(frontier.end);
        frontier.next = frontier.end;
        padded
    }

    /// Space that is left, in hundredths of a unit; without compression there is no other limit
    /// than addresses.
    #[inline]
    pub(crate) fn space_left(&self, frontier: Frontier) -> u32 {
        match &self.space {
            Space::Units => u32::MAX,
            Space::Packed(packing) => packing.left(self.superblock_of(frontier)),
        }
    }

    /// Whether a unit of so many hundredths may be written at a frontier; it may where a superblock
    /// must be opened first.
    #[inline]
    pub(crate) fn fits(&self, frontier: Frontier, points: u32) -> bool {
        match &self.space {
            Space::Units => true,
            Space::Packed(packing) => {
                frontier.is_closed() || packing.left(self.superblock_of(frontier)) >= points
            }
        }
    }

    /// Whether nothing more fits into the superblock, which was just written to.
    #[inline]
    pub(crate) fn is_full(&self, frontier: Frontier) -> bool {
        frontier.is_closed() || self.space_left(frontier) == 0
    }

    /// The program group that has begun at a frontier and is not full.
    #[inline]
    pub(crate) fn open_group(&self, frontier: Frontier) -> Option<u32> {
        match &self.space {
            Space::Units => {
                let has_begun = frontier.next & self.group_mask != 0;
                has_begun.then(|| frontier.next >> self.group_shift)
            }
            Space::Packed(_) if frontier.is_closed() => None,
            Space::Packed(packing) => packing.open_group(self.superblock_of(frontier)),
        }
    }

    /// Program groups of the open superblock that were not full before `points` were written, of
    /// which one is full or about to be.
    #[inline]
    pub(crate) fn groups_left(&self, frontier: Frontier, points: u32) -> u32 {
        match &self.space {
            Space::Units => (frontier.left() >> self.group_shift) + 1,
            Space::Packed(packing) => packing.groups_left(self.superblock_of(frontier), points),
        }
    }

    /// So many units, which take so many hundredths of a unit, were written before a frontier; the
    /// program groups, numbered through the drive, that became full by it.
    #[inline]
    pub(crate) fn taken(&mut self, frontier: Frontier, units: u32, points: u32) -> Range<u32> {
        let superblock = self.superblock_of(frontier);
        match &mut self.space {
            Space::Units => {
                (frontier.next - units) >> self.group_shift..frontier.next >> self.group_shift
            }
            Space::Packed(packing) => packing.add(superblock, units, points),
        }
    }

    /// Gives up the rest of the program group that has begun at a frontier, unit by unit; how many.
    pub(crate) fn pad_group(&mut self, frontier: &mut Frontier) -> u32 {
        let superblock = self.superblock_of(*frontier);
        let units = match &mut self.space {
            Space::Units => frontier.next.wrapping_neg() & self.group_mask,
            Space::Packed(packing) => {
                packing.pad_group(superblock);
                packing.pad_slots(superblock).min(frontier.left())
            }
        };
        (0..units).for_each(|unit| self.pad(frontier.next + unit));
        frontier.next += units;
        units
    }

    /// The program group of a unit.
    #[inline]
    pub(crate) fn group_of(&self, ppn: u32) -> u32 {
        match &self.space {
            Space::Units => ppn >> self.group_shift,
            Space::Packed(packing) => {
                packing.group_of(ppn >> self.shift, ppn & (self.superblock_units() - 1))
            }
        }
    }

    /// How many units' worth of a channel's time `units` of a program group take.
    #[inline]
    pub(crate) fn transferred(&self, group: u32, units: u32) -> u32 {
        self.packing().map_or(units, |packing| packing.transferred(group, units))
    }

    /// What a superblock has taken; nothing without compression.
    pub(crate) fn fill(&self, superblock: u32) -> Fill {
        self.packing().map_or_else(Fill::default, |packing| packing.fill(superblock))
    }

    /// In a drive that compresses.
    pub(crate) fn packing(&self) -> Option<&Packing> {
        match &self.space {
            Space::Units => None,
            Space::Packed(packing) => Some(packing),
        }
    }

    pub(super) fn packing_mut(&mut self) -> Option<&mut Packing> {
        match &mut self.space {
            Space::Units => None,
            Space::Packed(packing) => Some(packing),
        }
    }

    /// So many units in the measure of [`Self::victim`].
    pub(crate) fn measured(&self, units: u32) -> u32 {
        units * self.packing().map_or(1, |_| WHOLE)
    }

    /// The open superblock, or the one that was just filled.
    #[inline]
    fn superblock_of(&self, frontier: Frontier) -> u32 {
        frontier.end.wrapping_sub(1) >> self.shift
    }
}
