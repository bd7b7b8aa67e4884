//! Configuration of the mapping cache of a drive that cannot hold its whole map.

use trimbench_core::settings::IfUnset::{Required, SameAs};
use trimbench_core::settings::described;
use trimbench_core::{Bytes, Nanos, settings};

use super::{DriveConfigError, SsdConfig};
use crate::unit::PIECE_BYTES;

/// Bytes of an entry of the map.
const ENTRY_BYTES: u64 = 4;

settings! {
    /// A drive without DRAM: its map lies on the flash in *translation pages*, some of which it
    /// caches (in memory of its controller or of the host). Source: \[GUPT09\].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MappingCacheConfig(values) {
        /// size of the cache; it holds whole translation pages
        pub size: Bytes = "mapping_cache.size", Required,
            described("at least one translation page, at most 16GiB");
        /// size of a translation page, with an entry of 4 bytes for each mapping unit
        pub page: Bytes = "mapping_cache.page", Required,
            described("a power of two of at least 4KiB, at most a program operation");
        /// read of a translation page into the die's register
        pub read: Nanos = "mapping_cache.read", SameAs("nand.read"), described("at most 1h");
        /// program of a translation page, which occupies its die alone
        pub program: Nanos = "mapping_cache.program", SameAs("nand.program"),
            described("at most 1h");
    }
}

impl MappingCacheConfig {
    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), DriveConfigError> {
        let (page, size) = (self.page, self.size);
        let is_power = page.0 >= PIECE_BYTES && page.0.is_power_of_two();
        config.hold(&[
            ("mapping_cache.page", is_power && page <= config.geometry.program_bytes),
            ("mapping_cache.size", size >= page && size <= Bytes::gib(16)),
        ])
    }

    /// Entries of a translation page: the mapping units that it serves.
    pub(crate) fn entries(&self) -> u64 {
        self.page.0 / ENTRY_BYTES
    }

    /// Translation pages of a drive.
    pub(crate) fn pages(&self, config: &SsdConfig) -> u64 {
        config.exported_units().div_ceil(self.entries())
    }

    /// Translation pages that the cache of a drive holds.
    pub(crate) fn frames(&self, config: &SsdConfig) -> u64 {
        (self.size.0 / self.page.0).min(self.pages(config))
    }
}
