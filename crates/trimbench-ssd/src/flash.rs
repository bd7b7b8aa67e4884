//! The flash translation layer: mapping, write buffer, collector and the host's write point.
//!
//! Model: host data fills superblocks unit by unit; a program group leaves for the flash when its
//! last unit has arrived. Each group that leaves pays its share of what the collector owes.

use trimbench_core::{Instant, Nanos};

use crate::collector::Collector;
use crate::config::SsdConfig;
use crate::counters::Counters;
use crate::mapping::{Deallocated, Mapping};
use crate::nand::Nand;
use crate::write_buffer::WriteBuffer;

/// The translation layer of a flash drive.
#[derive(Debug)]
pub(crate) struct Flash {
    mapping: Mapping,
    buffer: WriteBuffer,
    collector: Collector,
    /// Next unit of the host's open superblock, and its end; equal when there is none.
    next: u32,
    end: u32,
    /// When the group at the write point has its place in the buffer.
    room_at: Instant,
    /// Units of a program group, less one: groups begin where `unit & mask == 0`.
    group_mask: u32,
    group_shift: u32,
    power_loss_protection: bool,
}

impl Flash {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let groups = config.write_buffer.0 / config.geometry.program_bytes.0;
        let group_units = u32::try_from(config.program_units()).expect("checked geometry");
        Self {
            mapping: Mapping::new(
                config.exported_units(),
                config.superblocks(),
                config.superblock_units(),
            ),
            buffer: WriteBuffer::new(trimbench_core::units::index(groups)),
            collector: Collector::new(config),
            next: 0,
            end: 0,
            room_at: Instant::START,
            group_mask: group_units - 1,
            group_shift: group_units.trailing_zeros(),
            power_loss_protection: config.power_loss_protection,
        }
    }

    /// Takes one unit of host data that arrived at `from`; when it is in the buffer.
    #[inline]
    pub(crate) fn write(
        &mut self,
        lpn: u32,
        from: Instant,
        nand: &mut Nand,
        counters: &mut Counters,
    ) -> Instant {
        if self.next & self.group_mask == 0 {
            if self.next == self.end {
                self.open(nand, counters);
            }
            self.room_at = self.buffer.room_at();
        }
        let at = from.max(self.room_at);
        self.mapping.place(lpn, self.next);
        self.next += 1;
        counters.host_written_units += 1;
        counters.programmed_units += 1;
        if self.next & self.group_mask == 0 {
            self.program_group(at, nand);
        }
        at
    }

    /// Where a unit is read from at `now`: its program group, or `None` when no flash is involved
    /// (it holds nothing, or is still in the buffer).
    pub(crate) fn locate(&mut self, lpn: u32, now: Instant) -> Option<u32> {
        let ppn = self.mapping.lookup(lpn)?;
        let group = ppn >> self.group_shift;
        let filling = self.next & self.group_mask != 0 && group == self.next >> self.group_shift;
        (!filling && !self.buffer.holds(group, now)).then_some(group)
    }

    /// Frees the logical units `[first, end)`.
    pub(crate) fn deallocate(
        &mut self,
        first: u32,
        end: u32,
        counters: &mut Counters,
    ) -> Deallocated {
        let found = self.mapping.deallocate(first, end);
        counters.discarded_mapped_units += found.mapped;
        counters.discarded_unmapped_units += found.unmapped;
        found
    }

    /// Makes everything that arrived before `from` durable; when it is.
    pub(crate) fn flush(
        &mut self,
        from: Instant,
        nand: &mut Nand,
        counters: &mut Counters,
    ) -> Instant {
        if self.power_loss_protection {
            return from;
        }
        if self.next & self.group_mask != 0 {
            while self.next & self.group_mask != 0 {
                self.mapping.pad(self.next);
                self.next += 1;
                counters.padding_units += 1;
                counters.programmed_units += 1;
            }
            self.program_group(from.max(self.room_at), nand);
        }
        from.max(self.buffer.durable_at())
    }

    /// Lets the collector use the idle time `[from, until)`.
    pub(crate) fn use_idle_time(
        &mut self,
        from: Instant,
        until: Instant,
        nand: &mut Nand,
        counters: &mut Counters,
    ) {
        self.collector.use_idle_time((from, until), &mut self.mapping, nand, counters);
    }

    /// How long the host must be quiet before idle time counts.
    pub(crate) fn idle_after(&self) -> Nanos {
        self.collector.idle_after()
    }

    /// Logical units that hold data.
    pub(crate) fn mapped_units(&mut self) -> u64 {
        self.mapping.mapped_units()
    }

    /// Comes to rest without charging what is owed: the end of a preconditioning.
    pub(crate) fn settle(&mut self) {
        self.collector.forgive_debt();
        self.buffer.settle();
        self.room_at = Instant::START;
    }

    /// Whether a logical unit holds data.
    #[cfg(test)]
    pub(crate) fn holds_data(&mut self, lpn: u32) -> bool {
        self.mapping.lookup(lpn).is_some()
    }

    /// Checks all invariants.
    ///
    /// # Panics
    /// If one does not hold.
    pub(crate) fn check(&mut self, counters: &Counters) {
        assert!(counters.balanced(), "programs are host's, collector's and padding: {counters:?}");
        let written_ends = [self.next, self.collector.written_end()];
        self.mapping.check(&written_ends);
    }

    /// Opens the host's next superblock, collecting first if there is no room.
    fn open(&mut self, nand: &mut Nand, counters: &mut Counters) {
        self.collector.make_room(&mut self.mapping, nand, counters);
        self.next = self.mapping.open().expect("the collector left room for the host");
        self.end = self.next + self.mapping.superblock_units();
    }

    /// The group that ends at the write point leaves for the flash.
    fn program_group(&mut self, from: Instant, nand: &mut Nand) {
        let group = (self.next - 1) >> self.group_shift;
        let groups_left = (self.end - self.next) >> self.group_shift;
        self.collector.pay_share(groups_left + 1, from, nand);
        let programmed_at = nand.program(nand.die_of(group), from);
        self.buffer.programmed(group, programmed_at);
        if self.next == self.end {
            self.mapping.close(self.end);
        }
    }
}
