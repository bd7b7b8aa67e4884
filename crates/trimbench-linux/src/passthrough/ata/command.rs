//! The ATA commands that are sent, as registers (\[ATA\] ACS-4, chapter 7).

use trimbench_core::{LbaRange, Nanos};

use crate::passthrough::scsi::{AtaCommand, AtaProtocol};

/// Time for commands that only read or set; a drive may have to spin up or wake.
const SHORT: Nanos = Nanos::from_secs(60);
/// Bytes of a block of ATA data.
pub(super) const BLOCK: usize = 512;
/// Ranges in a block of TRIM payload, and blocks that one may span.
pub(super) const RANGES_PER_BLOCK: usize = 64;
pub(super) const RANGE_BLOCKS_MAX: u64 = 65_535;

/// What SANITIZE DEVICE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sanitize {
    /// SANITIZE STATUS EXT.
    Status,
    /// SANITIZE STATUS EXT that leaves the failed state of an operation that allowed it.
    ClearFailure,
    /// CRYPTO SCRAMBLE EXT.
    CryptoScramble,
    /// BLOCK ERASE EXT.
    BlockErase,
    /// OVERWRITE EXT: one pass of zeroes.
    Overwrite,
}

/// The commands of the security feature set.
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

/// IDENTIFY DEVICE: one block.
pub(super) fn identify() -> AtaCommand {
    AtaCommand {
        name: "IDENTIFY DEVICE",
        command: 0xec,
        protocol: AtaProtocol::PioIn,
        count: 1,
        ..TEMPLATE
    }
}

/// READ LOG EXT: one block.
pub(super) fn read_log(name: &'static str, log: u8, page: u8) -> AtaCommand {
    AtaCommand {
        name,
        command: 0x2f,
        protocol: AtaProtocol::PioIn,
        extended: true,
        count: 1,
        // The address in bits 7:0, the page in 15:8 (and 39:32).
        lba: u64::from(log) | u64::from(page) << 8,
        ..TEMPLATE
    }
}

/// DATA SET MANAGEMENT with the TRIM bit.
pub(super) fn trim(payload_blocks: u16) -> AtaCommand {
    AtaCommand {
        name: "DATA SET MANAGEMENT (TRIM)",
        command: 0x06,
        protocol: AtaProtocol::DmaOut,
        extended: true,
        features: 1,
        count: payload_blocks,
        ..TEMPLATE
    }
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

/// A command of the security feature set.
pub(super) fn security(what: Security, timeout: Option<Nanos>) -> AtaCommand {
    let (name, command) = match what {
        Security::SetPassword => ("SECURITY SET PASSWORD", 0xf1),
        Security::Unlock => ("SECURITY UNLOCK", 0xf2),
        Security::ErasePrepare => ("SECURITY ERASE PREPARE", 0xf3),
        Security::EraseUnit => ("SECURITY ERASE UNIT", 0xf4),
        Security::DisablePassword => ("SECURITY DISABLE PASSWORD", 0xf6),
    };
    let timeout = timeout.unwrap_or(SHORT);
    let protocol = if what == Security::ErasePrepare {
        return AtaCommand { name, command, timeout, ..TEMPLATE };
    } else {
        AtaProtocol::PioOut
    };
    AtaCommand { name, command, protocol, count: 1, timeout, ..TEMPLATE }
}

/// Ranges of at most 65,535 blocks as TRIM payload: 48 bits of address, 16 of count, padded with
/// empty ranges, which are ignored.
pub(super) fn trim_payload(ranges: &[LbaRange]) -> Vec<u8> {
    let mut payload = vec![0; ranges.len().div_ceil(RANGES_PER_BLOCK) * BLOCK];
    for (entry, range) in payload.chunks_exact_mut(8).zip(ranges) {
        let (start, length) = (range.start().0, range.length().0);
        assert!(length <= RANGE_BLOCKS_MAX && start < 1 << 48, "the range was cut to fit");
        entry.copy_from_slice(&(start | length << 48).to_le_bytes());
    }
    payload
}
