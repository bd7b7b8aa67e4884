//! Where a mounted filesystem has free space: GETFSMAP of ext4 and XFS, the geometry of XFS, and
//! the trees of btrfs ([`btrfs`]).
//!
//! What comes back is a snapshot: the filesystem may give the space to a file before the caller
//! looks at the answer. All addresses are those that FITRIM takes.
//!
//! Layouts are kernel ABI: `include/uapi/linux/fsmap.h` and `fs/xfs/libxfs/xfs_fs.h`.

use std::os::fd::BorrowedFd;

use rustix::fs::{fstat, major, minor};
use trimbench_claim::errno_of;
use trimbench_core::Errno;
use trimbench_core::units::index;

use super::call;

mod btrfs;
#[cfg(test)]
mod tests;

pub use btrfs::{BtrfsChunk, btrfs_chunks, btrfs_free_space, btrfs_scrubs, btrfs_unallocated};

/// `_IOWR('X', 59, struct fsmap_head)`.
const FS_IOC_GETFSMAP: libc::c_ulong = 0xC0C0_583B;
/// `_IOR('X', 100, struct xfs_fsop_geom_v1)`, which every kernel with XFS answers.
const XFS_IOC_FSGEOMETRY: libc::c_ulong = 0x8070_5864;
/// The owner is a code, not an inode.
const FMR_OF_SPECIAL_OWNER: u32 = 0x10;
/// The last record of the range.
const FMR_OF_LAST: u32 = 0x20;
/// `FMR_OWNER(0, 1)`: nobody has the space.
const FMR_OWN_FREE: u64 = 1;
/// Records that are asked for at once. XFS with a reverse map returns one for each file extent.
const RECORDS: usize = 1024;

/// A run of free bytes of a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeRange {
    /// Where it begins, bytes, in the addresses that FITRIM takes.
    pub start: u64,
    /// How long it is, bytes; never 0.
    pub length: u64,
}

/// The layout of an XFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XfsGeometry {
    /// Bytes of a filesystem block.
    pub fs_block_bytes: u64,
    /// Filesystem blocks of an allocation group; the last group may have fewer.
    pub group_fs_blocks: u64,
    /// Number of allocation groups.
    pub group_count: u64,
    /// Filesystem blocks of the data device.
    pub data_fs_blocks: u64,
    /// Whether files may lie on a realtime device, whose free space GETFSMAP of the data device
    /// does not show.
    pub has_realtime: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Fsmap {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

#[repr(C)]
#[derive(Default)]
struct FsmapHead {
    input_flags: u32,
    output_flags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Fsmap; 2],
}

/// A query with room for records, which the kernel writes behind the header: `count` says how many
/// there may be.
#[repr(C)]
struct FsmapQuery {
    head: FsmapHead,
    records: [Fsmap; RECORDS],
}

#[repr(C)]
#[derive(Default)]
struct XfsGeometryV1 {
    block_size: u32,
    realtime_extent_size: u32,
    group_blocks: u32,
    group_count: u32,
    log_blocks: u32,
    sector_size: u32,
    inode_size: u32,
    inode_percent: u32,
    data_blocks: u64,
    realtime_blocks: u64,
    realtime_extents: u64,
    log_start: u64,
    identity: [u8; 16],
    stripe_unit: u32,
    stripe_width: u32,
    version: i32,
    flags: u32,
    log_sector_size: u32,
    realtime_sector_size: u32,
    directory_block_size: u32,
}

/// The free space in the bytes `from..to` of the device that the filesystem of `directory` has its
/// data on, in order; ranges that touch are one. Needs no privilege on ext4 and XFS.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` where the filesystem has no GETFSMAP (it is in ext4 and XFS), `EINVAL`
/// where it does not know the device by its number (an XFS with a realtime section on the same
/// device), and `EIO`.
pub fn free_space_map(
    directory: BorrowedFd<'_>,
    from: u64,
    to: u64,
) -> Result<Vec<FreeRange>, Errno> {
    let mut free = Vec::new();
    if from >= to {
        return Ok(free);
    }
    let number = fstat(directory).map_err(errno_of)?.st_dev;
    let device = encoded(major(number), minor(number));
    let mut query = new_query();
    query.head.keys[0] = Fsmap { device, physical: from, ..Fsmap::default() };
    query.head.keys[1] = Fsmap {
        device,
        flags: u32::MAX,
        physical: to - 1,
        owner: u64::MAX,
        offset: u64::MAX,
        ..Fsmap::default()
    };
    loop {
        call(directory, FS_IOC_GETFSMAP, &mut *query)?;
        let count = index(u64::from(query.head.entries)).min(RECORDS);
        for record in &query.records[..count] {
            let special = record.flags & FMR_OF_SPECIAL_OWNER != 0;
            if special && record.owner == FMR_OWN_FREE && record.device == device {
                push_clipped(&mut free, record.physical, record.length, from..to);
            }
        }
        match query.records[..count].last() {
            // The kernel goes on behind a low key that has a length.
            Some(last) if last.flags & FMR_OF_LAST == 0 => query.head.keys[0] = *last,
            _ => return Ok(free),
        }
    }
}

/// The layout of the XFS of `directory`.
///
/// # Errors
/// `ENOTTY` on another filesystem.
pub fn xfs_geometry(directory: BorrowedFd<'_>) -> Result<XfsGeometry, Errno> {
    let mut geometry = XfsGeometryV1::default();
    call(directory, XFS_IOC_FSGEOMETRY, &mut geometry)?;
    Ok(XfsGeometry {
        fs_block_bytes: u64::from(geometry.block_size),
        group_fs_blocks: u64::from(geometry.group_blocks),
        group_count: u64::from(geometry.group_count),
        data_fs_blocks: geometry.data_blocks,
        has_realtime: geometry.realtime_blocks > 0,
    })
}

#[expect(clippy::large_stack_arrays, reason = "64 KiB for a moment, on the way to the heap")]
fn new_query() -> Box<FsmapQuery> {
    let count = u32::try_from(RECORDS).expect("a thousand records");
    let head = FsmapHead { count, ..FsmapHead::default() };
    Box::new(FsmapQuery { head, records: [Fsmap::default(); RECORDS] })
}

/// A device's number as the kernel gives it to programs in 32 bits (`new_encode_dev`).
fn encoded(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Appends what of a range lies within `bounds`, to the last range if it begins where that ends.
fn push_clipped(free: &mut Vec<FreeRange>, start: u64, length: u64, bounds: std::ops::Range<u64>) {
    let end = start.saturating_add(length).min(bounds.end);
    let start = start.max(bounds.start);
    if start >= end {
        return;
    }
    match free.last_mut() {
        Some(last) if last.start + last.length == start => last.length = end - last.start,
        _ => free.push(FreeRange { start, length: end - start }),
    }
}
