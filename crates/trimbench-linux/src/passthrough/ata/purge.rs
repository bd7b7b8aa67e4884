//! Purging an ATA drive: which means it has.

use trimbench_core::Ppm;

use super::command::Sanitize;
use super::drive::AtaDrive;
use super::security::PASSWORD;
use crate::passthrough::error::{PassthroughError, PurgeError, PurgeObstacle};
use crate::passthrough::purge::{PurgeMeans, PurgeOption, check_same_drive};
use crate::passthrough::transport::Transport;

impl<T: Transport> AtaDrive<T> {
    /// What the drive has, strongest first.
    pub(in crate::passthrough) fn purge_means(
        &mut self,
    ) -> Result<Vec<PurgeOption>, PassthroughError> {
        let drive = self.look()?;
        let security = drive.security;
        let sanitizes = drive.sanitize_block || drive.sanitize_crypto || drive.sanitize_overwrite;
        let sanitize = if sanitizes && self.sanitize_status()?.frozen {
            Some(PurgeObstacle::SanitizeFrozen)
        } else if security.locked {
            Some(PurgeObstacle::SecurityLocked { password: PASSWORD })
        } else {
            None
        };
        let erase = if security.frozen {
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
        let enhanced = security.supported && security.enhanced;
        // Sanitizing has no estimate of its own; the security erase does the same work.
        let (normal_time, enhanced_time) = (security.erase, security.enhanced_erase);
        Ok(PurgeOption::offered([
            (drive.sanitize_block, PurgeMeans::AtaSanitizeBlockErase, normal_time, &sanitize),
            (drive.sanitize_crypto, PurgeMeans::AtaSanitizeCryptoScramble, None, &sanitize),
            (drive.sanitize_overwrite, PurgeMeans::AtaSanitizeOverwrite, None, &sanitize),
            (enhanced, PurgeMeans::AtaSecurityEraseEnhanced, enhanced_time, &erase),
            (security.supported, PurgeMeans::AtaSecurityErase, normal_time, &erase),
        ]))
    }

    /// Erases the drive.
    pub(in crate::passthrough) fn purge(
        &mut self,
        means: PurgeMeans,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<(), PurgeError> {
        self.check_same_drive()?;
        let estimate = PurgeOption::estimate_of(self.purge_means()?, means)?;
        progress(Ppm(0));
        match means {
            PurgeMeans::AtaSanitizeBlockErase => {
                self.sanitize(Sanitize::BlockErase, estimate, progress)?;
            }
            PurgeMeans::AtaSanitizeCryptoScramble => {
                self.sanitize(Sanitize::CryptoScramble, estimate, progress)?;
            }
            PurgeMeans::AtaSanitizeOverwrite => {
                self.sanitize(Sanitize::Overwrite, estimate, progress)?;
            }
            PurgeMeans::AtaSecurityEraseEnhanced => self.security_erase(true, estimate)?,
            PurgeMeans::AtaSecurityErase => self.security_erase(false, estimate)?,
            _ => return Err(PurgeError::NotOffered { means }),
        }
        progress(Ppm::ONE);
        Ok(())
    }

    /// Just before something final: that nobody exchanged the drive.
    pub(super) fn check_same_drive(&mut self) -> Result<(), PurgeError> {
        let seen = self.look()?.identity;
        check_same_drive(self.identity(), seen)
    }
}
