//! Facts about an open device or file that only the kernel knows: its generation, the file or
//! device below a loop device, and whether anyone else has the file open.
//!
//! Numbers and layouts are kernel ABI: `include/uapi/linux/fs.h`, `loop.h` and `fcntl.h`.

use std::os::fd::{AsRawFd, BorrowedFd};

use trimbench_core::Errno;

use super::{call, call_for_value};
use crate::errno::last_errno;

#[cfg(test)]
mod tests;

/// `_IOR(0x12, 128, __u64)`, Linux 5.15.
const BLKGETDISKSEQ: libc::c_ulong = 0x8008_1280;
/// `_IO(0x12, 94)`.
const BLKROGET: libc::c_ulong = 0x125E;
/// No direction or size in it: older than the convention.
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
/// What no libc crate carries for every C library.
const F_SETSIG: libc::c_int = 10;
const F_SETLEASE: libc::c_int = 1024;
const F_OFD_SETLK: libc::c_int = 37;

/// What a loop device stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopStatus {
    /// Device number and inode of the backing file, as `stat` gives them.
    pub file: (u64, u64),
    /// Where in the file the device begins, in bytes.
    pub offset: u64,
    /// How many bytes of it are used at most; 0 = all.
    pub size_limit: u64,
}

#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    real_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232);

impl LoopInfo64 {
    // SAFETY: plain numbers, for which zero is valid.
    const ZERO: Self = unsafe { std::mem::zeroed() };
}

/// The generation of a disk: never the same twice while the machine runs, so that a reused device
/// number is noticed. ENOTTY before Linux 5.15.
pub fn disk_sequence(device: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut sequence = 0_u64;
    call(device, BLKGETDISKSEQ, &mut sequence)?;
    Ok(sequence)
}

/// Whether the block device refuses writes.
pub(crate) fn is_read_only(device: BorrowedFd<'_>) -> Result<bool, Errno> {
    let mut flag: libc::c_int = 0;
    call(device, BLKROGET, &mut flag)?;
    Ok(flag != 0)
}

/// What the loop device stands on; ENXIO where nothing is attached.
pub fn loop_status(device: BorrowedFd<'_>) -> Result<LoopStatus, Errno> {
    let mut info = LoopInfo64::ZERO;
    call(device, LOOP_GET_STATUS64, &mut info)?;
    let file = (info.device, info.inode);
    Ok(LoopStatus { file, offset: info.offset, size_limit: info.size_limit })
}

/// Locks the whole file for this open description; EAGAIN where another holds a lock on any of it.
///
/// Such a lock belongs to the description and not to the process, as qemu's do.
pub(crate) fn lock_whole(file: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: `flock` is plain numbers, for which zero is valid: from offset 0 to the end.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(libc::F_WRLCK).expect("a small constant");
    lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).expect("a small constant");
    let argument = std::ptr::from_mut(&mut lock);
    // SAFETY: F_OFD_SETLK reads a `struct flock`, which lives through the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), F_OFD_SETLK, argument) };
    if result < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Whether anything but this open description has the file open, be it in a process that cannot be
/// seen or in the kernel (loop device, swap, another filesystem). `file` must be open for writing.
///
/// The kernel grants a lease for writing only on a file that no one else has open; it is given
/// back at once. An error where leases are not to be had: EACCES for a file of another user
/// without `CAP_LEASE`, EINVAL on filesystems without leases.
pub(crate) fn is_open_elsewhere(file: BorrowedFd<'_>) -> Result<bool, Errno> {
    // Who opens the file during these microseconds has the kernel signal us. The default signal
    // would end the program; this one is ignored by default.
    set(file, F_SETSIG, libc::SIGURG)?;
    match set(file, F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => set(file, F_SETLEASE, libc::F_UNLCK).map(|()| false),
        Err(Errno(libc::EAGAIN)) => Ok(true),
        Err(errno) => Err(errno),
    }
}

fn set(file: BorrowedFd<'_>, operation: libc::c_int, value: libc::c_int) -> Result<(), Errno> {
    // SAFETY: both private uses pass operations whose argument is a plain number.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), operation, value) };
    if result < 0 { Err(last_errno()) } else { Ok(()) }
}

/// `_IO(0x4C, 0x82)` and `0x4C0A`, Linux 5.8.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
/// Detached by the kernel when the last user has closed it.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// Requests go past the page cache of the file, many at a time.
const LO_FLAGS_DIRECT_IO: u32 = 16;

#[repr(C)]
struct LoopConfig {
    file: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopConfig>() == 304);

/// The number of a loop device with nothing attached, from `/dev/loop-control`.
pub(crate) fn free_loop(control: BorrowedFd<'_>) -> Result<u32, Errno> {
    let number = call_for_value(control, LOOP_CTL_GET_FREE, &mut 0_u64)?;
    Ok(u32::try_from(number).expect("it is not negative"))
}

/// How a loop device does the I/O of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopIo {
    /// Through the page cache, by one thread.
    Cached,
    /// Past it, many requests at a time.
    Direct,
}

/// Attaches `image` to a loop device, which detaches itself with its last user. EBUSY if something
/// is attached.
pub(crate) fn attach_loop(
    device: BorrowedFd<'_>,
    image: BorrowedFd<'_>,
    io: LoopIo,
) -> Result<(), Errno> {
    let file = u32::try_from(image.as_raw_fd()).expect("an open file's number is not negative");
    let flags = match io {
        LoopIo::Cached => LO_FLAGS_AUTOCLEAR,
        LoopIo::Direct => LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
    };
    let info = LoopInfo64 { flags, ..LoopInfo64::ZERO };
    call(device, LOOP_CONFIGURE, &mut LoopConfig { file, block_size: 0, info, reserved: [0; 8] })
}
