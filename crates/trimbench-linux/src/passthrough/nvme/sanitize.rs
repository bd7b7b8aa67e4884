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

use trimbench_core::Nanos;

use super::command::{EXIT_FAILURE_MODE, MAY_EXIT_FAILURE, SANITIZE_ACTION};
use super::drive::{NvmeDrive, send};
use super::logs::{SanitizeState, SanitizeStatus};
use super::status::NvmeStatus;
use crate::ioctl::{Data, NvmeCommand};
use crate::passthrough::error::{PassthroughError, PurgeError};
use crate::passthrough::purge::Patience;
use crate::passthrough::transport::Transport;

impl<T: Transport> NvmeDrive<T> {
    pub(super) fn sanitize(
        &mut self,
        action: u32,
        estimate: Option<Nanos>,
    ) -> Result<(), PurgeError> {
        let mut before = self.sanitize_status()?;
        if before.state == SanitizeState::InProgress {
            let running = before.command;
            before = self.wait_for_sanitize(running, estimate)?;
            if before.state == SanitizeState::Succeeded && is_same_action(running, action) {
                return Ok(());
            }
        }
        // After a failure in restricted mode only another restricted operation is accepted.
        let restricted = before.state == SanitizeState::Failed && !before.may_exit_failure();
        let command = if restricted { action } else { action | MAY_EXIT_FAILURE };
        send(&mut self.transport, "Sanitize", &NvmeCommand::sanitize(command), Data::None)?;
        let after = self.wait_for_sanitize(command, estimate)?;
        match after.state {
            SanitizeState::Succeeded => Ok(()),
            _ => Err(self.leave_failure(after)),
        }
    }

    /// Waits for the end of the operation that a command with this CDW10 started.
    fn wait_for_sanitize(
        &mut self,
        command: u32,
        estimate: Option<Nanos>,
    ) -> Result<SanitizeStatus, PurgeError> {
        let mut patience = Patience::from_estimate(estimate);
        loop {
            match self.sanitize_status() {
                // The end of an earlier operation is not the end of this one.
                Ok(status)
                    if is_same_action(status.command, command)
                        && matches!(
                            status.state,
                            SanitizeState::Succeeded | SanitizeState::Failed
                        ) =>
                {
                    return Ok(status);
                }
                Ok(_) => {}
                // It was turned away because of the sanitizing itself.
                Err(PassthroughError::Nvme { status, .. })
                    if status.pair() == NvmeStatus::SANITIZE_IN_PROGRESS => {}
                Err(error) => return Err(error.into()),
            }
            patience.pause(&mut self.transport)?;
        }
    }

    /// Takes the drive out of its failure mode, if the operation allowed that.
    fn leave_failure(&mut self, failed: SanitizeStatus) -> PurgeError {
        let exit = NvmeCommand::sanitize(EXIT_FAILURE_MODE);
        let usable = failed.may_exit_failure()
            && send(&mut self.transport, "Sanitize (exit failure mode)", &exit, Data::None).is_ok();
        PurgeError::SanitizeFailed { usable }
    }
}

/// Whether two commands, by their CDW10, sanitize by the same action.
fn is_same_action(one: u32, other: u32) -> bool {
    one & SANITIZE_ACTION == other & SANITIZE_ACTION
}
