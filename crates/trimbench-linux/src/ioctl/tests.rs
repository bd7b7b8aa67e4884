//! Layouts and numbers against the kernel's headers, as a C compiler gave them on x86-64.

use std::mem::offset_of;

use super::passthrough::{NVME_IOCTL_ADMIN_CMD, NvmePassthru, SgIoHeader};

/// `_IOWR(type, number, size)` of `asm-generic/ioctl.h`.
fn read_write(group: u8, number: u8, bytes: usize) -> libc::c_ulong {
    let bytes = libc::c_ulong::try_from(bytes).unwrap();
    (3 << 30) | (bytes << 16) | (libc::c_ulong::from(group) << 8) | libc::c_ulong::from(number)
}

#[test]
fn structures_have_the_sizes_that_the_kernel_copies() {
    assert_eq!(size_of::<NvmePassthru>(), 72);
    assert_eq!(offset_of!(NvmePassthru, address), 24);
    assert_eq!(offset_of!(NvmePassthru, cdw10), 40);
    assert_eq!(size_of::<SgIoHeader>(), 88);
    assert_eq!(offset_of!(SgIoHeader, timeout_ms), 40);
    assert_eq!(offset_of!(SgIoHeader, status), 64);
}

#[test]
fn numbers_carry_the_size_of_the_structure() {
    let bytes = size_of::<NvmePassthru>();
    assert_eq!(NVME_IOCTL_ADMIN_CMD, read_write(b'N', 0x41, bytes));
}
