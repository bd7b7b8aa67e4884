//! The course of an `NVMe` sanitize operation (\[NVME\] Base 2.0, 8.20).
//!
//! ```text
//!            Sanitize               SSTAT 1 or 4
//!  idle ──────────────> in progress ────────────> idle, purged
//!                          │  ^
//!                  SSTAT 3 v  │ Sanitize
//!                        failed ──────────────────> idle, not purged
//!                                Exit Failure Mode (only after AUSE)
//! ```
//!
//! An operation continues across resets and loss of power. If one is found running, we wait for it;
//! if it had the same action, the drive is purged by it.

use trimbench_core::{Nanos, Ppm};

use super::command::SanitizeAction;
use super::drive::{NvmeDrive, send};
use super::logs::{SanitizeState, SanitizeStatus};
use super::status::NvmeStatus;
use crate::ioctl::Data;
use crate::passthrough::error::{PassthroughError, PurgeError};
use crate::passthrough::purge::Patience;
use crate::passthrough::transport::{NvmeCommand, Transport};

/// SANACT of CDW10.
const ACTION: u32 = 0b111;

impl<T: Transport> NvmeDrive<T> {
    pub(super) fn sanitize(
        &mut self,
        action: SanitizeAction,
        estimate: Option<Nanos>,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<(), PurgeError> {
        let patience = Patience::from_estimate(estimate);
        let mut before = self.sanitize_status()?;
        if before.state == SanitizeState::InProgress {
            let running = before.command;
            before = self.wait_for_sanitize(running, patience, progress)?;
            let wanted = NvmeCommand::sanitize(action, true).cdw10[0];
            if before.state == SanitizeState::Succeeded && running & ACTION == wanted & ACTION {
                return Ok(());
            }
        }
        // After a failure in restricted mode only another restricted operation is accepted.
        let restricted = before.state == SanitizeState::Failed && !before.may_exit_failure();
        let command = NvmeCommand::sanitize(action, !restricted);
        send(&mut self.transport, "Sanitize", &command, Data::None)?;
        let after = self.wait_for_sanitize(command.cdw10[0], patience, progress)?;
        match after.state {
            SanitizeState::Succeeded => Ok(()),
            _ => Err(self.leave_failure(after)),
        }
    }

    /// Waits for the end of the operation that a command with this CDW10 started.
    fn wait_for_sanitize(
        &mut self,
        command: u32,
        patience: Patience,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<SanitizeStatus, PurgeError> {
        let mut waited = Nanos::ZERO;
        loop {
            match self.sanitize_status() {
                // The end of an earlier operation is not the end of this one.
                Ok(status) if status.command & ACTION == command & ACTION => match status.state {
                    SanitizeState::Succeeded | SanitizeState::Failed => return Ok(status),
                    SanitizeState::InProgress => progress(status.progress),
                    SanitizeState::Never | SanitizeState::Reserved => {}
                },
                Ok(_) => {}
                Err(PassthroughError::Nvme { status, .. }) if sanitizes(status) => {}
                Err(error) => return Err(error.into()),
            }
            if waited >= patience.limit {
                return Err(PurgeError::SanitizeOverdue { waited });
            }
            self.transport.pause(patience.interval);
            waited += patience.interval;
        }
    }

    /// Takes the drive out of its failure mode, if the operation allowed that.
    fn leave_failure(&mut self, failed: SanitizeStatus) -> PurgeError {
        let exit = NvmeCommand::sanitize(SanitizeAction::ExitFailureMode, false);
        let usable = failed.may_exit_failure()
            && send(&mut self.transport, "Sanitize (exit failure mode)", &exit, Data::None).is_ok();
        PurgeError::SanitizeFailed { usable }
    }
}

/// Whether a command was turned away because of the sanitizing itself.
fn sanitizes(status: NvmeStatus) -> bool {
    const IN_PROGRESS: (u16, u16) = (0, 0x1d);
    status.pair() == IN_PROGRESS
}
