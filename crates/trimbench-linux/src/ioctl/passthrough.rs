//! Commands to drives through the kernel: `NVME_IOCTL_ADMIN_CMD`, `NVME_IOCTL_ID` and `SG_IO`.
//!
//! Numbers and layouts: `include/uapi/linux/nvme_ioctl.h` and `scsi/sg.h`. The structures carry
//! addresses of buffers, so the functions take the buffers themselves and fill the addresses in:
//! no caller can pair a length with another buffer, or a command that reads with one that is only
//! lent for reading.

use std::os::fd::{AsRawFd, BorrowedFd};

use trimbench_claim::last_errno;
use trimbench_core::units::narrow;
use trimbench_core::{Errno, Nanos};

use super::call_for_value;

/// `_IO('N', 0x40)`: returns the namespace's identifier.
const NVME_IOCTL_ID: libc::c_ulong = 0x4E40;
/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
pub(super) const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xC048_4E41;
/// A number from before ioctl numbers carried sizes.
const SG_IO: libc::c_ulong = 0x2285;

/// `SG_DXFER_NONE`, `SG_DXFER_TO_DEV` and `SG_DXFER_FROM_DEV`.
const SG_NONE: i32 = -1;
const SG_TO_DEVICE: i32 = -2;
const SG_FROM_DEVICE: i32 = -3;

#[derive(Debug)]
pub(crate) enum Data<'a> {
    None,
    /// From the drive, into this buffer.
    In(&'a mut [u8]),
    Out(&'a [u8]),
}

/// One `NVMe` command of administration, as far as the kernel leaves it to us (\[NVME\] 3.3.3,
/// common command format).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NvmeCommand {
    pub(crate) opcode: u8,
    pub(crate) nsid: u32,
    /// Command dwords 10 to 15.
    pub(crate) cdw10: [u32; 6],
    /// After this time the kernel aborts the command and then resets the controller.
    pub(crate) timeout: Nanos,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScsiOutcome {
    /// The SCSI status byte: 0 good, 2 check condition.
    pub(crate) status: u8,
    /// The host adapter's verdict; 0 is good.
    pub(crate) host_status: u16,
    /// The driver's verdict; 0 is good, 8 says that there is sense data.
    pub(crate) driver_status: u16,
    /// Sense data as far as it was written.
    pub(crate) sense: Vec<u8>,
    /// Bytes that were asked for but not transferred.
    pub(crate) missing_bytes: usize,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct NvmePassthru {
    pub(super) opcode: u8,
    pub(super) flags: u8,
    pub(super) reserved: u16,
    pub(super) nsid: u32,
    pub(super) cdw2: u32,
    pub(super) cdw3: u32,
    pub(super) metadata: u64,
    pub(super) address: u64,
    pub(super) metadata_length: u32,
    pub(super) data_length: u32,
    pub(super) cdw10: [u32; 6],
    pub(super) timeout_ms: u32,
    pub(super) result: u32,
}

#[repr(C)]
pub(super) struct SgIoHeader {
    pub(super) interface_id: i32,
    pub(super) direction: i32,
    pub(super) command_length: u8,
    pub(super) sense_length_max: u8,
    pub(super) iovec_count: u16,
    pub(super) transfer_length: u32,
    pub(super) transfer: *mut u8,
    pub(super) command: *const u8,
    pub(super) sense: *mut u8,
    pub(super) timeout_ms: u32,
    pub(super) flags: u32,
    pub(super) pack_id: i32,
    pub(super) user_pointer: *mut u8,
    pub(super) status: u8,
    pub(super) masked_status: u8,
    pub(super) message_status: u8,
    pub(super) sense_length: u8,
    pub(super) host_status: u16,
    pub(super) driver_status: u16,
    pub(super) residual: i32,
    pub(super) duration_ms: u32,
    pub(super) info: u32,
}

/// Sends a command; the answer is the NVMe status field without its phase bit, 0 for success.
///
/// Needs `CAP_SYS_ADMIN` for all but a few that only read.
pub(crate) fn nvme_command(
    file: BorrowedFd<'_>,
    command: &NvmeCommand,
    data: Data<'_>,
) -> Result<u16, Errno> {
    // The low bits of an opcode say which way data goes; the kernel and the drive go by them.
    let (direction, address, length) = match data {
        Data::None => (0b00, 0, 0),
        Data::Out(bytes) => (0b01, bytes.as_ptr().expose_provenance(), bytes.len()),
        Data::In(bytes) => (0b10, bytes.as_mut_ptr().expose_provenance(), bytes.len()),
    };
    assert_eq!(command.opcode & 0b11, direction, "the opcode and the buffer agree");
    let mut request = NvmePassthru {
        opcode: command.opcode,
        nsid: command.nsid,
        address: address as u64,
        data_length: narrow(length as u64),
        cdw10: command.cdw10,
        timeout_ms: milliseconds(command.timeout),
        ..NvmePassthru::default()
    };
    // The buffer that `request` points to is borrowed by `data` until this function returns, and
    // the kernel copies to or from it within `data_length` in the direction asserted above.
    let status = call_for_value(file, NVME_IOCTL_ADMIN_CMD, &mut request)?;
    // The kernel masks the status to 15 bits.
    Ok(u16::try_from(status).unwrap_or(u16::MAX))
}

/// The namespace of this device. Needs no privilege.
pub(crate) fn nvme_namespace(file: BorrowedFd<'_>) -> Result<u32, Errno> {
    // SAFETY: this ioctl takes no argument.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ID as _) };
    u32::try_from(result).map_err(|_| last_errno())
}

/// Sends a SCSI command of 12 or 16 bytes. Needs `CAP_SYS_RAWIO` for those that we send.
pub(crate) fn scsi_command(
    file: BorrowedFd<'_>,
    command: &[u8],
    data: Data<'_>,
    timeout: Nanos,
) -> Result<ScsiOutcome, Errno> {
    let command_length = u8::try_from(command.len()).expect("a command has at most 16 bytes");
    let mut sense = [0_u8; 64];
    let (direction, transfer, length) = match data {
        Data::None => (SG_NONE, std::ptr::null_mut(), 0),
        Data::In(bytes) => (SG_FROM_DEVICE, bytes.as_mut_ptr(), bytes.len()),
        Data::Out(bytes) => (SG_TO_DEVICE, bytes.as_ptr().cast_mut(), bytes.len()),
    };
    let mut request = SgIoHeader {
        interface_id: i32::from(b'S'),
        direction,
        command_length,
        sense_length_max: 64,
        transfer_length: narrow(length as u64),
        transfer,
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: milliseconds(timeout),
        // SAFETY: plain numbers and addresses, for which zero is valid.
        ..unsafe { std::mem::zeroed() }
    };
    // The buffers are borrowed until this function returns. The kernel writes to `transfer` only
    // for SG_FROM_DEVICE, where it was lent mutably, and to `sense` within its 64 bytes.
    call_for_value(file, SG_IO, &mut request)?;
    Ok(ScsiOutcome {
        status: request.status,
        host_status: request.host_status,
        driver_status: request.driver_status,
        sense: sense[..usize::from(request.sense_length).min(64)].to_vec(),
        missing_bytes: usize::try_from(request.residual).unwrap_or(0),
    })
}

/// Whole milliseconds, at least 1: 0 would mean the driver's own default.
fn milliseconds(span: Nanos) -> u32 {
    u32::try_from(span.0.div_ceil(1_000_000)).unwrap_or(u32::MAX).max(1)
}
