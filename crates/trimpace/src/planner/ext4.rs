//! ext4, and ext3 and ext2 under the same driver: calls cover block groups, or begin and end
//! between free extents.
//!
//! The kernel trims a free extent to its end also where the range ends before (since Linux 6.8,
//! commit 68da4c44b994, and in stable kernels), so a cut within an extent would trim its rest
//! twice. It remembers a group as trimmed, until something in it is freed or the filesystem is
//! unmounted, only if one call covered the whole group. Source: `ext4_trim_fs`,
//! `fs/ext4/mballoc.c`.
//!
//! It remembers *that* a group was trimmed, but the minimum length of the last call only, for the
//! whole filesystem: after `fstrim -m 1M` the first call with a smaller minimum would make it take
//! all other groups for trimmed to the last extent. So where the last minimum is larger than ours,
//! it is written again before each call (`last_trim_minblks` in sysfs).

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::Mode;
use trimbench_claim::sysfs::{BlockDevice, numbers_of};
use trimbench_claim::{errno_of, opening};
use trimbench_core::{Bytes, Errno};
use trimbench_linux::free_space_map;

use super::{Cutting, FreeExtent, Planner, PlannerError, Region, extents_of, has_no_map};

#[cfg(test)]
mod tests;

/// Where the superblock is, bytes, and how long.
const SUPERBLOCK: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 1024;
const MAGIC: u16 = 0xef53;
/// `EXT4_FEATURE_INCOMPAT_64BIT`: the number of blocks has a high half.
const INCOMPAT_64BIT: u32 = 0x80;
/// `EXT4_FEATURE_RO_COMPAT_BIGALLOC`: blocks are given in clusters.
const RO_COMPAT_BIGALLOC: u32 = 0x200;

/// A mounted ext4.
#[derive(Debug)]
pub(super) struct Ext4 {
    directory: Arc<OwnedFd>,
    layout: Layout,
    regions: Vec<Region>,
    minimum: Bytes,
    /// With which minimum others have trimmed it last, if that is larger than ours.
    trimmed_with: Option<LastMinimum>,
}

/// The minimum length of the last call of FITRIM, as the kernel remembers it.
#[derive(Debug)]
struct LastMinimum {
    attribute: PathBuf,
    clusters: u64,
}

/// What the superblock says of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    fs_block_bytes: u64,
    /// Filesystem blocks that are given together: 1 without bigalloc.
    cluster_fs_blocks: u64,
    group_fs_blocks: u64,
    /// Block of the first group: 1 with blocks of 1 KiB, else 0.
    first_fs_block: u64,
    fs_block_count: u64,
}

impl Ext4 {
    pub(super) fn open(
        directory: Arc<OwnedFd>,
        device: &BlockDevice,
        minimum: Bytes,
    ) -> Result<Self, PlannerError> {
        let node = device.node();
        let superblock = read_superblock(device, &node)?;
        let layout = parse(&superblock).ok_or(PlannerError::NoSuperblock { node })?;
        let minimum = layout.effective_minimum(minimum.min(layout.largest_minimum()));
        let last = LastMinimum::of(&device.name);
        let trimmed_with = last.filter(|last| last.clusters > layout.clusters(minimum));
        Ok(Self { directory, layout, regions: layout.regions(), minimum, trimmed_with })
    }
}

impl Planner for Ext4 {
    fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn cutting(&self) -> Cutting {
        Cutting {
            joins_regions: true,
            between_extents: true,
            within_extents: false,
            returns_early: false,
        }
    }

    fn free_extents(&self, region: Region) -> Result<Option<Vec<FreeExtent>>, Errno> {
        // The map joins extents across groups, but FITRIM discards them group by group.
        let end = region.start.saturating_add(region.length.0);
        match free_space_map(self.directory.as_fd(), region.start, end) {
            Ok(free) => Ok(Some(extents_of(&free, self.minimum))),
            Err(errno) if has_no_map(errno) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn largest_minimum(&self) -> Option<Bytes> {
        Some(self.layout.largest_minimum())
    }

    fn before_call(&self) {
        if let Some(LastMinimum { attribute, clusters }) = &self.trimmed_with {
            // Refused, some groups are left out, as the account shows.
            let _ = fs::write(attribute, clusters.to_string());
        }
    }

    fn hazards(&self) -> Vec<String> {
        Vec::new()
    }
}

impl LastMinimum {
    /// Of the ext4 on this device; `None` where the kernel does not say.
    fn of(device: &str) -> Option<Self> {
        let attribute = Path::new("/sys/fs/ext4").join(device).join("last_trim_minblks");
        let clusters = fs::read_to_string(&attribute).ok()?.trim().parse().ok()?;
        Some(Self { attribute, clusters })
    }
}

impl Layout {
    /// The block groups; the last may be shorter.
    fn regions(&self) -> Vec<Region> {
        let count = self.fs_block_count.saturating_sub(self.first_fs_block);
        let groups = 0..count.div_ceil(self.group_fs_blocks);
        let region = |group: u64| {
            let first = group * self.group_fs_blocks;
            let blocks = (count - first).min(self.group_fs_blocks);
            Region {
                start: (self.first_fs_block + first) * self.fs_block_bytes,
                length: Bytes(blocks * self.fs_block_bytes),
            }
        };
        groups.map(region).collect()
    }

    /// A whole group: no extent is longer, and a larger minimum is `EINVAL`.
    fn largest_minimum(&self) -> Bytes {
        Bytes(self.group_fs_blocks * self.fs_block_bytes)
    }

    /// So many clusters.
    fn clusters(&self, length: Bytes) -> u64 {
        length.0 / (self.fs_block_bytes * self.cluster_fs_blocks)
    }

    /// What the kernel makes of a minimum: whole blocks, rounded down, then whole clusters, rounded
    /// up.
    fn effective_minimum(&self, minimum: Bytes) -> Bytes {
        let blocks = minimum.0 / self.fs_block_bytes;
        Bytes(blocks.next_multiple_of(self.cluster_fs_blocks) * self.fs_block_bytes)
    }
}

fn read_superblock(
    device: &BlockDevice,
    node: &PathBuf,
) -> Result<[u8; SUPERBLOCK_BYTES], PlannerError> {
    let failed = |errno| PlannerError::Device { node: node.clone(), errno: errno_of(errno) };
    let file = rustix::fs::open(node, opening::READ, Mode::empty()).map_err(failed)?;
    let status = rustix::fs::fstat(&file).map_err(failed)?;
    if device.numbers() != Some(numbers_of(&status)) {
        return Err(PlannerError::OtherDevice { node: node.clone() });
    }
    let mut superblock = [0; SUPERBLOCK_BYTES];
    let read = rustix::io::pread(&file, &mut superblock, SUPERBLOCK).map_err(failed)?;
    if read < SUPERBLOCK_BYTES {
        return Err(PlannerError::NoSuperblock { node: node.clone() });
    }
    Ok(superblock)
}

/// The layout, from `struct ext4_super_block` (`fs/ext4/ext4.h`); `None` if it is none.
fn parse(superblock: &[u8; SUPERBLOCK_BYTES]) -> Option<Layout> {
    let short = |at: usize| u16::from_le_bytes([superblock[at], superblock[at + 1]]);
    let field = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(*superblock.get(at..)?.first_chunk()?))
    };
    if short(0x38) != MAGIC {
        return None;
    }
    let [log_block, log_cluster] = [field(0x18)?, field(0x1c)?];
    // Blocks of 1 KiB to 64 KiB; clusters of up to 512 MiB.
    if log_block > 6 {
        return None;
    }
    let bigalloc = field(0x64)? & RO_COMPAT_BIGALLOC != 0;
    let log_ratio = if bigalloc { log_cluster.checked_sub(log_block)? } else { 0 };
    let high = if field(0x60)? & INCOMPAT_64BIT != 0 { field(0x150)? } else { 0 };
    let layout = Layout {
        fs_block_bytes: 1024 << log_block,
        cluster_fs_blocks: 1_u64.checked_shl(log_ratio).filter(|_| log_ratio < 20)?,
        group_fs_blocks: u64::from(field(0x20)?),
        first_fs_block: u64::from(field(0x14)?),
        fs_block_count: u64::from(high) << 32 | u64::from(field(0x4)?),
    };
    // FITRIM's addresses are bytes in 64 bits.
    let fits = layout.fs_block_count.checked_mul(layout.fs_block_bytes).is_some();
    (fits && layout.group_fs_blocks > 0).then_some(layout)
}
