//! The ioctls of what is measured that no crate wraps: FITRIM, FIEMAP, where free space is
//! ([`free_space`]), XFS's wait for deferred inactivation, what the block layer does with a range,
//! and the passthrough of commands to drives ([`nvme_command`], [`scsi_command`]); and one signal
//! that must not end the program. Those of the safety gate are `trimbench-claim`'s.
//!
//! Numbers and layouts are kernel ABI: `include/uapi/linux/fs.h`, `fiemap.h` and
//! `fs/xfs/libxfs/xfs_fs.h`. Each structure is passed by pointer and written by the kernel within
//! its own size, which the ioctl number carries.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd};

use trimbench_claim::last_errno;
use trimbench_core::Errno;

mod free_space;
mod passthrough;
#[cfg(test)]
mod tests;

pub use free_space::{
    BtrfsChunk, FreeRange, XfsGeometry, btrfs_chunks, btrfs_free_space, btrfs_scrubs,
    btrfs_unallocated, free_space_map, xfs_geometry,
};
pub(crate) use passthrough::{
    Data, NvmeCommand, ScsiOutcome, nvme_command, nvme_namespace, scsi_command,
};

/// `_IOWR('X', 121, struct fstrim_range)`.
const FITRIM: libc::c_ulong = 0xC018_5879;
/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// `_IOR('X', 58, struct xfs_fs_eofblocks)`.
const XFS_IOC_FREE_EOFBLOCKS: libc::c_ulong = 0x8080_583A;
/// `_IO(0x12, 119)`: what it names has two words, first byte and length.
const BLKDISCARD: libc::c_ulong = 0x1277;
/// The file is written back before it is mapped.
const FIEMAP_FLAG_SYNC: u32 = 1;
/// The last extent of the file.
const FIEMAP_EXTENT_LAST: u32 = 1;
/// The place is not known, is not a place of its own, or holds something else than the data:
/// `UNKNOWN`, `DELALLOC`, `ENCODED`, `DATA_ENCRYPTED`, `NOT_ALIGNED`, `DATA_INLINE`, `DATA_TAIL`,
/// `UNWRITTEN`, `SHARED`.
const FIEMAP_EXTENT_ELSEWHERE: u32 = 0x2f8e;
/// Extents that are asked for at once.
const EXTENTS: usize = 64;
/// Only inodes of at least `min_file_size`.
const XFS_EOF_FLAGS_MINFILESIZE: u32 = 1 << 4;

#[repr(C)]
struct FstrimRange {
    start: u64,
    length: u64,
    minimum: u64,
}

#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

/// A map with room for extents, which the kernel writes behind the header: `extent_count` says how
/// many there may be.
#[repr(C)]
struct FiemapWithExtents {
    header: Fiemap,
    extents: [FiemapExtent; EXTENTS],
}

#[repr(C)]
#[derive(Default)]
struct XfsEofBlocks {
    version: u32,
    flags: u32,
    user: u32,
    group: u32,
    project: u32,
    padding: u32,
    min_file_size: u64,
    reserved: [u64; 12],
}

/// Has a write beyond the limit of a file's size (`ulimit -f`) end with `EFBIG`: the default signal
/// would end the program.
pub fn ignore_file_size_signal() {
    // SAFETY: to ignore a signal runs no code of ours; the call cannot fail for this one.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Has this thread run before all ordinary ones (`SCHED_FIFO`), and before those of a lower
/// `priority`, from 1 on; whether the kernel allows it. For a thread that sleeps most of the time:
/// no ordinary one runs on its processor while it does not.
pub fn run_first(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one structure, which lives through it; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

/// Has the filesystem of `directory` discard all its free space. Needs `CAP_SYS_ADMIN`.
///
/// The byte count that the kernel returns is dropped: on XFS it is the length asked for. The
/// device's own counters tell the truth.
pub(crate) fn trim_free_space(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    trim_range(directory, 0, u64::MAX, 0).map(drop)
}

pub(crate) fn extent_count(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    // With room for no extent the kernel only counts them.
    let mut map = Fiemap { length: u64::MAX, ..Fiemap::default() };
    call(file, FS_IOC_FIEMAP, &mut map)?;
    Ok(u64::from(map.mapped_extents))
}

/// A part of a file that lies at one place of its filesystem's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileExtent {
    /// Where in the file, bytes.
    pub logical: u64,
    /// Where on the device, bytes; on btrfs an address of its own.
    pub physical: u64,
    /// How long, bytes.
    pub length: u64,
}

/// Where the data of a file lie, the file being written back first. Holes, and parts whose place
/// holds something else than the data (compressed, inline, not written), are left out.
pub fn file_extents(file: BorrowedFd<'_>) -> Result<Vec<FileExtent>, Errno> {
    let mut all = Vec::new();
    let mut start = 0;
    loop {
        let header = Fiemap {
            start,
            length: u64::MAX - start,
            flags: FIEMAP_FLAG_SYNC,
            extent_count: 64,
            ..Fiemap::default()
        };
        let mut map = FiemapWithExtents { header, extents: [FiemapExtent::default(); EXTENTS] };
        call(file, FS_IOC_FIEMAP, &mut map)?;
        let count = usize::try_from(map.header.mapped_extents).unwrap_or(0).min(EXTENTS);
        let found = &map.extents[..count];
        let plain = found.iter().filter(|it| it.flags & FIEMAP_EXTENT_ELSEWHERE == 0);
        all.extend(plain.map(|&FiemapExtent { logical, physical, length, .. }| FileExtent {
            logical,
            physical,
            length,
        }));
        match found.last() {
            Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 => {
                start = last.logical.saturating_add(last.length);
            }
            _ => return Ok(all),
        }
    }
}

/// Has the filesystem of `directory` discard the free space in a range of its addresses, but no
/// extent that is shorter than `minimum` bytes; of btrfs, in the block groups that begin there, and
/// all unallocated space. Needs `CAP_SYS_ADMIN`.
///
/// Returns what the kernel says of the bytes trimmed, which is no measure of progress: XFS since
/// Linux 6.6 returns the length asked for, ext4 returns 0 for groups that it remembers as trimmed,
/// and an interrupted call returns what it has done so far as if it were all.
///
/// # Errors
/// `EINVAL` for a range of no length, one that begins beyond the end, or on ext4 a minimum above a
/// block group; `EOPNOTSUPP` where the device or the filesystem does not discard; `EPERM`.
pub fn trim_range(
    directory: BorrowedFd<'_>,
    start: u64,
    length: u64,
    minimum: u64,
) -> Result<u64, Errno> {
    let mut range = FstrimRange { start, length, minimum };
    call(directory, FITRIM, &mut range)?;
    Ok(range.length)
}

/// Waits until XFS has freed the blocks of the files unlinked so far. Needs `CAP_SYS_ADMIN`.
///
/// The call frees preallocations of files of at least 2^64 - 1 bytes, of which there are none, and
/// ends with the wait that is wanted (`xfs_blockgc_free_space` calls `xfs_inodegc_flush`).
pub(crate) fn xfs_wait_for_inactivation(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut request = XfsEofBlocks {
        version: 1,
        flags: XFS_EOF_FLAGS_MINFILESIZE,
        min_file_size: u64::MAX,
        ..XfsEofBlocks::default()
    };
    call(directory, XFS_IOC_FREE_EOFBLOCKS, &mut request)
}

fn call<T>(file: BorrowedFd<'_>, number: libc::c_ulong, argument: &mut T) -> Result<(), Errno> {
    call_for_value(file, number, argument).map(drop)
}

/// As [`call`], with what the ioctl returned: never negative.
fn call_for_value<T>(
    file: BorrowedFd<'_>,
    number: libc::c_ulong,
    argument: &mut T,
) -> Result<libc::c_int, Errno> {
    // SAFETY: the private callers pair each number with the structure whose size it encodes, or
    // with a larger one that says how much larger it is (`FiemapWithExtents`, `FsmapQuery`,
    // `Search`); the kernel reads and writes only within it, and only during the call.
    let result =
        unsafe { libc::ioctl(file.as_raw_fd(), number as _, std::ptr::from_mut(argument)) };
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}

/// Has a block device discard a range and waits. Offset and length are whole logical blocks.
pub(crate) fn discard(device: BorrowedFd<'_>, offset: u64, length: u64) -> Result<(), Errno> {
    call(device, BLKDISCARD, &mut [offset, length])
}
