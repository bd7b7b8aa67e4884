//! How a command reaches the drive: the kernel, or in tests a script.

use std::os::fd::BorrowedFd;

use trimbench_core::{Errno, Nanos};

use crate::clock;
use crate::ioctl::{self, Data, NvmeCommand, ScsiOutcome};

/// What carries commands to a drive and lets time pass between them.
pub(super) trait Transport {
    /// Sends an `NVMe` command; the answer is its status field without the phase bit.
    fn nvme(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u16, Errno>;
    fn scsi(
        &mut self,
        command: &[u8],
        data: Data<'_>,
        timeout: Nanos,
    ) -> Result<ScsiOutcome, Errno>;
    fn pause(&mut self, span: Nanos);
}

/// The kernel's ioctls on an open device.
#[derive(Debug)]
pub(super) struct Kernel<'fd> {
    pub(super) file: BorrowedFd<'fd>,
}

impl Transport for Kernel<'_> {
    fn nvme(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u16, Errno> {
        ioctl::nvme_command(self.file, command, data)
    }

    fn scsi(
        &mut self,
        command: &[u8],
        data: Data<'_>,
        timeout: Nanos,
    ) -> Result<ScsiOutcome, Errno> {
        ioctl::scsi_command(self.file, command, data, timeout)
    }

    fn pause(&mut self, span: Nanos) {
        // A signal ends the wait early; the poll that follows then merely comes sooner.
        clock::pause(span);
    }
}
