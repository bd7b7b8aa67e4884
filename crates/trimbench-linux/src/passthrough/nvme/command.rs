//! The `NVMe` commands that are sent, as bits (\[NVME\] Base 2.0, chapter 5; NVM Command Set 1.0).

use trimbench_core::Nanos;

use crate::passthrough::transport::{NvmeCommand, NvmeQueue};

/// For all namespaces, or for none in particular.
pub(super) const NSID_ALL: u32 = u32::MAX;
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
    /// 06h: the controller's limits for the NVM command set (CSI 0).
    NvmController,
    /// 10h: identifiers of all allocated namespaces of the subsystem.
    AllocatedNamespaces,
    /// 17h: the UUIDs that vendor-specific logs may be asked for by.
    UuidList,
}

/// What a Sanitize command does (SANACT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SanitizeAction {
    /// Leaves the failure mode of an operation that allowed it.
    ExitFailureMode,
    /// Block erase.
    BlockErase,
    /// One pass of zeroes.
    Overwrite,
    /// Crypto erase.
    CryptoErase,
}

impl NvmeCommand {
    /// Identify: 4096 bytes.
    pub(super) fn identify(what: Identify) -> Self {
        let (selector, nsid) = match what {
            Identify::Namespace(nsid) => (0x00, nsid),
            Identify::Controller => (0x01, 0),
            Identify::ActiveNamespaces => (0x02, 0),
            Identify::NvmController => (0x06, 0),
            Identify::AllocatedNamespaces => (0x10, 0),
            Identify::UuidList => (0x17, 0),
        };
        let cdw10 = [selector, 0, 0, 0, 0, 0];
        Self { opcode: 0x06, nsid, cdw10, timeout: SHORT, ..Self::default() }
    }

    /// Get Log Page: the first `bytes` of log `log`, at most 4096. Events of the log stay
    /// (RAE set), for they are the kernel's.
    pub(super) fn get_log(log: u8, bytes: u32, uuid_index: u8) -> Self {
        let dwords_minus_one = bytes / 4 - 1;
        let retain_event = 1 << 15;
        let first = u32::from(log) | retain_event | dwords_minus_one << 16;
        let cdw10 = [first, 0, 0, 0, u32::from(uuid_index), 0];
        Self { opcode: 0x02, nsid: NSID_ALL, cdw10, timeout: SHORT, ..Self::default() }
    }

    /// Sanitize. With `may_exit_failure` a failed operation can be left again (AUSE); blocks are
    /// deallocated at its end (NDAS clear).
    pub(super) fn sanitize(action: SanitizeAction, may_exit_failure: bool) -> Self {
        let one_pass = 1 << 4;
        let bits = match action {
            SanitizeAction::ExitFailureMode => 0b001,
            SanitizeAction::BlockErase => 0b010,
            SanitizeAction::Overwrite => 0b011 | one_pass,
            SanitizeAction::CryptoErase => 0b100,
        };
        let cdw10 = [bits | u32::from(may_exit_failure) << 3, 0, 0, 0, 0, 0];
        Self { opcode: 0x84, cdw10, timeout: SHORT, ..Self::default() }
    }

    /// Format NVM of one namespace: `format` is CDW10 without the secure erase settings.
    pub(super) fn format(nsid: u32, format: u32, secure_erase: u32, timeout: Nanos) -> Self {
        let cdw10 = [format | secure_erase << 9, 0, 0, 0, 0, 0];
        Self { opcode: 0x80, nsid, cdw10, timeout, ..Self::default() }
    }

    /// Dataset Management with the deallocate attribute, of 1 to 256 ranges.
    pub(super) fn deallocate(nsid: u32, ranges: usize) -> Self {
        assert!((1..=256).contains(&ranges), "a command carries 1 to 256 ranges");
        let deallocate = 1 << 2;
        let minus_one = trimbench_core::units::narrow(ranges as u64 - 1);
        let cdw10 = [minus_one, deallocate, 0, 0, 0, 0];
        Self { queue: NvmeQueue::Io, opcode: 0x09, nsid, cdw10, timeout: SHORT }
    }
}
