//! The medium of a block target: a block device or an image file that somebody has opened.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FallocateFlags, FileType, OFlags, SeekFrom, StatxFlags};
use rustix::io::ReadWriteFlags;
use trimbench_claim::sysfs::{BlockDevice, numbers_of};
use trimbench_claim::{errno_of, inspect};
use trimbench_core::{
    BlockSize, Bytes, Capabilities, Clock, DrainRule, Errno, LbaRange, Medium, Support,
};

use crate::ioctl;

use super::BlockError;

/// Queue depth that is stated for an image file: the filesystem has no such limit.
const IMAGE_QUEUE_DEPTH: u32 = 32;

/// An opened block device or image file, and what the kernel says of it.
///
/// Nothing here opens a path: whoever made the descriptor has made sure that it is the right one.
#[derive(Clone, Debug)]
pub struct BlockMedium {
    file: Arc<OwnedFd>,
    /// `None` for an image file.
    device: Option<BlockDevice>,
    capacity: Bytes,
    logical_block: BlockSize,
    /// Discards: natively on devices, by punching holes into images. The largest is a multiple of
    /// the granularity where that fits.
    pub(super) capabilities: Capabilities,
}

impl BlockMedium {
    /// Looks at an open descriptor. It must be of a block device or a regular file, for reading and
    /// writing, and past the page cache (`O_DIRECT`). Nothing is written.
    pub fn of(file: OwnedFd) -> Result<Self, BlockError> {
        let status = rustix::fs::fstat(&file).map_err(kernel("look at the descriptor"))?;
        let flags = rustix::fs::fcntl_getfl(&file).map_err(kernel("look at the descriptor"))?;
        let kind = FileType::from_raw_mode(status.st_mode);
        if kind != FileType::BlockDevice && kind != FileType::RegularFile {
            return Err(BlockError::NeitherDeviceNorFile);
        }
        if flags & OFlags::RWMODE != OFlags::RDWR {
            return Err(BlockError::NotWritable);
        }
        if !flags.contains(OFlags::DIRECT) {
            return Err(BlockError::NotDirect);
        }
        if kind == FileType::BlockDevice {
            let (major, minor) = numbers_of(&status);
            let device = BlockDevice::from_numbers(major, minor);
            Self::of_device(file, device.ok_or(BlockError::NotInSysfs { major, minor })?)
        } else {
            Self::of_image(file)
        }
    }

    fn of_device(file: OwnedFd, device: BlockDevice) -> Result<Self, BlockError> {
        let bytes = |name: &str| Bytes(device.number(name).unwrap_or(0));
        let size = bytes("queue/logical_block_size");
        let logical_block = BlockSize::new(size).ok_or(BlockError::BlockSize { size })?;
        let granularity = bytes("queue/discard_granularity").max(size);
        // A split at the limit must not leave a part of a granule on either side.
        let limit = bytes("queue/discard_max_bytes");
        let whole = Bytes(limit.0 - limit.0 % granularity.0);
        let depth = device.queue_depth().unwrap_or(1);
        let capacity = capacity(&file, logical_block)?;
        let capabilities = Capabilities {
            clock: Clock::Wall,
            medium: Medium::Device { capacity, logical_block },
            discard: if limit.0 == 0 { Support::None } else { Support::Native },
            discard_max: if whole.0 == 0 { limit } else { whole },
            discard_granularity: granularity,
            queue_depth: u32::try_from(depth).unwrap_or(u32::MAX).max(1),
            drain: DrainRule::IMMEDIATE,
        };
        let (file, device) = (Arc::new(file), Some(device));
        Ok(Self { file, device, capacity, logical_block, capabilities })
    }

    fn of_image(file: OwnedFd) -> Result<Self, BlockError> {
        let room = rustix::fs::fstatvfs(&file).map_err(kernel("look at the filesystem"))?;
        let fs_block = Bytes(room.f_frsize);
        let mask = StatxFlags::DIOALIGN;
        let found = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, mask).ok();
        // Before Linux 6.1 the kernel does not say; the filesystem's block always works.
        let alignment = found
            .filter(|found| found.stx_mask & mask.bits() != 0 && found.stx_dio_offset_align > 0)
            .map_or(fs_block, |found| Bytes(found.stx_dio_offset_align.into()));
        let size = alignment.max(BlockSize::SECTOR.bytes());
        let logical_block = BlockSize::new(size).ok_or(BlockError::BlockSize { size })?;
        let capacity = capacity(&file, logical_block)?;
        let discard_granularity = fs_block.max(size);
        let punches = punches(&file, capacity, discard_granularity);
        let capabilities = Capabilities {
            clock: Clock::Wall,
            medium: Medium::Device { capacity, logical_block },
            discard: if punches { Support::Emulated } else { Support::None },
            discard_max: if punches { capacity } else { Bytes(0) },
            discard_granularity,
            queue_depth: IMAGE_QUEUE_DEPTH,
            drain: DrainRule::IMMEDIATE,
        };
        Ok(Self { file: Arc::new(file), device: None, capacity, logical_block, capabilities })
    }

    /// Whether the device takes requests that must not wait: the kernel discards through a ring by
    /// these. Devices that pass their requests on (zram, bcache, some of md and device-mapper) need
    /// not (`REQ_NOWAIT` of the kernel, which `submit_bio_noacct` refuses for them). Asked with a
    /// read of one byte, which direct I/O refuses after the kernel has looked at this.
    pub(super) fn takes_nowait(&self) -> bool {
        let mut byte = [0];
        let mut buffers = [IoSliceMut::new(&mut byte)];
        let answer = rustix::io::preadv2(&self.file, &mut buffers, 0, ReadWriteFlags::NOWAIT);
        answer != Err(rustix::io::Errno::OPNOTSUPP)
    }

    /// Bytes that can be addressed now: fewer than [`Self::capacity`] once the device has shrunk, 0
    /// when it is gone.
    pub(super) fn size(&self) -> Result<Bytes, Errno> {
        size(&self.file)
    }

    /// Whether less can be addressed now than when it was opened.
    pub(super) fn has_shrunk(&self) -> bool {
        self.size().is_ok_and(|size| size < self.capacity)
    }

    /// Bytes that could be addressed when it was opened, in whole logical blocks.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Unit of addresses. Of an image: what direct I/O on it asks for.
    pub fn logical_block(&self) -> BlockSize {
        self.logical_block
    }

    /// Where the first piece of the granularity of discards begins; 0 if the kernel does not say.
    pub fn discard_alignment(&self) -> Bytes {
        let device = self.device.as_ref();
        let says = device.and_then(|device| device.own_number("discard_alignment"));
        // The kernel says -1 (here: nothing) where a stack of devices does not fit together.
        Bytes(says.unwrap_or(0) % self.capabilities.discard_granularity.0.max(1))
    }

    /// Whether it is an image file.
    pub fn is_image(&self) -> bool {
        self.device.is_none()
    }

    /// The file that a loop device stands on, as the kernel names it; `None` for anything else.
    pub fn loop_backing_file(&self) -> Option<PathBuf> {
        self.device.as_ref()?.attribute("loop/backing_file").map(PathBuf::from)
    }

    /// The machine and the device, for the record of a run: as [`inspect::environment`], with the
    /// device's own keys. Of an image: the filesystem that it lies on.
    pub fn environment(&self) -> BTreeMap<String, String> {
        if let Some(device) = &self.device {
            return inspect::device_environment(device);
        }
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        // A filesystem that is in no mount table any more leaves nothing to say.
        inspect::environment(Path::new(&path)).unwrap_or_default()
    }

    pub(super) fn device(&self) -> Option<&BlockDevice> {
        self.device.as_ref()
    }

    pub(super) fn file(&self) -> &Arc<OwnedFd> {
        &self.file
    }

    /// First byte and length of a range within the medium.
    pub(super) fn bytes_of(&self, range: LbaRange) -> (u64, u64) {
        let size = self.logical_block.bytes().0;
        (range.start().0 * size, range.length().0 * size)
    }

    /// Discards a range and waits for it. An image is punched by its filesystem.
    pub(super) fn discard(&self, offset: u64, length: u64) -> Result<(), Errno> {
        if self.device.is_some() {
            return ioctl::discard(self.file.as_fd(), offset, length);
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.file, flags, offset, length).map_err(errno_of)
    }
}

impl AsFd for BlockMedium {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn size(file: &OwnedFd) -> Result<Bytes, Errno> {
    rustix::fs::seek(file, SeekFrom::End(0)).map(Bytes).map_err(errno_of)
}

/// Its bytes in whole logical blocks: an image need not end with one.
fn capacity(file: &OwnedFd, logical_block: BlockSize) -> Result<Bytes, BlockError> {
    let size =
        size(file).map_err(|errno| BlockError::Kernel { operation: "ask for the size", errno })?;
    let capacity = size.blocks_floor(logical_block).bytes(logical_block);
    if capacity.0 == 0 { Err(BlockError::Empty) } else { Ok(capacity) }
}

/// Whether the filesystem of an image frees ranges. Asked with a range beyond the end.
fn punches(file: &OwnedFd, capacity: Bytes, granularity: Bytes) -> bool {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let offset = capacity.0.next_multiple_of(granularity.0);
    let answer = rustix::fs::fallocate(file, flags, offset, granularity.0);
    answer != Err(rustix::io::Errno::OPNOTSUPP)
}

fn kernel(operation: &'static str) -> impl Fn(rustix::io::Errno) -> BlockError {
    move |errno| BlockError::Kernel { operation, errno: errno_of(errno) }
}
