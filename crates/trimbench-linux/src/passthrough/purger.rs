//! A passthrough drive that purges a block target and reads its counters.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::str::FromStr;

use trimbench_claim::errno_of;
use trimbench_core::{DriveError, PurgeMeans, TrimPromise, Wear};

use super::purge::{PurgeOption, ReportedPurge};
use crate::block::Purger;

#[cfg(test)]
mod tests;

/// The means that are chosen by themselves, the first that the drive has and lets us use. What
/// takes seconds to minutes comes before what may take hours; overwriting is never chosen: it
/// leaves a drive full, not fresh.
const PREFERRED: [ReportedPurge; 8] = [
    ReportedPurge::NvmeFormatUserDataErase,
    ReportedPurge::AtaSecurityErase,
    ReportedPurge::AtaSecurityEraseEnhanced,
    ReportedPurge::NvmeSanitizeBlockErase,
    ReportedPurge::AtaSanitizeBlockErase,
    ReportedPurge::NvmeFormatCryptoErase,
    ReportedPurge::NvmeSanitizeCryptoErase,
    ReportedPurge::AtaSanitizeCryptoScramble,
];

/// By what means a drive is to be purged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PurgeChoice {
    /// The drive's own means, else TRIM.
    #[default]
    Auto,
    /// TRIM, whatever the drive has.
    Trim,
    /// This one and no other.
    Means(ReportedPurge),
}

/// A name that is no [`PurgeChoice`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no means of purging; give `auto`, `trim` or one of {}", known().join(", "))]
pub struct UnknownPurge {
    given: String,
}

fn known() -> Vec<&'static str> {
    ReportedPurge::all().map(ReportedPurge::id).collect()
}

impl FromStr for PurgeChoice {
    type Err = UnknownPurge;

    fn from_str(text: &str) -> Result<Self, UnknownPurge> {
        match text {
            "auto" => Ok(Self::Auto),
            "trim" => Ok(Self::Trim),
            id => {
                let means = ReportedPurge::all().find(|means| means.id() == id);
                means.map(Self::Means).ok_or_else(|| UnknownPurge { given: id.to_owned() })
            }
        }
    }
}

impl fmt::Display for PurgeChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Auto => "auto",
            Self::Trim => "trim",
            Self::Means(means) => means.id(),
        })
    }
}

/// A drive's own purge and counters, for a [`crate::BlockTarget`].
#[derive(Debug)]
pub struct DrivePurger {
    file: OwnedFd,
    /// `None`: TRIM.
    means: Option<ReportedPurge>,
    promise: TrimPromise,
}

impl DrivePurger {
    /// Asks the drive behind an open device what it has. Nothing is purged yet.
    ///
    /// # Errors
    /// The drive cannot be spoken to, or the chosen means is missing or stood against.
    pub fn new(file: BorrowedFd<'_>, choice: PurgeChoice) -> Result<Self, NoPurge> {
        let mut drive = super::open(file).map_err(|error| refused(&error))?;
        let means = match choice {
            PurgeChoice::Trim => None,
            PurgeChoice::Auto => {
                // A drive that does not answer this has no means; it is still asked for counters.
                let options = drive.purge_means().unwrap_or_default();
                PREFERRED.into_iter().find(|means| usable(&options, *means).is_ok())
            }
            PurgeChoice::Means(means) => {
                let options = drive.purge_means().map_err(|error| refused(&error))?;
                usable(&options, means)?;
                Some(means)
            }
        };
        let promise = drive.promise();
        let file = file.try_clone_to_owned().map_err(|error| refused(&error))?;
        Ok(Self { file, means, promise })
    }
}

/// Why a drive is not purged by its own means, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NoPurge {
    reason: String,
}

fn refused(reason: &dyn fmt::Display) -> NoPurge {
    NoPurge { reason: reason.to_string() }
}

fn usable(options: &[PurgeOption], means: ReportedPurge) -> Result<(), NoPurge> {
    let Some(option) = options.iter().find(|option| option.means == means) else {
        let has: Vec<&str> = options.iter().map(|option| option.means.id()).collect();
        let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
        return Err(refused(&format!("the drive has no `{}`; it has: {has}", means.id())));
    };
    option.obstacle.as_ref().map_or(Ok(()), |obstacle| Err(refused(obstacle)))
}

impl Purger for DrivePurger {
    fn means(&self) -> PurgeMeans {
        self.means.map_or(PurgeMeans::Trim, ReportedPurge::class)
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        const OPERATION: &str = "purge";
        let refused = |reason: String| DriveError::Refused { operation: OPERATION, reason };
        let means =
            self.means.ok_or_else(|| refused("the drive is to be purged by TRIM".into()))?;
        let mut drive =
            super::open(self.file.as_fd()).map_err(|error| refused(error.to_string()))?;
        drive.purge(means).map_err(|error| refused(error.to_string()))?;
        // The kernel may still show what the drive held before.
        rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)
            .map_err(|errno| DriveError::Failed { operation: OPERATION, errno: errno_of(errno) })
    }

    fn wear(&mut self) -> Option<Wear> {
        super::open(self.file.as_fd()).ok()?.wear()
    }

    fn promise(&self) -> TrimPromise {
        self.promise
    }
}
