//! The log of sanitize status (81h). Source: \[NVME\] Base 2.0, 5.16.1.25, figure 268. What drives
//! say of themselves is in `trimbench-log-pages`.

use trimbench_core::Nanos;

use super::command::MAY_EXIT_FAILURE;
use crate::passthrough::bytes::{le16, le32};
use crate::passthrough::purge::ReportedPurge;

pub(super) const SANITIZE: u8 = 0x81;
pub(super) const BYTES: usize = 512;

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
