//! Chunks, free space and unallocated space of btrfs, read from its trees.
//!
//! Addresses are logical, as FITRIM takes them. A tree search sees what the running transaction has
//! changed, but not the changes that it has only queued: free space is exact after a `syncfs`.
//!
//! Layouts are kernel ABI and disk format: `include/uapi/linux/btrfs.h` and `btrfs_tree.h`.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use trimbench_core::Errno;
use trimbench_core::units::index;

use super::{FreeRange, call, push_clipped};

#[cfg(test)]
mod tests;

/// `_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2)`.
const BTRFS_IOC_TREE_SEARCH_V2: libc::c_ulong = 0xC070_9411;
/// `_IOWR(0x94, 30, struct btrfs_ioctl_dev_info_args)`.
const BTRFS_IOC_DEV_INFO: libc::c_ulong = 0xD000_941E;
/// `_IOR(0x94, 31, struct btrfs_ioctl_fs_info_args)`.
const BTRFS_IOC_FS_INFO: libc::c_ulong = 0x8400_941F;
/// `_IOWR(0x94, 29, struct btrfs_ioctl_scrub_args)`: 1,024 bytes, the first word the device.
const BTRFS_IOC_SCRUB_PROGRESS: libc::c_ulong = 0xC400_941D;
const CHUNK_TREE: u64 = 3;
const FREE_SPACE_TREE: u64 = 10;
/// The object that all chunks belong to.
const FIRST_CHUNK: u64 = 256;
const CHUNK_ITEM: u32 = 228;
/// Key (start, this, length) without content: free space.
const FREE_SPACE_EXTENT: u32 = 199;
/// Key (start, this, length): a bitmap with a bit for each sector, set where it is free.
const FREE_SPACE_BITMAP: u32 = 200;
/// Room for what one search returns: some hundreds of items, each of at most 4 KiB.
const BUFFER: usize = 64 << 10;
/// Before each item of a search: transaction, object and offset of eight bytes, type and length of
/// four.
const HEADER: usize = 32;

/// A chunk of btrfs, also called a block group: the unit that space is given to data or metadata
/// in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtrfsChunk {
    /// Its logical address, bytes.
    pub start: u64,
    /// Its logical length, bytes; copies (DUP, RAID1) take this much on the devices each.
    pub length: u64,
    /// What it holds and how often: `BTRFS_BLOCK_GROUP_*`.
    pub flags: u64,
}

impl BtrfsChunk {
    /// Whether it holds data of files.
    pub fn is_data(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// Whether the filesystem of `directory` scrubs its device of this number just now; `None` if it
/// does not say, as without `CAP_SYS_ADMIN`.
pub fn btrfs_scrubs(directory: BorrowedFd<'_>, device: u64) -> Option<bool> {
    let mut progress = [0_u64; 128];
    progress[0] = device;
    match call(directory, BTRFS_IOC_SCRUB_PROGRESS, &mut progress) {
        Ok(()) => Some(true),
        Err(Errno(libc::ENOTCONN)) => Some(false),
        Err(_) => None,
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SearchKey {
    tree: u64,
    min_object: u64,
    max_object: u64,
    min_offset: u64,
    max_offset: u64,
    min_transaction: u64,
    max_transaction: u64,
    min_type: u32,
    max_type: u32,
    items: u32,
    unused: u32,
    unused_too: [u64; 4],
}

#[repr(C)]
#[derive(Default)]
struct SearchHead {
    key: SearchKey,
    buffer_size: u64,
}

/// A search with room for items, which the kernel writes behind the header: `buffer_size` says how
/// much there is.
#[repr(C)]
struct Search {
    head: SearchHead,
    buffer: [u8; BUFFER],
}

#[repr(C)]
struct DeviceInfo {
    number: u64,
    identity: [u8; 16],
    bytes_used: u64,
    total_bytes: u64,
    unused: [u64; 379],
    path: [u8; 1024],
}

#[repr(C)]
struct FilesystemInfo {
    max_device: u64,
    device_count: u64,
    identity: [u8; 16],
    node_size: u32,
    sector_size: u32,
    reserved: [u64; 123],
}

/// An item that a search found: its key, and its content.
struct Item<'a> {
    object: u64,
    kind: u32,
    offset: u64,
    content: &'a [u8],
}

/// The chunks of the btrfs of `directory`, in order of their logical addresses. Needs
/// `CAP_SYS_ADMIN`.
///
/// # Errors
/// `ENOTTY` on another filesystem, `EPERM`, `EIO`.
pub fn btrfs_chunks(directory: BorrowedFd<'_>) -> Result<Vec<BtrfsChunk>, Errno> {
    let mut chunks = Vec::new();
    let key = SearchKey {
        tree: CHUNK_TREE,
        min_object: FIRST_CHUNK,
        max_object: FIRST_CHUNK,
        max_offset: u64::MAX,
        min_type: CHUNK_ITEM,
        max_type: CHUNK_ITEM,
        ..SearchKey::default()
    };
    search(directory, key, |item| {
        // Length, owner, length of a stripe, type: eight bytes each.
        let fields = (number(item.content, 0), number(item.content, 24));
        if let (Some(length), Some(flags), CHUNK_ITEM) = (fields.0, fields.1, item.kind) {
            chunks.push(BtrfsChunk { start: item.offset, length, flags });
        }
    })?;
    Ok(chunks)
}

/// The free space of a chunk, from the free space tree, in order; `None` where the filesystem has
/// no such tree (`space_cache=v1` or `nospace_cache`). Needs `CAP_SYS_ADMIN`.
///
/// # Errors
/// `ENOTTY` on another filesystem, `EPERM`, `EIO`.
pub fn btrfs_free_space(
    directory: BorrowedFd<'_>,
    chunk: Range<u64>,
) -> Result<Option<Vec<FreeRange>>, Errno> {
    let mut free = Vec::new();
    if chunk.is_empty() {
        return Ok(Some(free));
    }
    let sector = u64::from(filesystem_info(directory)?.sector_size);
    let key = SearchKey {
        tree: FREE_SPACE_TREE,
        min_object: chunk.start,
        max_object: chunk.end - 1,
        max_offset: u64::MAX,
        max_type: u32::from(u8::MAX),
        ..SearchKey::default()
    };
    let searched = search(directory, key, |item| match item.kind {
        FREE_SPACE_EXTENT => push_clipped(&mut free, item.object, item.offset, chunk.clone()),
        FREE_SPACE_BITMAP => push_bitmap(&mut free, item, sector, &chunk),
        _ => {}
    });
    match searched {
        Ok(()) => Ok(Some(free)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Bytes of the devices of the btrfs of `directory` that no chunk has.
///
/// # Errors
/// `ENOTTY` on another filesystem.
pub fn btrfs_unallocated(directory: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut unallocated = 0_u64;
    for device in 1..=filesystem_info(directory)?.max_device {
        let mut info = DeviceInfo {
            number: device,
            identity: [0; 16],
            bytes_used: 0,
            total_bytes: 0,
            unused: [0; 379],
            path: [0; 1024],
        };
        match call(directory, BTRFS_IOC_DEV_INFO, &mut info) {
            Ok(()) => {
                let unused = info.total_bytes.saturating_sub(info.bytes_used);
                unallocated = unallocated.saturating_add(unused);
            }
            // Numbers of devices that were removed stay unused.
            Err(Errno::ENODEV) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(unallocated)
}

fn filesystem_info(directory: BorrowedFd<'_>) -> Result<FilesystemInfo, Errno> {
    let mut info = FilesystemInfo {
        max_device: 0,
        device_count: 0,
        identity: [0; 16],
        node_size: 0,
        sector_size: 0,
        reserved: [0; 123],
    };
    call(directory, BTRFS_IOC_FS_INFO, &mut info)?;
    Ok(info)
}

/// Hands every item from the minimum to the maximum of `key` to `take`, in order.
fn search(
    directory: BorrowedFd<'_>,
    mut key: SearchKey,
    mut take: impl FnMut(&Item<'_>),
) -> Result<(), Errno> {
    let buffer_size = BUFFER as u64;
    key.max_transaction = u64::MAX;
    let mut search = new_search();
    loop {
        key.items = u32::MAX;
        search.head = SearchHead { key, buffer_size };
        call(directory, BTRFS_IOC_TREE_SEARCH_V2, &mut *search)?;
        let mut rest = &search.buffer[..];
        let mut last = None;
        for _ in 0..search.head.key.items {
            let Some((item, behind)) = split_item(rest) else { break };
            take(&item);
            last = Some((item.object, item.kind, item.offset));
            rest = behind;
        }
        let Some((object, kind, offset)) = last else { return Ok(()) };
        let Some(next) = following(object, kind, offset) else { return Ok(()) };
        (key.min_object, key.min_type, key.min_offset) = next;
        let maximum = (key.max_object, key.max_type, key.max_offset);
        if next > maximum {
            return Ok(());
        }
    }
}

#[expect(clippy::large_stack_arrays, reason = "64 KiB for a moment, on the way to the heap")]
fn new_search() -> Box<Search> {
    Box::new(Search { head: SearchHead::default(), buffer: [0; BUFFER] })
}

/// The key after this one: a key is one number of 136 bits; `None` after the last.
fn following(object: u64, kind: u32, offset: u64) -> Option<(u64, u32, u64)> {
    if let Some(offset) = offset.checked_add(1) {
        return Some((object, kind, offset));
    }
    if kind < u32::from(u8::MAX) {
        return Some((object, kind + 1, 0));
    }
    Some((object.checked_add(1)?, 0, 0))
}

/// The first item of what a search returned, and what comes behind it.
fn split_item(bytes: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let object = number(bytes, 8)?;
    let offset = number(bytes, 16)?;
    let [kind, length] = [24, 28].map(|at| short_number(bytes, at));
    let (content, behind) = bytes.get(HEADER..)?.split_at_checked(index(u64::from(length?)))?;
    Some((Item { object, kind: kind?, offset, content }, behind))
}

/// Appends the runs of set bits of a bitmap.
fn push_bitmap(free: &mut Vec<FreeRange>, item: &Item<'_>, sector: u64, chunk: &Range<u64>) {
    let end = item.object.saturating_add(item.offset).min(chunk.end);
    for (byte, bits) in (0_u64..).zip(item.content) {
        for bit in 0..8 {
            let start = item.object + (byte * 8 + bit) * sector;
            if bits & (1 << bit) != 0 {
                push_clipped(free, start, sector, chunk.start..end);
            }
        }
    }
}

/// A field of eight bytes. The disk format is little-endian, and so are the processors that we
/// build for, in whose order the kernel writes the header of an item.
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn short_number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
