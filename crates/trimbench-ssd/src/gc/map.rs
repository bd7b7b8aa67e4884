//! The debt of garbage collection for map updates, in a drive without DRAM.
//!
//! The units of a victim are updated by translation page, together ("batch updates", \[GUPT09\]):
//! a page in the mapping cache is updated there, any other is read and programmed, and not cached.

use super::{GarbageCollector, Owed};
use crate::counters::DriveCounters;
use crate::mapping::Mapping;
use crate::nand::{Cells, Nand};

impl GarbageCollector {
    /// Notes what moving the valid units of a victim owes for the map.
    pub(super) fn owe_map_updates(
        &mut self,
        victim: u32,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut DriveCounters,
    ) {
        if !self.timed {
            return;
        }
        mapping.update_pages_of(victim, |page| {
            let die = nand.die_of(page);
            let (cells, pieces) = (Cells::Map, nand.map_pieces());
            let read = Owed::Read { cells, die, pages: 1, pieces };
            self.moves().extend([read, Owed::Program { cells, die }]);
            counters.map_pages_read += 1;
            counters.map_pages_programmed += 1;
        });
    }
}
