//! Why nothing can be fitted.

use trimbench_core::settings::SettingError;
use trimbench_devices::TargetError;

use crate::parameter::ParameterError;

/// A fit that is not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A wrong parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A key that is fitted and set in the base.
    #[error("`{key}` is fitted, and the base sets it")]
    SetTwice {
        /// The key.
        key: String,
    },
    /// A key twice.
    #[error("`{key}` is named twice")]
    NamedTwice {
        /// The key.
        key: String,
    },
    /// The base is no emulated drive, or not one of this capacity.
    #[error(transparent)]
    Base(#[from] TargetError),
    /// A wrong option of a method.
    #[error(transparent)]
    Option(#[from] SettingError),
    /// The base has no value to begin with.
    #[error("the base has no `{key}`: set it there, as `NAME,{key}=VALUE`")]
    NotInBase {
        /// The key.
        key: String,
    },
    /// The records have nothing of the kind.
    #[error("there is no figure to fit to: {reason}")]
    NoFigures {
        /// What was left out and why, in a few words.
        reason: String,
    },
    /// Fewer figures than values to find.
    #[error(
        "{figures} figures cannot determine {parameters} values: at least {parameters} are needed"
    )]
    TooFew {
        /// Figures that the twin gives, too.
        figures: usize,
        /// Values to find.
        parameters: usize,
    },
    /// The records are of several drives.
    #[error("the records are of several drives: {}", drives.join(", "))]
    SeveralDrives {
        /// Their names, as targets.
        drives: Vec<String>,
    },
    /// A target that no session is on.
    #[error("the records have no drive `{name}`{meant}")]
    NoSuchDrive {
        /// As given.
        name: String,
        /// What was probably meant, as a question.
        meant: String,
    },
    /// A name that no figure has.
    #[error("no figure is called `{name}`{meant}")]
    NoSuchFigure {
        /// As given.
        name: String,
        /// What was probably meant, as a question.
        meant: String,
    },
    /// No point of the search gave all figures.
    #[error("the twin could not be measured at any point of the search: {reason}")]
    NoTwin {
        /// What the last one said.
        reason: String,
    },
    /// A table of figures that cannot be read.
    #[error("line {line} of the table: {problem}")]
    Table {
        /// From 1.
        line: u64,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The search ended before it came near a best point.
    #[error(
        "the search did not converge within {evaluations} runs of the twin: the figures hardly \
         depend on the values, or jump with them"
    )]
    NotConverged {
        /// Runs so far.
        evaluations: usize,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}
