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
    /// Takes one unit of host data that arrived at `from`; when it is in the buffer.
    pub(crate) fn write_packed(
        &mut self,
        unit: PackedUnit,
        from: Instant,
        nand: &mut Nand,
        counters: &mut Counters,
    ) -> Instant {
        let PackedUnit { lpn, percent } = unit;
        if self.next < self.end && self.packing().left(self.superblock()) < percent {
            self.close_packed(from, nand);
        }
        if self.next == self.end {
            self.begin(nand, counters);
        }
        let superblock = self.superblock();
        if !self.packing().within_group(superblock) {
            self.room_at = self.buffer.room_at();
        }
        let mut at = from.max(self.room_at);
        self.mapping.place(lpn, self.next);
        self.next += 1;
        counters.host_written_units += 1;
        let groups_left = self.packing().groups_left(superblock);
        let filled = self.packing_mut().add(superblock, 1, percent);
        for group in filled {
            self.program_packed(group, groups_left, at, nand);
            if self.packing().within_group(superblock) {
                self.room_at = self.buffer.room_at();
                at = at.max(self.room_at);
            }
        }
        if self.next == self.end || self.packing().left(superblock) == 0 {
            self.close_packed(at, nand);
        }
        self.packing().account(counters);
        at
    }

    /// Where a unit is read from; `None` if it is still in the buffer.
    pub(super) fn locate_packed(&mut self, ppn: u32, now: Instant) -> Option<u32> {
        let units = self.mapping.superblock_units();
        let packing = self.packing();
        let group = packing.group_of(ppn / units, ppn % units);
        let filling = self.next < self.end && packing.open_group(self.superblock()) == Some(group);
        (!filling && !self.buffer.holds(group, now)).then_some(group)
    }

    /// Pads the open group, as [`Self::flush`] does.
    pub(super) fn flush_packed(
        &mut self,
        from: Instant,
        nand: &mut Nand,
        counters: &mut Counters,
    ) -> Instant {
        if self.next < self.end {
            let superblock = self.superblock();
            let groups_left = self.packing().groups_left(superblock);
            let at = from.max(self.room_at);
            if let Some(group) = self.packing_mut().pad_group(superblock) {
                self.program_packed(group, groups_left, at, nand);
                let slots = self.packing_mut().pad_slots(superblock).min(self.end - self.next);
                for _ in 0..slots {
                    self.mapping.pad(self.next);
                    self.next += 1;
                }
            }
            if self.next == self.end || self.packing().left(superblock) == 0 {
                self.close_packed(at, nand);
            }
            self.packing().account(counters);
        }
        from.max(self.buffer.durable_at())
    }

    /// How many units' worth of the channel `units` of a group take.
    #[inline]
    pub(crate) fn transferred(&self, group: u32, units: u32) -> u32 {
        self.mapping.packing.as_ref().map_or(units, |packing| packing.transferred(group, units))
    }

    /// Nothing more goes into the open superblock.
    fn close_packed(&mut self, from: Instant, nand: &mut Nand) {
        let superblock = self.superblock();
        if let Some(group) = self.packing_mut().pad_group(superblock) {
            self.program_packed(group, 1, from.max(self.room_at), nand);
        }
        self.mapping.truncate(self.end - self.mapping.superblock_units(), self.next);
        self.mapping.close(self.end);
        self.next = self.end;
    }

    fn program_packed(&mut self, group: u32, groups_left: u32, from: Instant, nand: &mut Nand) {
        if self.collector.is_timed() {
            self.collector.pay_share(groups_left, from, nand);
            let programmed_at = nand.program(nand.die_of(group), from);
            self.buffer.programmed(group, programmed_at);
        }
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
