//! Ways to put a drive back into the state of a fresh one.

use trimbench_core::{Nanos, PurgeMeans};

use super::error::{PurgeError, PurgeObstacle};
use super::transport::Transport;

/// A way to erase a drive as a whole. All are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReportedPurge {
    /// `NVMe` Sanitize: erases the media.
    NvmeSanitizeBlockErase,
    /// `NVMe` Sanitize: changes the media's encryption key.
    NvmeSanitizeCryptoErase,
    /// `NVMe` Sanitize: overwrites the media once with zeroes, then deallocates.
    NvmeSanitizeOverwrite,
    /// Format NVM with user data erase.
    NvmeFormatUserDataErase,
    /// Format NVM with cryptographic erase.
    NvmeFormatCryptoErase,
    /// ATA BLOCK ERASE EXT.
    AtaSanitizeBlockErase,
    /// ATA CRYPTO SCRAMBLE EXT.
    AtaSanitizeCryptoScramble,
    /// ATA OVERWRITE EXT, one pass of zeroes. It leaves every block written, not trimmed: trim the
    /// drive after it.
    AtaSanitizeOverwrite,
    /// ATA SECURITY ERASE UNIT in enhanced mode: also blocks that were taken out of use.
    AtaSecurityEraseEnhanced,
    /// ATA SECURITY ERASE UNIT in normal mode.
    AtaSecurityErase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PurgeOption {
    pub(super) means: ReportedPurge,
    /// How long the drive thinks that it takes.
    pub(super) estimate: Option<Nanos>,
    /// Why it must not be used at present; `None` if it may.
    pub(super) obstacle: Option<PurgeObstacle>,
}

/// Every means, with what it is to a method and its stable name in records.
const MEANS: [(ReportedPurge, PurgeMeans, &str); 10] = {
    use PurgeMeans::{Format, Sanitize, SecureErase};
    use ReportedPurge as Own;
    [
        (Own::NvmeSanitizeBlockErase, Sanitize, "nvme-sanitize-block-erase"),
        (Own::NvmeSanitizeCryptoErase, Sanitize, "nvme-sanitize-crypto-erase"),
        (Own::NvmeSanitizeOverwrite, Sanitize, "nvme-sanitize-overwrite"),
        (Own::NvmeFormatUserDataErase, Format, "nvme-format-user-data-erase"),
        (Own::NvmeFormatCryptoErase, Format, "nvme-format-crypto-erase"),
        (Own::AtaSanitizeBlockErase, Sanitize, "ata-sanitize-block-erase"),
        (Own::AtaSanitizeCryptoScramble, Sanitize, "ata-sanitize-crypto-scramble"),
        (Own::AtaSanitizeOverwrite, Sanitize, "ata-sanitize-overwrite"),
        (Own::AtaSecurityEraseEnhanced, SecureErase, "ata-security-erase-enhanced"),
        (Own::AtaSecurityErase, SecureErase, "ata-security-erase"),
    ]
};

impl ReportedPurge {
    /// Every means.
    pub fn all() -> impl Iterator<Item = Self> {
        MEANS.into_iter().map(|(means, ..)| means)
    }

    /// Those whose bits are set, in the order of the table.
    pub(super) fn announced<const N: usize>(bits: u32, table: [(u32, Self); N]) -> Vec<Self> {
        table.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, means)| means).collect()
    }

    /// What it is to a method.
    pub fn class(self) -> PurgeMeans {
        MEANS[self as usize].1
    }

    /// The stable name in records.
    pub fn id(self) -> &'static str {
        MEANS[self as usize].2
    }
}

/// How long to wait for an operation in the background, and how often to look.
#[derive(Debug)]
pub(super) struct Patience {
    interval: Nanos,
    limit: Nanos,
    waited: Nanos,
}

impl Patience {
    /// Looks a hundred times over the drive's estimate, but every 1 to 30 s; waits three times the
    /// estimate and ten minutes more, or a day where there is none. Estimates are for an idle
    /// drive and some are of the order of seconds, hence the generous limit.
    pub(super) fn from_estimate(estimate: Option<Nanos>) -> Self {
        let second = Nanos::from_secs(1);
        let day = Nanos::from_secs(86_400);
        Self {
            interval: estimate.map_or(second.times(10), |estimate| {
                Nanos(estimate.0 / 100).clamp(second, second.times(30))
            }),
            limit: estimate.map_or(day, |estimate| estimate.times(3) + second.times(600)),
            waited: Nanos::ZERO,
        }
    }

    /// Waits until the next look is due; an error once the limit is reached.
    pub(super) fn pause(&mut self, transport: &mut impl Transport) -> Result<(), PurgeError> {
        if self.waited >= self.limit {
            return Err(PurgeError::SanitizeOverdue { waited: self.waited });
        }
        transport.pause(self.interval);
        self.waited += self.interval;
        Ok(())
    }
}

/// The timeout of a command that returns only when it is done: as [`Patience`], for the kernel
/// resets the drive when it expires, in the midst of its erasing.
pub(super) fn timeout_of(estimate: Option<Nanos>) -> Nanos {
    Patience::from_estimate(estimate).limit
}
