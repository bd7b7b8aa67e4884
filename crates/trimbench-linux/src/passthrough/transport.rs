//! How a command reaches the drive: the kernel, or in tests a script.

use std::os::fd::BorrowedFd;

use trimbench_core::{Errno, Nanos};

use crate::clock;
use crate::ioctl::{self, Data, ScsiOutcome};

/// To which queue of the controller an `NVMe` command goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NvmeQueue {
    /// Administration: identify, logs, format, sanitize.
    #[default]
    Admin,
    /// Input and output: dataset management.
    Io,
}

/// One `NVMe` command, as far as the kernel leaves it to us (\[NVME\] 3.3.3, common command
/// format).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NvmeCommand {
    pub(crate) queue: NvmeQueue,
    pub(crate) opcode: u8,
    pub(crate) nsid: u32,
    /// Command dwords 10 to 15.
    pub(crate) cdw10: [u32; 6],
    /// After this time the kernel aborts the command and then resets the controller.
    pub(crate) timeout: Nanos,
}

/// What carries commands to a drive and lets time pass between them.
pub(crate) trait Transport {
    /// Sends an `NVMe` command; the answer is its status field without the phase bit.
    fn nvme(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u16, Errno>;
    /// Sends a SCSI command.
    fn scsi(
        &mut self,
        command: &[u8],
        data: Data<'_>,
        timeout: Nanos,
    ) -> Result<ScsiOutcome, Errno>;
    /// Waits.
    fn pause(&mut self, span: Nanos);
}

/// The kernel's ioctls on an open device.
#[derive(Debug)]
pub(crate) struct Kernel<'fd> {
    pub(crate) file: BorrowedFd<'fd>,
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
