//! An ATA drive: identity, counters, TRIM.

use std::fmt::Debug;

use trimbench_core::{LbaRange, Nanos, Ppm};

use super::command::{self, BLOCK, Sanitize};
use super::identify::AtaIdentity;
use super::logs::{self, DeviceStatistics};
use super::{STATUS_ERROR, STATUS_FAULT};
use crate::ioctl::{Data, ScsiOutcome};
use crate::passthrough::counters::HealthCounters;
use crate::passthrough::error::{PassthroughError, PurgeError};
use crate::passthrough::identity::{DriveIdentity, ReportedTrimPromise};
use crate::passthrough::purge::{PurgeOption, ReportedPurge};
use crate::passthrough::scsi::{
    self, AtaCommand, AtaRegisters, CHECK_CONDITION, DRIVER_SENSE, Sense,
};
use crate::passthrough::transport::Transport;
use crate::passthrough::{Protocol, refused_by_kernel};

/// A drive, spoken to through `T`.
#[derive(Debug)]
pub(in crate::passthrough) struct AtaDrive<T> {
    pub(super) line: Line<T>,
    identity: AtaIdentity,
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
        let mut identity = match line.identify() {
            Err(PassthroughError::Scsi { sense: Sense::INVALID_OPCODE, .. }) => {
                line.twelve = true;
                line.identify()?
            }
            other => other?,
        };
        if identity.promise.supported && identity.may_queue_trim {
            identity.promise.queued = line.queues_trim(&identity)?;
        }
        Ok(Self { line, identity })
    }
}

impl<T: Transport + Debug> Protocol for AtaDrive<T> {
    fn identity(&self) -> &DriveIdentity {
        &self.identity.identity
    }

    fn promise(&self) -> &ReportedTrimPromise {
        &self.identity.promise
    }

    fn counters(&mut self) -> Result<HealthCounters, PassthroughError> {
        if !self.identity.has_logs {
            return Ok(HealthCounters::none("the drive has no general purpose logs"));
        }
        let directory = self.line.log("READ LOG EXT (directory)", logs::DIRECTORY, 0)?;
        if !logs::has_log(&directory, logs::STATISTICS) {
            return Ok(HealthCounters::none("the drive has no device statistics (log 04h)"));
        }
        let name = "READ LOG EXT (device statistics)";
        let list = self.line.log(name, logs::STATISTICS, logs::PAGES)?;
        let mut page = |number: u8| {
            let has = logs::pages(&list).contains(&number);
            has.then(|| self.line.log(name, logs::STATISTICS, number)).transpose()
        };
        let statistics = DeviceStatistics {
            general: page(logs::GENERAL)?,
            errors: page(logs::ERRORS)?,
            temperature: page(logs::TEMPERATURE)?,
            solid_state: page(logs::SOLID_STATE)?,
        };
        Ok(statistics.counters(self.identity.identity.logical_block))
    }

    fn identify_again(&mut self) -> Result<DriveIdentity, PassthroughError> {
        Ok(self.line.identify()?.identity)
    }

    fn purge_means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        self.means()
    }

    fn erase(
        &mut self,
        means: ReportedPurge,
        estimate: Option<Nanos>,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<(), PurgeError> {
        let what = match means {
            ReportedPurge::AtaSanitizeBlockErase => Sanitize::BlockErase,
            ReportedPurge::AtaSanitizeCryptoScramble => Sanitize::CryptoScramble,
            ReportedPurge::AtaSanitizeOverwrite => Sanitize::Overwrite,
            ReportedPurge::AtaSecurityEraseEnhanced => return self.security_erase(true, estimate),
            ReportedPurge::AtaSecurityErase => return self.security_erase(false, estimate),
            _ => return Err(PurgeError::NotOffered { means }),
        };
        self.sanitize(what, estimate, progress)
    }

    fn release_password(&mut self) -> Result<(), PurgeError> {
        self.check_same_drive()?;
        self.release()
    }

    fn send_ranges(&mut self, ranges: &[LbaRange]) -> Result<(), PassthroughError> {
        let payload = command::trim_payload(ranges);
        let blocks = u16::try_from(payload.len() / BLOCK).expect("the limit is word 105, 16 bits");
        self.line.send(&command::trim(blocks), Data::Out(&payload)).map(drop)
    }
}

impl<T: Transport> Line<T> {
    /// IDENTIFY DEVICE as of this moment.
    pub(super) fn identify(&mut self) -> Result<AtaIdentity, PassthroughError> {
        let mut image = [0; BLOCK];
        self.send(&command::identify(), Data::In(&mut image))?;
        let mut identity = AtaIdentity::decode(&image)?;
        if self.twelve {
            identity.forget_extended_commands();
        }
        Ok(identity)
    }

    /// Whether TRIM can be queued; `None` if the log that says it cannot be read.
    fn queues_trim(&mut self, identity: &AtaIdentity) -> Result<Option<bool>, PassthroughError> {
        if !identity.has_logs {
            return Ok(None);
        }
        let mut log = |name, log| match self.log(name, log, 0) {
            Ok(image) => Ok(Some(image)),
            Err(error) if error.is_refusal() => Ok(None),
            Err(error) => Err(error),
        };
        let Some(directory) = log("READ LOG EXT (directory)", logs::DIRECTORY)? else {
            return Ok(None);
        };
        if !logs::has_log(&directory, logs::NCQ_SEND_RECEIVE) {
            return Ok(Some(false));
        }
        let image = log("READ LOG EXT (NCQ send and receive)", logs::NCQ_SEND_RECEIVE)?;
        Ok(image.map(|image| logs::queues_trim(&image)))
    }

    fn log(
        &mut self,
        name: &'static str,
        log: u8,
        page: u8,
    ) -> Result<[u8; BLOCK], PassthroughError> {
        let mut image = [0; BLOCK];
        self.send(&command::read_log(name, log, page), Data::In(&mut image))?;
        Ok(image)
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
