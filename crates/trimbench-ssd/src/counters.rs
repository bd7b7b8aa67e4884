//! What the drive counts. Conservation laws over these hold after every command.

use trimbench_core::{Nanos, Ppm};

/// Counters since the drive was made or purged. Units are mapping units of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Units that the host wrote.
    pub host_written_units: u64,
    /// Units that the host read.
    pub host_read_units: u64,
    /// Valid units that the collector moved.
    pub moved_units: u64,
    /// Units lost to flushes of a partly filled program operation.
    pub padding_units: u64,
    /// Units programmed: always the sum of the three kinds above that program.
    pub programmed_units: u64,
    /// Superblocks erased.
    pub erased_superblocks: u64,
    /// Discard commands completed in the mapping.
    pub discards: u64,
    /// Units that held data and were freed by a discard.
    pub discarded_mapped_units: u64,
    /// Units that held none and were named in a discard.
    pub discarded_unmapped_units: u64,
    /// TRIM work done, foreground and background.
    pub trim_work_done: Nanos,
    /// Background TRIM work still to do.
    pub trim_work_pending: Nanos,
}

impl Counters {
    /// NAND units programmed over host units written, padding included; `None` before any write.
    pub fn waf(&self) -> Option<f64> {
        let written = self.host_written_units;
        (written > 0).then(|| self.programmed_units as f64 / written as f64)
    }

    /// The counters since `earlier`, a copy taken before. Pending work is taken as it is now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_written_units: self.host_written_units - earlier.host_written_units,
            host_read_units: self.host_read_units - earlier.host_read_units,
            moved_units: self.moved_units - earlier.moved_units,
            padding_units: self.padding_units - earlier.padding_units,
            programmed_units: self.programmed_units - earlier.programmed_units,
            erased_superblocks: self.erased_superblocks - earlier.erased_superblocks,
            discards: self.discards - earlier.discards,
            discarded_mapped_units: self.discarded_mapped_units - earlier.discarded_mapped_units,
            discarded_unmapped_units: self.discarded_unmapped_units
                - earlier.discarded_unmapped_units,
            trim_work_done: self.trim_work_done - earlier.trim_work_done,
            trim_work_pending: self.trim_work_pending,
        }
    }

    /// The conservation law of programs.
    pub(crate) fn balanced(&self) -> bool {
        self.programmed_units == self.host_written_units + self.moved_units + self.padding_units
    }
}

/// The part of `total` that `ratio` is, for watermarks; at least `least`.
pub(crate) fn share_of(total: u64, ratio: Ppm, least: u64) -> u64 {
    ratio.of(total).max(least)
}
