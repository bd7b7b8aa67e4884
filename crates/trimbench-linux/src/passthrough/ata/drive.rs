//! An ATA drive: identity, counters, TRIM.

use trimbench_core::LbaRange;

use super::command::{self, BLOCK};
use super::identify::AtaIdentity;
use super::logs::{self, Statistics};
use super::{STATUS_ERROR, STATUS_FAULT};
use crate::ioctl::{Data, ScsiOutcome};
use crate::passthrough::counters::DriveCounters;
use crate::passthrough::error::{DeallocateError, PassthroughError};
use crate::passthrough::identity::{DriveIdentity, TrimPromise};
use crate::passthrough::scsi::{
    self, AtaCommand, AtaRegisters, CHECK_CONDITION, DRIVER_SENSE, Sense,
};
use crate::passthrough::transport::Transport;
use crate::passthrough::{check_ranges, refused_by_kernel};

/// A drive, spoken to through `T`.
#[derive(Debug)]
pub(in crate::passthrough) struct AtaDrive<T> {
    pub(super) transport: T,
    /// The translation knows ATA PASS-THROUGH (12) only.
    twelve: bool,
    identity: AtaIdentity,
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
        let Line { transport, twelve } = line;
        Ok(Self { transport, twelve, identity })
    }

    pub(in crate::passthrough) fn identity(&self) -> &DriveIdentity {
        &self.identity.identity
    }

    pub(in crate::passthrough) fn promise(&self) -> &TrimPromise {
        &self.identity.promise
    }

    pub(in crate::passthrough) fn counters(&mut self) -> Result<DriveCounters, PassthroughError> {
        if !self.identity.has_logs {
            return Ok(DriveCounters::none("the drive has no general purpose logs"));
        }
        let directory = self.log("READ LOG EXT (directory)", logs::DIRECTORY, 0)?;
        if !logs::has_log(&directory, logs::STATISTICS) {
            return Ok(DriveCounters::none("the drive has no device statistics (log 04h)"));
        }
        let name = "READ LOG EXT (device statistics)";
        let list = self.log(name, logs::STATISTICS, logs::PAGES)?;
        let mut page = |number: u8| {
            let has = logs::pages(&list).contains(&number);
            has.then(|| self.log(name, logs::STATISTICS, number)).transpose()
        };
        let statistics = Statistics {
            general: page(logs::GENERAL)?,
            errors: page(logs::ERRORS)?,
            temperature: page(logs::TEMPERATURE)?,
            solid_state: page(logs::SOLID_STATE)?,
        };
        Ok(statistics.counters(self.identity.identity.logical_block))
    }

    /// One command.
    pub(in crate::passthrough) fn deallocate(
        &mut self,
        ranges: &[LbaRange],
    ) -> Result<(), DeallocateError> {
        let identity = &self.identity;
        let pieces = check_ranges(ranges, &identity.promise, identity.identity.capacity)?;
        let payload = command::trim_payload(&pieces);
        let blocks = u16::try_from(payload.len() / BLOCK).expect("the limit is word 105, 16 bits");
        self.send(&command::trim(blocks), Data::Out(&payload))?;
        Ok(())
    }

    /// IDENTIFY DEVICE as of this moment.
    pub(super) fn look(&mut self) -> Result<AtaIdentity, PassthroughError> {
        identify(&mut self.transport, self.twelve)
    }

    pub(super) fn send(
        &mut self,
        command: &AtaCommand,
        data: Data<'_>,
    ) -> Result<Option<AtaRegisters>, PassthroughError> {
        send(&mut self.transport, self.twelve, command, data)
    }

    fn log(
        &mut self,
        name: &'static str,
        log: u8,
        page: u8,
    ) -> Result<[u8; BLOCK], PassthroughError> {
        read_log(&mut self.transport, self.twelve, (name, log, page))
    }
}

/// A transport with what is known of its translation.
struct Line<T> {
    transport: T,
    twelve: bool,
}

impl<T: Transport> Line<T> {
    fn identify(&mut self) -> Result<AtaIdentity, PassthroughError> {
        identify(&mut self.transport, self.twelve)
    }

    /// Whether TRIM can be queued; `None` if the log that says it cannot be read.
    fn queues_trim(&mut self, identity: &AtaIdentity) -> Result<Option<bool>, PassthroughError> {
        if !identity.has_logs {
            return Ok(None);
        }
        let mut log = |name, log| match read_log(&mut self.transport, self.twelve, (name, log, 0)) {
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
}

fn identify(transport: &mut impl Transport, twelve: bool) -> Result<AtaIdentity, PassthroughError> {
    let mut image = [0; BLOCK];
    send(transport, twelve, &command::identify(), Data::In(&mut image))?;
    let mut identity = AtaIdentity::decode(&image)?;
    if twelve {
        identity.forget_extended_commands();
    }
    Ok(identity)
}

fn read_log(
    transport: &mut impl Transport,
    twelve: bool,
    (name, log, page): (&'static str, u8, u8),
) -> Result<[u8; BLOCK], PassthroughError> {
    let mut image = [0; BLOCK];
    send(transport, twelve, &command::read_log(name, log, page), Data::In(&mut image))?;
    Ok(image)
}

/// Sends a command that must succeed; the registers are there if they were asked for.
fn send(
    transport: &mut impl Transport,
    twelve: bool,
    command: &AtaCommand,
    data: Data<'_>,
) -> Result<Option<AtaRegisters>, PassthroughError> {
    let name = command.name;
    let outcome = if twelve {
        // What needs 48 bits cannot be said; as the translation would answer (16).
        let short = command.twelve();
        let short =
            short.ok_or(PassthroughError::Scsi { command: name, sense: Sense::INVALID_OPCODE })?;
        transport.scsi(&short, data, command.timeout)
    } else {
        transport.scsi(&command.sixteen(), data, command.timeout)
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
