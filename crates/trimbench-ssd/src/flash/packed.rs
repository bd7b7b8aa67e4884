//! The host's write point in a drive that compresses.
//!
//! As without compression, but a program group and a superblock are full when their space is, and
//! not after a number of units. A unit may begin in one group and end in the next; none lies in two
//! superblocks.

use trimbench_core::Instant;

use super::Flash;
use crate::counters::Counters;
use crate::mapping::Packing;
use crate::nand::Nand;

/// A unit of host data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedUnit {
    pub(crate) lpn: u32,
    /// How much of its size it takes, at most 100.
    pub(crate) percent: u32,
}

impl Flash {
    /// Decides where one unit of host data goes.
    pub(crate) fn write_packed(&mut self, unit: PackedUnit, nand: &Nand, counters: &mut Counters) {
        let PackedUnit { lpn, percent } = unit;
        if self.next < self.end && self.packing().left(self.superblock()) < percent {
            self.close_packed();
        }
        if self.next == self.end {
            self.begin(nand, counters);
        }
        let superblock = self.superblock();
        if !self.packing().within_group(superblock) {
            self.buffer.begin();
        }
        self.mapping.place(lpn, self.next);
        self.next += 1;
        counters.host_written_units += 1;
        let groups_left = self.packing().groups_left(superblock);
        let mut filled = self.packing_mut().add(superblock, 1, percent).peekable();
        while let Some(group) = filled.next() {
            self.send(group, groups_left, false);
            if filled.peek().is_some() || self.packing().within_group(superblock) {
                self.buffer.begin();
            }
        }
        if self.next == self.end || self.packing().left(superblock) == 0 {
            self.close_packed();
        }
        self.packing().account(counters);
    }

    /// Where a unit is read from; `None` if it is still in the buffer.
    pub(super) fn locate_packed(&mut self, ppn: u32, now: Instant) -> Option<u32> {
        let units = self.mapping.superblock_units();
        let packing = self.packing();
        let group = packing.group_of(ppn / units, ppn % units);
        let filling = self.next < self.end && packing.open_group(self.superblock()) == Some(group);
        (!filling && !self.buffer.holds(group, now)).then_some(group)
    }

    /// Pads the open group, as [`Self::pad`] does.
    pub(super) fn pad_packed(&mut self, counters: &mut Counters) {
        if self.next < self.end {
            let superblock = self.superblock();
            let groups_left = self.packing().groups_left(superblock);
            if let Some(group) = self.packing_mut().pad_group(superblock) {
                self.send(group, groups_left, false);
                let slots = self.packing_mut().pad_slots(superblock).min(self.end - self.next);
                for _ in 0..slots {
                    self.mapping.pad(self.next);
                    self.next += 1;
                }
            }
            if self.next == self.end || self.packing().left(superblock) == 0 {
                self.close_packed();
            }
            self.packing().account(counters);
        }
    }

    /// How many units' worth of the channel `units` of a group take.
    #[inline]
    pub(crate) fn transferred(&self, group: u32, units: u32) -> u32 {
        self.mapping.packing.as_ref().map_or(units, |packing| packing.transferred(group, units))
    }

    /// Nothing more goes into the open superblock.
    fn close_packed(&mut self) {
        let superblock = self.superblock();
        if let Some(group) = self.packing_mut().pad_group(superblock) {
            self.send(group, 1, false);
        }
        self.mapping.truncate(self.end - self.mapping.superblock_units(), self.next);
        self.mapping.close(self.end);
        self.next = self.end;
    }

    /// The host's open superblock, or the one that was just filled.
    fn superblock(&self) -> u32 {
        (self.end - 1) / self.mapping.superblock_units()
    }

    fn packing(&self) -> &Packing {
        self.mapping.packing.as_ref().expect("only called in a drive that compresses")
    }

    fn packing_mut(&mut self) -> &mut Packing {
        self.mapping.packing.as_mut().expect("only called in a drive that compresses")
    }
}
