//! btrfs: calls cover whole chunks.
//!
//! FITRIM takes logical addresses and begins with the first chunk that *starts* in the range: a
//! range that begins within a chunk skips its rest, so a fixed step misses most of the free space.
//! Each call also discards the unallocated space of all devices, once for each mount. Source:
//! `btrfs_trim_fs`, `fs/btrfs/extent-tree.c`.
//!
//! All lengths are logical. A chunk with copies (DUP, RAID1) is discarded once for each copy, so
//! the devices count a multiple of what is listed here.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use trimbench_core::{Bytes, Errno};
use trimbench_linux::{btrfs_chunks, btrfs_free_space, btrfs_unallocated};

use super::{Cutting, FreeExtent, Planner, PlannerError, Region, extents_of};

#[cfg(test)]
mod tests;

/// Less unallocated space than this is not worth a warning.
const NEGLIGIBLE: Bytes = Bytes::mib(64);

/// A mounted btrfs.
#[derive(Debug)]
pub(super) struct Btrfs {
    directory: Arc<OwnedFd>,
    regions: Vec<Region>,
    unallocated: Bytes,
    minimum: Bytes,
}

impl Btrfs {
    pub(super) fn open(directory: Arc<OwnedFd>, minimum: Bytes) -> Result<Self, PlannerError> {
        let mut all = Self { directory, regions: Vec::new(), unallocated: Bytes(0), minimum };
        all.read()?;
        Ok(all)
    }

    fn read(&mut self) -> Result<(), PlannerError> {
        let failed = |what| move |errno| PlannerError::Layout { what, errno };
        let chunks = btrfs_chunks(self.directory.as_fd()).map_err(failed("chunks"))?;
        let unallocated =
            btrfs_unallocated(self.directory.as_fd()).map_err(failed("unallocated space"))?;
        let region = |chunk: &trimbench_linux::BtrfsChunk| Region {
            start: chunk.start,
            length: Bytes(chunk.length),
        };
        self.regions = chunks.iter().map(region).collect();
        self.unallocated = Bytes(unallocated);
        Ok(())
    }
}

impl Planner for Btrfs {
    fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn cutting(&self) -> Cutting {
        Cutting {
            joins_regions: true,
            between_extents: false,
            within_extents: false,
            returns_early: false,
        }
    }

    fn free_extents(&self, region: Region) -> Result<Option<Vec<FreeExtent>>, Errno> {
        let chunk = region.start..region.start.saturating_add(region.length.0);
        let free = btrfs_free_space(self.directory.as_fd(), chunk)?;
        Ok(free.map(|free| extents_of(&free, self.minimum)))
    }

    fn renew(&mut self) -> Result<(), PlannerError> {
        self.read()
    }

    fn hazards(&self) -> Vec<String> {
        if self.unallocated <= NEGLIGIBLE {
            return Vec::new();
        }
        // Tenths of a GiB, rounded down.
        let tenths = self.unallocated.0 / (Bytes::gib(1).0 / 10);
        vec![format!(
            "The first call after the mount also discards {}.{} GiB of unallocated space, which \
             no range avoids, and transactions wait meanwhile.",
            tenths / 10,
            tenths % 10,
        )]
    }
}
