//! Configuration of a drive that compresses data.

use trimbench_core::settings::IfUnset::Required;
use trimbench_core::settings::described;
use trimbench_core::{Data, Ppm, settings};

use super::{DriveConfigError, SsdConfig, require};

/// A unit takes this much of the flash when nothing of it compresses: percent.
pub(crate) const WHOLE: u32 = 100;

settings! {
    /// A controller that compresses what it writes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CompressionConfig(values) {
        /// minimum size of compressed data: metadata, and the limit of the algorithm
        pub floor: Ppm = "compression.floor", Required,
            described("whole percents between 10% and 100%");
    }
}

impl CompressionConfig {
    pub(super) fn check(self, config: &SsdConfig) -> Result<(), DriveConfigError> {
        let floor = self.floor.0;
        let is_percent = floor.is_multiple_of(10_000) && (100_000..=1_000_000).contains(&floor);
        config.hold(&[("compression.floor", is_percent)])?;
        require(
            config.slc_cache.is_none(),
            "compression",
            "on",
            "without an SLC cache: the two together are not modelled",
        )
    }

    /// Percent of its size that data takes on the flash.
    #[inline]
    pub(crate) fn stored_percent(self, data: Data) -> u32 {
        match data {
            Data::Compressible(percent) => u32::from(percent).clamp(self.floor_percent(), WHOLE),
            Data::Random | Data::Stamped(_) => WHOLE,
        }
    }

    /// How many mapping units a unit of flash holds at most, rounded up to a power of two.
    pub(crate) fn slots(self) -> u64 {
        u64::from(WHOLE.div_ceil(self.floor_percent())).next_power_of_two()
    }

    fn floor_percent(self) -> u32 {
        self.floor.0 / 10_000
    }
}

impl SsdConfig {
    /// Addresses of units in a superblock: as many as the best compression may put there.
    pub(crate) fn superblock_slots(&self) -> u64 {
        let slots = self.compression.map_or(1, CompressionConfig::slots);
        self.superblock_units() * slots
    }
}
