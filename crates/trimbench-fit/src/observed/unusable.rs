//! Why a session of a record is not fitted to.

use trimbench_core::Bytes;

use super::TwinScaling;

/// Why the figures of a session cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableSession {
    /// The run left it out.
    #[error("{reason}")]
    LeftOut {
        /// Why, as the record says.
        reason: String,
    },
    /// Its run was stopped.
    #[error("it did not finish: `trimbench run --resume` goes on with it")]
    Unfinished,
    /// A caveat invalidates it.
    #[error("it is marked as invalid")]
    Invalid,
    /// A twin has no figures of this method, or the method is not known.
    #[error("its figures are no speeds")]
    NoSpeeds,
    /// It was measured by another version of its method.
    #[error(
        "its figures are those of version {measured} of the method, and this is version {known}"
    )]
    OtherVersion {
        /// That of the record.
        measured: u32,
        /// That of this program.
        known: u32,
    },
    /// It was measured on files.
    #[error("a filesystem lies between: what it adds is not in the twin")]
    OnFilesystem,
    /// The method's sizes do not grow with the drive.
    #[error(
        "it works with sizes of its own, which are another share of {drive} than of a twin of \
         {twin}"
    )]
    OwnSizes {
        /// The drive's capacity.
        drive: Bytes,
        /// The twin's.
        twin: Bytes,
    },
    /// It covered a part of a larger drive.
    #[error(
        "it covered {span} of {drive}, and a twin of {twin} cannot do the same: measure it with \
         `{}`",
        TwinScaling::WHOLE.join(" ")
    )]
    PartOfDrive {
        /// The part, as its option says.
        span: String,
        /// The drive's capacity.
        drive: Bytes,
        /// The twin's.
        twin: Bytes,
    },
}
