//! The drive's counters. Conservation laws over them hold after every command.

use trimbench_core::{Bytes, Nanos};

/// Counters since the drive was made or purged. Units are mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveCounters {
    /// What the host wrote, in whole pieces of 4 KiB.
    pub host_written: Bytes,
    /// Units that the host wrote, each in whole or in part.
    pub host_written_units: u64,
    /// Units that the host read.
    pub host_read_units: u64,
    /// Those of them that went into the SLC cache.
    pub cached_units: u64,
    /// Valid units that the collector moved, without those that it folded.
    pub moved_units: u64,
    /// Valid units that were moved out of the SLC cache.
    pub folded_units: u64,
    /// Units lost to flushes of a partly filled program operation.
    pub padding_units: u64,
    /// Units that the host wrote in the place of older data in the write buffer.
    pub absorbed_units: u64,
    /// Units that compression did not need to program.
    pub saved_units: u64,
    /// Units programmed: always those written by the host, moved, folded and lost to padding, less
    /// those saved and absorbed.
    pub programmed_units: u64,
    /// The same in bytes.
    pub programmed: Bytes,
    /// Superblocks erased.
    pub erased_superblocks: u64,
    /// Translation pages read, in a drive without DRAM.
    pub map_pages_read: u64,
    /// Translation pages programmed. They are no mapping units: none of the counts above has them.
    pub map_pages_programmed: u64,
    /// Discard commands completed in the mapping.
    pub discards: u64,
    /// Units that held data and were freed by a discard.
    pub discarded_mapped_units: u64,
    /// Those of them that were in the SLC cache: they need not be folded any more.
    pub discarded_cached_units: u64,
    /// Units that held none and were named in a discard.
    pub discarded_unmapped_units: u64,
    /// TRIM work done, foreground and background.
    pub trim_work_done: Nanos,
    /// Background TRIM work still to do.
    pub trim_work_pending: Nanos,
}

impl DriveCounters {
    /// What was programmed over what the host wrote since `earlier`, padding and the rest of units
    /// that were written in part included, the map's own pages not; `None` if the host wrote
    /// nothing.
    pub fn waf_since(&self, earlier: &Self) -> Option<f64> {
        let written = self.host_written.0 - earlier.host_written.0;
        let programmed = self.programmed.0 - earlier.programmed.0;
        (written > 0).then(|| programmed as f64 / written as f64)
    }

    /// The conservation law of programs.
    pub(crate) fn balanced(&self) -> bool {
        self.programmed_units + self.saved_units + self.absorbed_units
            == self.host_written_units + self.moved_units + self.folded_units + self.padding_units
    }
}
