//! The `NVMe` commands that are sent, as bits (\[NVME\] Base 2.0, chapter 5).

use trimbench_core::Nanos;

use crate::ioctl::NvmeCommand;
use crate::passthrough::purge::ReportedPurge;

/// For all namespaces, or for none in particular.
const NSID_ALL: u32 = u32::MAX;
/// Time for commands that only read; the kernel's own default for administration.
const SHORT: Nanos = Nanos::from_secs(60);

/// What Identify tells about (CNS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identify {
    /// 00h: the namespace.
    Namespace(u32),
    /// 01h: the controller.
    Controller,
    /// 02h: identifiers of active namespaces.
    ActiveNamespaces,
    /// 10h: identifiers of all allocated namespaces of the subsystem.
    AllocatedNamespaces,
    /// 17h: the UUIDs that vendor-specific logs may be asked for by.
    UuidList,
}

/// A part of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogPart {
    /// Its first byte, at a dword (LPOL).
    pub(super) offset: u32,
    /// Its bytes: a multiple of 4, at most 4096, which every controller transfers.
    pub(super) bytes: u32,
}

/// SANACT of Sanitize's CDW10.
pub(super) const SANITIZE_ACTION: u32 = 0b111;
/// SANACT: leaves the failure mode of an operation that allowed it.
pub(super) const EXIT_FAILURE_MODE: u32 = 0b001;
/// AUSE of Sanitize's CDW10: a failed operation can be left again.
pub(super) const MAY_EXIT_FAILURE: u32 = 1 << 3;

/// CDW10 of the Sanitize command of a means; `None` if it is another command's.
pub(super) fn sanitize_action(means: ReportedPurge) -> Option<u32> {
    const ONE_PASS: u32 = 1 << 4;
    match means {
        ReportedPurge::NvmeSanitizeBlockErase => Some(0b010),
        ReportedPurge::NvmeSanitizeOverwrite => Some(0b011 | ONE_PASS),
        ReportedPurge::NvmeSanitizeCryptoErase => Some(0b100),
        _ => None,
    }
}

impl NvmeCommand {
    /// Identify: 4096 bytes.
    pub(super) fn identify(what: Identify) -> Self {
        let (selector, nsid) = match what {
            Identify::Namespace(nsid) => (0x00, nsid),
            Identify::Controller => (0x01, 0),
            Identify::ActiveNamespaces => (0x02, 0),
            Identify::AllocatedNamespaces => (0x10, 0),
            Identify::UuidList => (0x17, 0),
        };
        let cdw10 = [selector, 0, 0, 0, 0, 0];
        Self { opcode: 0x06, nsid, cdw10, timeout: SHORT }
    }

    /// Get Log Page: the first `bytes` of log `log`, at most 4096. Events of the log stay
    /// (RAE set), for they are the kernel's.
    pub(super) fn get_log(log: u8, bytes: u32, uuid_index: u8) -> Self {
        Self::get_log_part(log, LogPart { offset: 0, bytes }, uuid_index)
    }

    /// Get Log Page: a part of log `log`.
    pub(super) fn get_log_part(log: u8, part: LogPart, uuid_index: u8) -> Self {
        let dwords_minus_one = part.bytes / 4 - 1;
        let retain_event = 1 << 15;
        let first = u32::from(log) | retain_event | dwords_minus_one << 16;
        let cdw10 = [first, 0, part.offset, 0, u32::from(uuid_index), 0];
        Self { opcode: 0x02, nsid: NSID_ALL, cdw10, timeout: SHORT }
    }

    /// The same command, which has the controller capture its telemetry anew (log 07h).
    pub(super) fn capturing(mut self) -> Self {
        const CREATE: u32 = 1 << 8;
        self.cdw10[0] |= CREATE;
        self
    }

    /// Sanitize with this CDW10; blocks are deallocated at its end (NDAS clear).
    pub(super) fn sanitize(cdw10: u32) -> Self {
        Self { opcode: 0x84, nsid: 0, cdw10: [cdw10, 0, 0, 0, 0, 0], timeout: SHORT }
    }

    /// Format NVM of one namespace: `format` is CDW10 without the secure erase settings.
    pub(super) fn format(nsid: u32, format: u32, secure_erase: u32, timeout: Nanos) -> Self {
        let cdw10 = [format | secure_erase << 9, 0, 0, 0, 0, 0];
        Self { opcode: 0x80, nsid, cdw10, timeout }
    }
}
