//! An ATA drive: identity, and the means to purge it.

use std::fmt::Debug;

use trimbench_core::{Nanos, TrimPromise};

use super::command::{self, BLOCK, Sanitize};
use super::identify::AtaIdentity;
use super::security::PASSWORD;
use super::{STATUS_ERROR, STATUS_FAULT};
use crate::ioctl::{Data, ScsiOutcome};
use crate::passthrough::drive_logs::{DriveLog, LogOptions};
use crate::passthrough::error::{PassthroughError, PurgeError, PurgeObstacle};
use crate::passthrough::purge::{PurgeOption, ReportedPurge};
use crate::passthrough::scsi::{
    self, AtaCommand, AtaRegisters, CHECK_CONDITION, DRIVER_SENSE, Sense,
};
use crate::passthrough::transport::Transport;
use crate::passthrough::{DriveIdentity, Protocol, refused_by_kernel};

#[derive(Debug)]
pub(in crate::passthrough) struct AtaDrive<T> {
    pub(super) line: Line<T>,
    pub(super) identity: AtaIdentity,
}

/// A transport with what is known of its translation.
#[derive(Debug)]
pub(super) struct Line<T> {
    pub(super) transport: T,
    /// The translation knows ATA PASS-THROUGH (12) only.
    twelve: bool,
}

impl<T: Transport> AtaDrive<T> {
    /// Identifies the drive, and finds out how the translation wants to be spoken to.
    pub(in crate::passthrough) fn open(transport: T) -> Result<Self, PassthroughError> {
        let mut line = Line { transport, twelve: false };
        let identity = match line.identify() {
            Err(PassthroughError::Scsi { sense: Sense::INVALID_OPCODE, .. }) => {
                line.twelve = true;
                line.identify()?
            }
            other => other?,
        };
        Ok(Self { line, identity })
    }
}

impl<T: Transport + Debug> Protocol for AtaDrive<T> {
    fn identity(&self) -> &DriveIdentity {
        &self.identity.identity
    }

    fn promise(&self) -> TrimPromise {
        self.identity.promise
    }

    fn read_logs(&mut self, _: LogOptions, _: u16) -> Vec<DriveLog> {
        self.logs()
    }

    fn identify_again(&mut self) -> Result<DriveIdentity, PassthroughError> {
        Ok(self.line.identify()?.identity)
    }

    fn purge_means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        let AtaIdentity { security, sanitizes, .. } = self.line.identify()?;
        let locked = PurgeObstacle::SecurityLocked { password: PASSWORD };
        let no_sanitize = if !sanitizes.is_empty() && self.sanitize_status()?.frozen {
            Some(PurgeObstacle::SanitizeFrozen)
        } else if security.locked {
            Some(locked.clone())
        } else {
            None
        };
        let no_erase = if security.frozen {
            Some(PurgeObstacle::SecurityFrozen)
        } else if security.count_expired {
            Some(PurgeObstacle::SecurityCountExpired)
        } else if security.locked {
            Some(locked)
        } else if security.enabled {
            Some(PurgeObstacle::PasswordSet { password: PASSWORD })
        } else {
            None
        };
        let sanitize = |means| PurgeOption {
            means,
            // Sanitizing has no estimate of its own; the security erase does the same work.
            estimate: security.erase.filter(|_| means == ReportedPurge::AtaSanitizeBlockErase),
            obstacle: no_sanitize.clone(),
        };
        let mut options: Vec<PurgeOption> = sanitizes.into_iter().map(sanitize).collect();
        let mut erase = |means, estimate| {
            options.push(PurgeOption { means, estimate, obstacle: no_erase.clone() });
        };
        if security.supported && security.enhanced {
            erase(ReportedPurge::AtaSecurityEraseEnhanced, security.enhanced_erase);
        }
        if security.supported {
            erase(ReportedPurge::AtaSecurityErase, security.erase);
        }
        Ok(options)
    }

    fn erase(&mut self, means: ReportedPurge, estimate: Option<Nanos>) -> Result<(), PurgeError> {
        let what = match means {
            ReportedPurge::AtaSanitizeBlockErase => Sanitize::BlockErase,
            ReportedPurge::AtaSanitizeCryptoScramble => Sanitize::CryptoScramble,
            ReportedPurge::AtaSanitizeOverwrite => Sanitize::Overwrite,
            ReportedPurge::AtaSecurityEraseEnhanced => return self.security_erase(true, estimate),
            ReportedPurge::AtaSecurityErase => return self.security_erase(false, estimate),
            _ => return Err(PurgeError::NotOffered { means }),
        };
        self.sanitize(what, estimate)
    }
}

impl<T: Transport> Line<T> {
    pub(super) fn identify(&mut self) -> Result<AtaIdentity, PassthroughError> {
        let mut image = [0; BLOCK];
        self.send(&command::identify(), Data::In(&mut image))?;
        let mut identity = AtaIdentity::decode(&image)?;
        if self.twelve {
            // SANITIZE DEVICE is a command of 48 bits.
            identity.sanitizes.clear();
        }
        Ok(identity)
    }

    /// Sends a command that must succeed; the registers are there if they were asked for.
    pub(super) fn send(
        &mut self,
        command: &AtaCommand,
        data: Data<'_>,
    ) -> Result<Option<AtaRegisters>, PassthroughError> {
        let AtaCommand { name, timeout, .. } = *command;
        let outcome = if self.twelve {
            // What needs 48 bits cannot be said; as the translation would answer (16).
            let unknown = PassthroughError::Scsi { command: name, sense: Sense::INVALID_OPCODE };
            self.transport.scsi(&command.twelve().ok_or(unknown)?, data, timeout)
        } else {
            self.transport.scsi(&command.sixteen(), data, timeout)
        };
        let outcome = outcome.map_err(|errno| refused_by_kernel(name, errno, "CAP_SYS_RAWIO"))?;
        let registers = judge(command, &outcome)?;
        if command.registers && registers.is_none() {
            return Err(PassthroughError::NoRegisters { command: name });
        }
        if outcome.missing_bytes > 0 {
            return Err(PassthroughError::Short { command: name, missing: outcome.missing_bytes });
        }
        Ok(registers)
    }
}

/// The registers of a command that succeeded, as far as they came.
fn judge(
    command: &AtaCommand,
    outcome: &ScsiOutcome,
) -> Result<Option<AtaRegisters>, PassthroughError> {
    let name = command.name;
    // Registers come first: they are the drive's own word.
    if let Some(registers) = scsi::registers(&outcome.sense) {
        let AtaRegisters { status, error, .. } = registers;
        if status & (STATUS_ERROR | STATUS_FAULT) != 0 {
            return Err(PassthroughError::Ata { command: name, status, error });
        }
        if outcome.host_status == 0 {
            return Ok(Some(registers));
        }
    }
    let good = outcome.status == 0 && outcome.driver_status & !DRIVER_SENSE == 0;
    if outcome.host_status != 0 || !(good || outcome.status == CHECK_CONDITION) {
        return Err(PassthroughError::Adapter {
            command: name,
            status: outcome.status,
            host_status: outcome.host_status,
            driver_status: outcome.driver_status,
        });
    }
    if good {
        return Ok(None);
    }
    match scsi::sense(&outcome.sense) {
        Some(sense) => Err(PassthroughError::Scsi { command: name, sense }),
        None => Err(PassthroughError::NoRegisters { command: name }),
    }
}
