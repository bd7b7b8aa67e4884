//! The ioctls of the safety gate that no crate wraps: who an open device or file is, what a loop
//! device stands on, and the UUID of a filesystem.
//!
//! Numbers and layouts are kernel ABI: `include/uapi/linux/fs.h`, and those of [`identity`]. Each
//! structure is passed by pointer and written by the kernel within its own size, which the ioctl
//! number carries.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd};

use trimbench_core::Errno;

use crate::errno::last_errno;

mod identity;

pub use identity::{LoopIo, LoopStatus, disk_sequence, loop_status};
pub(crate) use identity::{attach_loop, free_loop, is_open_elsewhere, is_read_only, lock_whole};

/// `_IOR(0x15, 0, struct fsuuid2)`.
const FS_IOC_GETFSUUID: libc::c_ulong = 0x8011_1500;

#[repr(C)]
#[derive(Default)]
struct FsUuid {
    length: u8,
    uuid: [u8; 16],
}

/// The UUID of the filesystem that a file is on; `None` if it is not one of 16 bytes. Linux 6.9 or
/// later.
pub(crate) fn filesystem_uuid(file: BorrowedFd<'_>) -> Result<Option<[u8; 16]>, Errno> {
    let mut answer = FsUuid::default();
    call(file, FS_IOC_GETFSUUID, &mut answer)?;
    Ok((answer.length == 16).then_some(answer.uuid))
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
    // SAFETY: the private callers pair each number with the structure whose size it encodes; the
    // kernel reads and writes only within it, and only during the call.
    let result =
        unsafe { libc::ioctl(file.as_raw_fd(), number as _, std::ptr::from_mut(argument)) };
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}
