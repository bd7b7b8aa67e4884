//! The course of an ATA sanitize operation (\[ATA\] ACS-4, 4.19 and 7.41).
//!
//! Operations continue across resets and loss of power. Unlike `NVMe`, the drive does not say which
//! operation is running: if one is found running, we wait for it, and then run the wanted one.

use trimbench_core::Nanos;

use super::command::{self, Sanitize};
use super::drive::AtaDrive;
use crate::ioctl::Data;
use crate::passthrough::error::{PassthroughError, PurgeError};
use crate::passthrough::purge::Patience;
use crate::passthrough::scsi::AtaRegisters;
use crate::passthrough::transport::Transport;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub(super) struct SanitizeStatus {
    /// The last operation ended without error.
    pub(super) completed: bool,
    pub(super) in_progress: bool,
    /// Frozen until the drive loses power.
    pub(super) frozen: bool,
    /// The last operation failed: the drive refuses all but sanitizing.
    pub(super) failed: bool,
}

impl SanitizeStatus {
    /// Bits 15 to 13 of the count.
    fn decode(registers: AtaRegisters) -> Option<Self> {
        let count = registers.count?;
        Some(Self {
            completed: count & 1 << 15 != 0,
            in_progress: count & 1 << 14 != 0,
            frozen: count & 1 << 13 != 0,
            failed: false,
        })
    }
}

impl<T: Transport> AtaDrive<T> {
    pub(super) fn sanitize_status(&mut self) -> Result<SanitizeStatus, PassthroughError> {
        let status = command::sanitize(Sanitize::Status);
        match self.line.send(&status, Data::None) {
            Ok(registers) => registers
                .and_then(SanitizeStatus::decode)
                .ok_or(PassthroughError::NoRegisters { command: status.name }),
            // In the failed state the drive aborts the question.
            Err(error) if error.is_refusal() => {
                Ok(SanitizeStatus { failed: true, ..SanitizeStatus::default() })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn sanitize(
        &mut self,
        what: Sanitize,
        estimate: Option<Nanos>,
    ) -> Result<(), PurgeError> {
        if self.sanitize_status()?.in_progress {
            self.wait_for_sanitize(estimate)?;
        }
        self.line.send(&command::sanitize(what), Data::None)?;
        let end = self.wait_for_sanitize(estimate)?;
        if end.completed && !end.failed {
            return Ok(());
        }
        let clear = command::sanitize(Sanitize::ClearFailure);
        let usable = self.line.send(&clear, Data::None).is_ok();
        Err(PurgeError::SanitizeFailed { usable })
    }

    fn wait_for_sanitize(&mut self, estimate: Option<Nanos>) -> Result<SanitizeStatus, PurgeError> {
        let mut patience = Patience::from_estimate(estimate);
        loop {
            let status = self.sanitize_status()?;
            if !status.in_progress {
                return Ok(status);
            }
            patience.pause(&mut self.line.transport)?;
        }
    }
}
