//! Which means an ATA drive has to be purged.

use super::drive::AtaDrive;
use super::security::PASSWORD;
use crate::passthrough::error::{PassthroughError, PurgeObstacle};
use crate::passthrough::purge::{PurgeOption, ReportedPurge};
use crate::passthrough::transport::Transport;

impl<T: Transport> AtaDrive<T> {
    /// What the drive has, strongest first.
    pub(super) fn means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        let drive = self.line.identify()?;
        let security = drive.security;
        let sanitizes = drive.sanitize_block || drive.sanitize_crypto || drive.sanitize_overwrite;
        let no_sanitize = if sanitizes && self.sanitize_status()?.frozen {
            Some(PurgeObstacle::SanitizeFrozen)
        } else if security.locked {
            Some(PurgeObstacle::SecurityLocked { password: PASSWORD })
        } else {
            None
        };
        let no_erase = if security.frozen {
            Some(PurgeObstacle::SecurityFrozen)
        } else if security.count_expired {
            Some(PurgeObstacle::SecurityCountExpired)
        } else if security.locked {
            Some(PurgeObstacle::SecurityLocked { password: PASSWORD })
        } else if security.enabled {
            Some(PurgeObstacle::PasswordSet { password: PASSWORD })
        } else {
            None
        };
        // Sanitizing has no estimate of its own; the security erase does the same work.
        let (time, enhanced) = (security.erase, security.supported && security.enhanced);
        let enhanced_time = security.enhanced_erase;
        let (sanitize, erase) = (no_sanitize.as_ref(), no_erase.as_ref());
        let all = [
            PurgeOption::of(
                drive.sanitize_block,
                ReportedPurge::AtaSanitizeBlockErase,
                time,
                sanitize,
            ),
            PurgeOption::of(
                drive.sanitize_crypto,
                ReportedPurge::AtaSanitizeCryptoScramble,
                None,
                sanitize,
            ),
            PurgeOption::of(
                drive.sanitize_overwrite,
                ReportedPurge::AtaSanitizeOverwrite,
                None,
                sanitize,
            ),
            PurgeOption::of(
                enhanced,
                ReportedPurge::AtaSecurityEraseEnhanced,
                enhanced_time,
                erase,
            ),
            PurgeOption::of(security.supported, ReportedPurge::AtaSecurityErase, time, erase),
        ];
        Ok(all.into_iter().flatten().collect())
    }
}
