//! Planted faults: a drive with one behaves exactly like a drive with such a bug. Also the plain
//! victim search, which reveals a bug in another search.

use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Data, LbaRange};

use super::Ssd;
use crate::config::TrimmedReads;
use crate::contents::Contents;
use crate::mapping::{TableFault, VictimSearch};

#[cfg(test)]
mod tests;

/// A planted fault: what a TRIM frees beyond what it was told to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overreach {
    /// Before the first whole unit; a multiple of 4 KiB.
    pub before: Bytes,
    /// Behind the last whole unit; a multiple of 4 KiB.
    pub behind: Bytes,
}

impl Ssd {
    /// Plants a fault: from now on TRIMs free more than they say.
    pub fn plant_overreach(&mut self, overreach: Overreach) {
        self.overreach = overreach;
    }

    /// From now on it keeps what blocks hold, as it does from the first stamped write on.
    pub fn keep_contents(&mut self) {
        let config = &self.config;
        self.contents.get_or_insert_with(|| Box::new(Contents::new(config)));
    }

    /// What these blocks hold is known by this stamp from now on, as if a write had brought it
    /// before: nothing else changes, and no time passes.
    pub fn hold_stamped(&mut self, range: LbaRange, generation: u32) {
        self.keep_contents();
        if let Some(contents) = &mut self.contents {
            contents.write(range, Data::Stamped(generation));
        }
    }

    /// These blocks read as zeroes from now on, as if zeroes had been written before: nothing else
    /// changes, and no time passes. For a command that frees what it can and must leave zeroes.
    pub fn hold_zeroes(&mut self, range: LbaRange) {
        self.keep_contents();
        if let Some(contents) = &mut self.contents {
            contents.write(range, Data::Compressible(0));
        }
    }

    /// Plants a fault, or heals it: discarded blocks read in this way, whatever was promised.
    pub fn read_discarded(&mut self, reads: TrimmedReads) {
        self.config.contents.reads = reads;
        if let Some(contents) = &mut self.contents {
            contents.read_discarded(reads);
        }
    }

    /// Plants a fault in what the tables say of the logical unit of this number; whether it could
    /// be planted: only a unit of a flash drive that holds data has something to break.
    pub fn plant_table_fault(&mut self, unit: u64, fault: TableFault) -> bool {
        self.flash.as_mut().is_some_and(|flash| flash.mapping.plant(narrow(unit), fault))
    }

    /// From now on, until the drive is purged, the collector looks for its victims in this way.
    #[doc(hidden)]
    pub fn search_victims(&mut self, search: VictimSearch) {
        if let Some(flash) = &mut self.flash {
            flash.mapping.search_victims(search);
        }
    }

    /// How often each superblock was erased since the drive was made or purged: how evenly it is
    /// worn, and what differs first where other victims were chosen. Empty on a medium that is
    /// never erased.
    pub fn erases_by_superblock(&self) -> &[u32] {
        self.flash.as_ref().map_or(&[], |flash| flash.mapping.erases())
    }
}
