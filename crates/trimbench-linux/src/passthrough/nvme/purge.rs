//! Purging an `NVMe` drive: which means it has, and Format NVM.

use trimbench_core::Nanos;

use super::command::Identify;
use super::drive::{NvmeDrive, active_namespaces, identify, look, send};
use super::identify::namespaces;
use super::logs::{self, SanitizeStatus};
use crate::ioctl::{Data, NvmeCommand};
use crate::passthrough::error::{PassthroughError, PurgeError, PurgeObstacle};
use crate::passthrough::purge::{PurgeOption, ReportedPurge, timeout_of};
use crate::passthrough::transport::Transport;

/// Secure erase settings (SES) of Format NVM.
pub(super) const USER_DATA_ERASE: u32 = 1;
pub(super) const CRYPTO_ERASE: u32 = 2;

impl<T: Transport> NvmeDrive<T> {
    /// What the drive has, strongest first.
    pub(super) fn means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        let controller = self.controller.clone();
        let sanitizes = !controller.sanitizes.is_empty();
        let status = if sanitizes { Some(self.sanitize_status()?) } else { None };
        let others = if sanitizes || (controller.has_format && controller.format_hits_all) {
            self.other_namespaces()?
        } else {
            None
        };
        let option = |means, obstacle| {
            let estimate = status.as_ref().and_then(|status| status.estimate(means));
            PurgeOption { means, estimate, obstacle }
        };
        let mut options: Vec<PurgeOption> =
            controller.sanitizes.iter().map(|&means| option(means, others.clone())).collect();
        let no_format = others.filter(|_| controller.format_hits_all);
        if controller.has_format {
            options.push(option(ReportedPurge::NvmeFormatUserDataErase, no_format.clone()));
        }
        if controller.has_format && controller.format_crypto {
            options.push(option(ReportedPurge::NvmeFormatCryptoErase, no_format));
        }
        Ok(options)
    }

    /// The state of the last sanitize operation, with estimates.
    pub(super) fn sanitize_status(&mut self) -> Result<SanitizeStatus, PassthroughError> {
        let log = self.log("Get Log Page (sanitize status)", logs::SANITIZE, 0)?;
        Ok(SanitizeStatus::decode(&log))
    }

    /// Formats the namespace with the format that it has.
    pub(super) fn format(
        &mut self,
        secure_erase: u32,
        estimate: Option<Nanos>,
    ) -> Result<(), PurgeError> {
        let before = (self.namespace.size, self.namespace.format_dword);
        let command = NvmeCommand::format(self.nsid, before.1, secure_erase, timeout_of(estimate));
        send(&mut self.transport, "Format NVM", &command, Data::None)?;
        let after = look(&mut self.transport, self.nsid)?.namespace;
        let kept = (after.size, after.format_dword) == before;
        if kept { Ok(()) } else { Err(PurgeError::FormatChanged) }
    }

    /// Why what erases the whole subsystem would erase more than this namespace.
    fn other_namespaces(&mut self) -> Result<Option<PurgeObstacle>, PassthroughError> {
        let seen = if self.controller.manages_namespaces {
            let name = "Identify (allocated namespaces)";
            let what = Identify::AllocatedNamespaces;
            namespaces(&identify(&mut self.transport, name, what)?)
        } else {
            active_namespaces(&mut self.transport)?
        };
        let others = seen.iter().filter(|&&nsid| nsid != self.nsid).count();
        if others > 0 {
            return Ok(Some(PurgeObstacle::OtherNamespaces { count: others + 1 }));
        }
        // Without namespace management only this controller's namespaces are listed.
        let hidden = self.controller.shares_subsystem
            && !self.controller.manages_namespaces
            && self.controller.namespaces_max > 1;
        Ok(hidden.then_some(PurgeObstacle::UnseenNamespaces))
    }
}
