//! The ATA commands that are sent, as registers (\[ATA\] ACS-4, chapter 7).

use trimbench_core::Nanos;

use crate::passthrough::scsi::{AtaCommand, AtaProtocol};

/// Time for commands that only read or set; a drive may have to spin up or wake.
const SHORT: Nanos = Nanos::from_secs(60);
pub(super) const BLOCK: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sanitize {
    Status,
    /// SANITIZE STATUS EXT that leaves the failed state of an operation that allowed it.
    ClearFailure,
    CryptoScramble,
    BlockErase,
    /// OVERWRITE EXT: one pass of zeroes.
    Overwrite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    SetPassword,
    Unlock,
    ErasePrepare,
    EraseUnit,
    DisablePassword,
}

const TEMPLATE: AtaCommand = AtaCommand {
    name: "",
    command: 0,
    protocol: AtaProtocol::NonData,
    extended: false,
    features: 0,
    count: 0,
    lba: 0,
    registers: false,
    timeout: SHORT,
};

pub(super) fn identify() -> AtaCommand {
    AtaCommand {
        name: "IDENTIFY DEVICE",
        command: 0xec,
        protocol: AtaProtocol::PioIn,
        count: 1,
        ..TEMPLATE
    }
}

/// How READ LOG EXT transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogTransfer {
    Pio,
    Dma,
}

/// READ LOG EXT or READ LOG DMA EXT: a page of a log.
pub(super) fn read_log(transfer: LogTransfer, log: u8, page: u8) -> AtaCommand {
    let (name, command, protocol) = match transfer {
        LogTransfer::Pio => ("READ LOG EXT", 0x2f, AtaProtocol::PioIn),
        LogTransfer::Dma => ("READ LOG DMA EXT", 0x47, AtaProtocol::DmaIn),
    };
    // The address holds the log in bits 7:0 and the page in bits 15:8 and 39:32.
    let lba = u64::from(log) | u64::from(page) << 8;
    AtaCommand { name, command, protocol, extended: true, count: 1, lba, ..TEMPLATE }
}

/// SANITIZE DEVICE. Operations allow their failed state to be left (FAILURE MODE).
pub(super) fn sanitize(what: Sanitize) -> AtaCommand {
    const FAILURE_MODE: u16 = 1 << 4;
    const CLEAR_FAILURE: u16 = 1;
    const ONE_PASS: u16 = 1;
    // The address holds a key in ASCII, against accidents.
    let (name, features, count, lba) = match what {
        Sanitize::Status => ("SANITIZE STATUS EXT", 0x0000, 0, 0),
        Sanitize::ClearFailure => ("SANITIZE STATUS EXT (clear)", 0x0000, CLEAR_FAILURE, 0),
        Sanitize::CryptoScramble => ("CRYPTO SCRAMBLE EXT", 0x0011, FAILURE_MODE, 0x4372_7970),
        Sanitize::BlockErase => ("BLOCK ERASE EXT", 0x0012, FAILURE_MODE, 0x426b_4572),
        // Key in bits 47:32, pattern below.
        Sanitize::Overwrite => ("OVERWRITE EXT", 0x0014, FAILURE_MODE | ONE_PASS, 0x4f57_0000_0000),
    };
    AtaCommand {
        name,
        command: 0xb4,
        extended: true,
        features,
        count,
        lba,
        registers: true,
        ..TEMPLATE
    }
}

pub(super) fn security(what: Security, timeout: Option<Nanos>) -> AtaCommand {
    let (name, command) = match what {
        Security::SetPassword => ("SECURITY SET PASSWORD", 0xf1),
        Security::Unlock => ("SECURITY UNLOCK", 0xf2),
        Security::ErasePrepare => ("SECURITY ERASE PREPARE", 0xf3),
        Security::EraseUnit => ("SECURITY ERASE UNIT", 0xf4),
        Security::DisablePassword => ("SECURITY DISABLE PASSWORD", 0xf6),
    };
    let timeout = timeout.unwrap_or(SHORT);
    if what == Security::ErasePrepare {
        return AtaCommand { name, command, timeout, ..TEMPLATE };
    }
    AtaCommand { name, command, protocol: AtaProtocol::PioOut, count: 1, timeout, ..TEMPLATE }
}
