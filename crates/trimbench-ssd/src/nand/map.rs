//! Reads and programs of translation pages.
//!
//! Model: page `p` lies on die `p mod dies`. It is read and programmed alone: the die is occupied
//! as by any other operation, the channel for the bytes of the page.

use trimbench_core::units::narrow;
use trimbench_core::{Instant, Nanos};

use super::{Kind, Nand};
use crate::config::{MappingCacheConfig, UNIT_BYTES};

/// What a translation page takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapTiming {
    read: Nanos,
    program: Nanos,
    /// Its size in mapping units.
    units: u32,
}

impl MapTiming {
    pub(super) fn new(cache: &MappingCacheConfig) -> Self {
        let MappingCacheConfig { read, program, page, .. } = *cache;
        Self { read, program, units: narrow(page.0 / UNIT_BYTES) }
    }
}

impl Nand {
    /// Mapping units that a translation page is as large as.
    pub(crate) fn map_units(&self) -> u32 {
        self.map.units
    }

    /// How long `pages` translation pages take that are read on all dies at once.
    pub(crate) fn map_reads(&self, pages: u32) -> Nanos {
        let transfer = self.rate.span(u64::from(self.map.units) * UNIT_BYTES);
        (self.map.read + transfer).times(pages.div_ceil(self.die_count()).into())
    }

    /// The die phase of a read that a command waits for; the channel phase follows when it ends.
    pub(crate) fn sense_map(&mut self, die: u32, from: Instant) -> Instant {
        self.sense_for(self.map.read, die, from)
    }

    /// A read by the collector: die and channel independently.
    pub(crate) fn collect_map(&mut self, die: u32, from: Instant) {
        self.operate(die, from, self.map.read, Kind::Other);
        self.transfer(die, self.map.units, from);
    }

    /// A program; when it has ended.
    pub(crate) fn program_map(&mut self, die: u32, from: Instant) -> Instant {
        let transferred = self.transfer(die, self.map.units, from);
        self.operate(die, transferred, self.map.program, Kind::Program(None))
    }
}
