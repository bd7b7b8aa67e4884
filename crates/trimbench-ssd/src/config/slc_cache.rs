//! Configuration of the SLC cache, and its size in superblocks.

use trimbench_core::settings::IfUnset::{Required, SameAs};
use trimbench_core::settings::{default_to, described, named};
use trimbench_core::{Nanos, Ppm, named_enum, settings};

use super::{DriveConfigError, SsdConfig, require};

named_enum! {
    /// Where the cache has its flash from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SlcMode {
        /// Flash of its own, beyond the exported capacity and the over-provisioning.
        Fixed = "fixed",
        /// Free superblocks, of which each then holds one unit where it would hold as many as a
        /// cell has bits; the cache shrinks as the drive fills.
        Dynamic = "dynamic",
    }
}

named_enum! {
    /// What a write finds when the cache is full.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WhenFull {
        /// It goes past the cache, at the speed of the other cells.
        Direct = "direct",
        /// The oldest superblock of the cache is folded first, and the write pays for it.
        Fold = "fold",
        /// A cache that is larger than the data on the drive allow is folded to its size, and the
        /// writes that pay for it go past it; where only the minimum is left, as `fold`.
        Reorganise = "reorganise",
    }
}

settings! {
    /// A cache of cells that hold one bit: the host writes into it quickly, and the drive *folds*
    /// what is still valid into its other cells later.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SlcCacheConfig(values) {
        /// `fixed`: flash of its own; `dynamic`: free superblocks, fewer as the drive fills
        pub mode: SlcMode = "slc_cache.mode", Required, named();
        /// maximum data in the cache, as a share of the exported capacity; rounded up to whole
        /// superblocks
        pub size: Ppm = "slc_cache.size", Required,
            described("above 0%, at most 100%; `dynamic`: at most 100% over the bits of a cell");
        /// `dynamic`: size of the cache on a full drive, as a share of the exported capacity. It is
        /// taken from the over-provisioning
        pub minimum: Ppm = "slc_cache.minimum", default_to("0"),
            described("at most the size, and times the bits of a cell at most the \
                over-provisioning; 0 where the cache is fixed");
        /// bits of a cell outside the cache
        pub bits_per_cell: u32 = "slc_cache.bits_per_cell", Required, described("2 to 5");
        /// program of a page of one bit a cell, on all planes
        pub program: Nanos = "slc_cache.program", Required, described("at most 1h");
        /// read of such a page
        pub read: Nanos = "slc_cache.read", SameAs("nand.read"), described("at most 1h");
        /// `direct`: writes bypass a full cache; `fold`: they wait for folding; `reorganise`: a
        /// dynamic cache is folded to the size that the data leave it while writes bypass it, and
        /// at its minimum as with `fold`
        pub when_full: WhenFull = "slc_cache.when_full", Required, named();
        /// idle time of the host before the cache is folded
        pub fold_idle_after: Nanos = "slc_cache.fold_idle_after", Required,
            described("at most 1h");
    }
}

impl SlcCacheConfig {
    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), DriveConfigError> {
        config.hold(&[("slc_cache.bits_per_cell", (2..=5).contains(&self.bits_per_cell))])?;
        let groups = config.superblock_units() / config.program_units();
        require(
            self.mode == SlcMode::Fixed || groups >= u64::from(self.bits_per_cell),
            "geometry.superblock",
            config.geometry.superblock,
            "at least as many program operations as a cell has bits, for a dynamic SLC cache",
        )?;
        let taken = u64::from(self.minimum.0) * u64::from(self.bits_per_cell);
        let (most, fits) = match self.mode {
            SlcMode::Fixed => (Ppm::ONE, self.minimum.0 == 0),
            SlcMode::Dynamic => {
                let fits = taken <= u64::from(config.over_provisioning.0);
                (Ppm(1_000_000 / self.bits_per_cell), fits && self.minimum <= self.size)
            }
        };
        let reorganises = self.when_full == WhenFull::Reorganise;
        require(
            !reorganises || self.mode == SlcMode::Dynamic,
            "slc_cache.mode",
            "fixed",
            "`dynamic` where `when_full` is `reorganise`: a fixed cache never shrinks",
        )?;
        require(
            !reorganises || self.minimum.0 > 0,
            "slc_cache.minimum",
            self.minimum,
            "above 0% where `when_full` is `reorganise`: a full drive writes through the minimum",
        )?;
        config.hold(&[
            ("slc_cache.size", self.size.0 > 0 && self.size <= most),
            ("slc_cache.minimum", fits),
        ])
    }

    /// Mapping units that a superblock of the cache holds: all of them on flash of its own, else
    /// the program operations that remain with one bit a cell.
    pub(crate) fn usable_units(&self, config: &SsdConfig) -> u64 {
        let groups = config.superblock_units() / config.program_units();
        match self.mode {
            SlcMode::Fixed => config.superblock_units(),
            SlcMode::Dynamic => groups / u64::from(self.bits_per_cell) * config.program_units(),
        }
    }

    /// The superblocks that hold this share of the exported capacity, as a cache.
    pub(crate) fn superblocks_of(&self, share: Ppm, config: &SsdConfig) -> u64 {
        share.of(config.exported_units()).div_ceil(self.usable_units(config))
    }
}
