//! Purging an `NVMe` drive: which means it has, and Format NVM.

use trimbench_core::Nanos;

use super::command::Identify;
use super::drive::{NvmeDrive, active_namespaces, identify, look, send};
use super::identify::{Controller, namespaces};
use super::logs::{self, SanitizeStatus};
use crate::ioctl::Data;
use crate::passthrough::error::{PassthroughError, PurgeError, PurgeObstacle};
use crate::passthrough::purge::{PurgeOption, ReportedPurge, timeout_of};
use crate::passthrough::transport::{NvmeCommand, Transport};

/// Secure erase settings (SES) of Format NVM.
pub(super) const USER_DATA_ERASE: u32 = 1;
pub(super) const CRYPTO_ERASE: u32 = 2;

impl<T: Transport> NvmeDrive<T> {
    /// What the drive has, strongest first.
    pub(super) fn means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        let controller = self.controller.clone();
        let sanitizes = controller.sanitize_block
            || controller.sanitize_crypto
            || controller.sanitize_overwrite;
        let status = if sanitizes { Some(self.sanitize_status()?) } else { None };
        let others = if sanitizes || (controller.has_format && controller.format_hits_all) {
            self.other_namespaces()?
        } else {
            None
        };
        let estimate = |pick: fn(&SanitizeStatus) -> Option<Nanos>| status.as_ref().and_then(pick);
        let block = estimate(|status| status.block_erase);
        let crypto = estimate(|status| status.crypto_erase);
        let others = others.as_ref();
        let no_format = others.filter(|_| controller.format_hits_all);
        let format_crypto = controller.has_format && controller.format_crypto;
        let overwrite = estimate(|status| status.overwrite);
        let Controller { sanitize_block, sanitize_crypto, sanitize_overwrite, .. } = controller;
        let all = [
            PurgeOption::of(sanitize_block, ReportedPurge::NvmeSanitizeBlockErase, block, others),
            PurgeOption::of(
                sanitize_crypto,
                ReportedPurge::NvmeSanitizeCryptoErase,
                crypto,
                others,
            ),
            PurgeOption::of(
                sanitize_overwrite,
                ReportedPurge::NvmeSanitizeOverwrite,
                overwrite,
                others,
            ),
            // Format has no estimate of its own; sanitizing does the same work.
            PurgeOption::of(
                controller.has_format,
                ReportedPurge::NvmeFormatUserDataErase,
                block,
                no_format,
            ),
            PurgeOption::of(format_crypto, ReportedPurge::NvmeFormatCryptoErase, crypto, no_format),
        ];
        Ok(all.into_iter().flatten().collect())
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
        let before = self.namespace.clone();
        let command = NvmeCommand::format(
            self.nsid,
            before.format_dword(),
            secure_erase,
            timeout_of(estimate),
        );
        send(&mut self.transport, "Format NVM", &command, Data::None)?;
        let after = look(&mut self.transport, self.nsid)?.namespace;
        let kept = (after.size, after.format_dword()) == (before.size, before.format_dword());
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
