//! XFS: calls within an allocation group.
//!
//! Linux 6.10 and later walk a part of a group by block number, clip extents to the range, and
//! return before the device has completed the discards. A group that a call covers as a *whole* is
//! walked by length instead, which skips many small extents; on 6.18 the last group of a call is
//! spared that, because its end is off by one. So that no call can cover a whole group, a region
//! begins at its second block: the first holds the superblock and is never free. Source:
//! `fs/xfs/xfs_discard.c`.
//!
//! | Linux | a call over a part of a group |
//! |---|---|
//! | up to 6.5 | walks the whole group, holds its header meanwhile, waits for each discard |
//! | 6.6 to 6.9 | walks the whole group, discards in batches without waiting |
//! | from 6.10 | walks only the part, discards in batches without waiting |

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use trimbench_core::{Bytes, Errno};
use trimbench_linux::{XfsGeometry, free_space_map, xfs_geometry};

use super::{Cutting, FreeExtent, Planner, PlannerError, Region, extents_of, has_no_map};

#[cfg(test)]
mod tests;

/// Discards are sent in batches that nobody waits for (commit 89cfa899608f).
const ASYNCHRONOUS: (u32, u32) = (6, 6);
/// A part of a group is walked by block number (commit b0ffe661fab4).
const BY_BLOCK: (u32, u32) = (6, 10);
/// A mounted XFS.
#[derive(Debug)]
pub(super) struct Xfs {
    directory: Arc<OwnedFd>,
    geometry: XfsGeometry,
    regions: Vec<Region>,
    /// Major and minor number of the kernel.
    release: (u32, u32),
    minimum: Bytes,
}

impl Xfs {
    pub(super) fn open(
        directory: Arc<OwnedFd>,
        release: (u32, u32),
        minimum: Bytes,
    ) -> Result<Self, PlannerError> {
        let geometry = xfs_geometry(directory.as_fd())
            .map_err(|errno| PlannerError::Layout { what: "geometry", errno })?;
        let regions = regions(&geometry);
        // The kernel rounds the minimum up to whole blocks.
        let minimum = Bytes(minimum.0.min(largest_minimum(&geometry).0));
        Ok(Self { directory, geometry, regions, release, minimum })
    }
}

impl Planner for Xfs {
    fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn cutting(&self) -> Cutting {
        let by_block = self.release >= BY_BLOCK;
        Cutting {
            joins_regions: false,
            between_extents: by_block,
            within_extents: by_block,
            returns_early: self.release >= ASYNCHRONOUS,
        }
    }

    fn free_extents(&self, region: Region) -> Result<Option<Vec<FreeExtent>>, Errno> {
        let end = region.start.saturating_add(region.length.0);
        match free_space_map(self.directory.as_fd(), region.start, end) {
            Ok(free) => Ok(Some(extents_of(&free, self.minimum))),
            Err(errno) if has_no_map(errno) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn largest_minimum(&self) -> Option<Bytes> {
        Some(largest_minimum(&self.geometry))
    }

    fn hazards(&self) -> Vec<String> {
        let mut hazards = Vec::new();
        if self.release < BY_BLOCK {
            hazards.push(
                "XFS before Linux 6.10 walks a whole allocation group at each call, however small \
                 its range, so calls are not cut smaller than a group."
                    .to_owned(),
            );
        }
        if self.geometry.has_realtime {
            hazards.push("The realtime section of this XFS is not trimmed.".to_owned());
        }
        hazards
    }
}

/// The release of the running kernel: major and minor number; (0, 0) if its text has none.
pub(super) fn release() -> (u32, u32) {
    rustix::system::uname().release().to_str().ok().and_then(parse_release).unwrap_or_default()
}

/// `6.10.3-1-amd64` and `6.10-rc1` are 6.10.
fn parse_release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The allocation groups from their second block on.
fn regions(geometry: &XfsGeometry) -> Vec<Region> {
    let region = |group: u64| {
        let first = group * geometry.group_fs_blocks;
        let count = geometry.data_fs_blocks.saturating_sub(first).min(geometry.group_fs_blocks);
        let bytes = |blocks: u64| blocks.saturating_mul(geometry.fs_block_bytes);
        (count > 1).then(|| Region { start: bytes(first + 1), length: Bytes(bytes(count - 1)) })
    };
    (0..geometry.group_count).filter_map(region).collect()
}

/// Half a group. The kernel's limit, `m_ag_max_usable`, is a group less what its metadata may grow
/// to, 0.7 % to 2.7 % on Linux 6.18, and is not to be asked for.
fn largest_minimum(geometry: &XfsGeometry) -> Bytes {
    Bytes(geometry.group_fs_blocks / 2 * geometry.fs_block_bytes)
}
