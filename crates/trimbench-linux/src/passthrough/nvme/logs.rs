//! Logs: SMART (02h), OCP's extended SMART (C0h) and sanitize status (81h). Sources: \[NVME\] Base
//! 2.0, 5.16.1.3 and 5.16.1.25, figures 207 and 268; \[OCP\] 4.8.5.

use trimbench_core::{Bytes, Nanos};

use super::command::MAY_EXIT_FAILURE;
use crate::passthrough::bytes::{le16, le32, le128};
use crate::passthrough::purge::ReportedPurge;

pub(super) const SMART: u8 = 0x02;
pub(super) const SANITIZE: u8 = 0x81;
pub(super) const OCP_SMART: u8 = 0xc0;
/// All three logs have this size.
pub(super) const BYTES: usize = 512;

/// What makes log C0h OCP's, in its last 16 bytes: `AFD514C97C6F4F9CA4F2BFEA2810AFC5h`.
const OCP_GUID: [u8; 16] = [
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
];

/// Bytes in a data unit of the SMART log: a thousand sectors of 512 bytes.
const DATA_UNIT: u128 = 512_000;

/// The state of the most recent sanitize operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SanitizeStatus {
    pub(super) state: SanitizeState,
    /// CDW10 of the command that started it.
    pub(super) command: u32,
    overwrite: Option<Nanos>,
    block_erase: Option<Nanos>,
    crypto_erase: Option<Nanos>,
}

/// SSTAT bits 2:0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SanitizeState {
    /// Also where it deallocated though asked not to.
    Succeeded,
    Failed,
    InProgress,
    /// None was ever started, or a value that \[NVME\] 2.0 reserves.
    Other,
}

impl SanitizeStatus {
    pub(super) fn decode(log: &[u8; BYTES]) -> Self {
        let estimate = |at| {
            let seconds = le32(log, at);
            (seconds != u32::MAX).then(|| Nanos::from_secs(u64::from(seconds)))
        };
        Self {
            state: match le16(log, 2) & 0b111 {
                1 | 4 => SanitizeState::Succeeded,
                2 => SanitizeState::InProgress,
                3 => SanitizeState::Failed,
                _ => SanitizeState::Other,
            },
            command: le32(log, 4),
            overwrite: estimate(8),
            block_erase: estimate(12),
            crypto_erase: estimate(16),
        }
    }

    /// How long a means takes, as the drive thinks. Format has no estimate of its own; sanitizing
    /// does the same work.
    pub(super) fn estimate(&self, means: ReportedPurge) -> Option<Nanos> {
        use ReportedPurge as Means;
        match means {
            Means::NvmeSanitizeOverwrite => self.overwrite,
            Means::NvmeSanitizeBlockErase | Means::NvmeFormatUserDataErase => self.block_erase,
            _ => self.crypto_erase,
        }
    }

    /// Whether the failure of the operation that this tells of can be left without another
    /// sanitize.
    pub(super) fn may_exit_failure(self) -> bool {
        self.command & MAY_EXIT_FAILURE != 0
    }
}

/// Bytes that the host wrote. Counted in data units, rounded up: differences below some hundred
/// megabytes say little. 0 stands for "not reported".
pub(super) fn host_written(smart: &[u8; BYTES]) -> Option<Bytes> {
    let bytes = le128(smart, 48).checked_mul(DATA_UNIT)?;
    plausible(bytes).filter(|bytes| bytes.0 != 0)
}

/// Bytes written to the media, if the log is OCP's.
pub(super) fn media_written(ocp: &[u8; BYTES]) -> Option<Bytes> {
    if ocp[496..] == OCP_GUID { plausible(le128(ocp, 0)) } else { None }
}

/// No drive has written 16 EiB: a log that says so is not to be trusted.
fn plausible(bytes: u128) -> Option<Bytes> {
    u64::try_from(bytes).ok().map(Bytes)
}
