//! Ways to put a drive back into the state of a fresh one.

use trimbench_core::{Nanos, Ppm};

use super::error::{PurgeError, PurgeObstacle};
use super::identity::DriveIdentity;

/// A way to erase a drive as a whole. All are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PurgeMeans {
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

/// A means that the drive has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeOption {
    /// Which.
    pub means: PurgeMeans,
    /// How long the drive thinks that it takes.
    pub estimate: Option<Nanos>,
    /// Why it must not be used at present; `None` if it may.
    pub obstacle: Option<PurgeObstacle>,
}

impl PurgeMeans {
    /// Every means.
    pub const ALL: [Self; 10] = [
        Self::NvmeSanitizeBlockErase,
        Self::NvmeSanitizeCryptoErase,
        Self::NvmeSanitizeOverwrite,
        Self::NvmeFormatUserDataErase,
        Self::NvmeFormatCryptoErase,
        Self::AtaSanitizeBlockErase,
        Self::AtaSanitizeCryptoScramble,
        Self::AtaSanitizeOverwrite,
        Self::AtaSecurityEraseEnhanced,
        Self::AtaSecurityErase,
    ];

    /// What it is to a method.
    pub const fn class(self) -> trimbench_core::PurgeMeans {
        match self {
            Self::NvmeSanitizeBlockErase
            | Self::NvmeSanitizeCryptoErase
            | Self::NvmeSanitizeOverwrite
            | Self::AtaSanitizeBlockErase
            | Self::AtaSanitizeCryptoScramble
            | Self::AtaSanitizeOverwrite => trimbench_core::PurgeMeans::Sanitize,
            Self::NvmeFormatUserDataErase | Self::NvmeFormatCryptoErase => {
                trimbench_core::PurgeMeans::Format
            }
            Self::AtaSecurityEraseEnhanced | Self::AtaSecurityErase => {
                trimbench_core::PurgeMeans::SecureErase
            }
        }
    }

    /// The stable name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NvmeSanitizeBlockErase => "nvme-sanitize-block-erase",
            Self::NvmeSanitizeCryptoErase => "nvme-sanitize-crypto-erase",
            Self::NvmeSanitizeOverwrite => "nvme-sanitize-overwrite",
            Self::NvmeFormatUserDataErase => "nvme-format-user-data-erase",
            Self::NvmeFormatCryptoErase => "nvme-format-crypto-erase",
            Self::AtaSanitizeBlockErase => "ata-sanitize-block-erase",
            Self::AtaSanitizeCryptoScramble => "ata-sanitize-crypto-scramble",
            Self::AtaSanitizeOverwrite => "ata-sanitize-overwrite",
            Self::AtaSecurityEraseEnhanced => "ata-security-erase-enhanced",
            Self::AtaSecurityErase => "ata-security-erase",
        }
    }
}

impl PurgeOption {
    /// The options of a drive, from rows of all that its kind can have: whether it has it, the
    /// means, how long that takes, and what stands against it.
    pub(super) fn offered<const N: usize>(
        all: [(bool, PurgeMeans, Option<Nanos>, &Option<PurgeObstacle>); N],
    ) -> Vec<Self> {
        let had = all.into_iter().filter(|(has, ..)| *has);
        had.map(|(_, means, estimate, obstacle)| {
            let obstacle = obstacle.clone();
            Self { means, estimate, obstacle }
        })
        .collect()
    }

    /// How long this means takes, if it is one of the options and nothing stands against it.
    pub(super) fn estimate_of(
        options: Vec<Self>,
        means: PurgeMeans,
    ) -> Result<Option<Nanos>, PurgeError> {
        let option = options.into_iter().find(|option| option.means == means);
        let option = option.ok_or(PurgeError::NotOffered { means })?;
        option.obstacle.map_or(Ok(option.estimate), |obstacle| Err(obstacle.into()))
    }
}

/// Just before something final: that nobody exchanged the drive.
pub(super) fn check_same_drive(
    opened: &DriveIdentity,
    seen: DriveIdentity,
) -> Result<(), PurgeError> {
    if seen.is_same_drive(opened) {
        return Ok(());
    }
    Err(PurgeError::AnotherDrive { opened: opened.serial.clone(), now: seen.serial })
}

/// How long to wait for an operation in the background, and how often to look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Between two looks.
    pub(super) interval: Nanos,
    /// Then give up waiting.
    pub(super) limit: Nanos,
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
        }
    }
}

/// The timeout of a command that returns only when it is done: as [`Patience`], for the kernel
/// resets the drive when it expires, in the midst of its erasing.
pub(super) fn timeout_of(estimate: Option<Nanos>) -> Nanos {
    Patience::from_estimate(estimate).limit
}

/// `numerator` of 65,536 as a ratio.
pub(super) fn progress(numerator: u16) -> Ppm {
    Ppm(trimbench_core::units::narrow(u64::from(numerator) * 1_000_000 / 65_536))
}
