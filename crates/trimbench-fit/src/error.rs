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
        problem: RowFlaw,
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

/// What is wrong with a row of a table of figures, and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowFlaw {
    /// It has other columns than the table, or a value is not of its kind.
    #[error("{problem}")]
    Columns {
        /// As its reader says.
        problem: String,
    },
    /// There is no such method.
    #[error("no method `{name}`{meant}")]
    NoSuchMethod {
        /// As given.
        name: String,
        /// What was probably meant, as a question.
        meant: String,
    },
    /// An option without a value.
    #[error("`{text}` is no KEY=VALUE")]
    NoValue {
        /// As given.
        text: String,
    },
    /// The method has no such option.
    #[error("`{method}` has no option `{key}`")]
    NoSuchOption {
        /// Its id.
        method: &'static str,
        /// As given.
        key: String,
    },
    /// A wrong value of an option.
    #[error(transparent)]
    Option(#[from] SettingError),
    /// What lies over the drive cannot be read.
    #[error("target `{over}`: {error}")]
    Target {
        /// As given.
        over: String,
        /// What is wrong.
        error: TargetError,
    },
    /// What should lie over the drive does not.
    #[error("target `{over}` is nothing that lies over a drive, as `ext4` or `ext4,machine=s0`")]
    NotOverDrive {
        /// As given.
        over: String,
    },
    /// A metric of a step with a unit of its own.
    #[error(
        "`{figure}` is of a step, whose metrics have their units in their names: leave `unit` empty"
    )]
    UnitOfStep {
        /// As given.
        figure: String,
    },
    /// The method has no such figure with these options.
    #[error("`{method}` has no figure `{figure}`{meant}")]
    NoSuchFigure {
        /// Its id.
        method: &'static str,
        /// As given.
        figure: String,
        /// What was probably meant, as a question.
        meant: String,
    },
    /// A figure in another unit than the method's.
    #[error("`{figure}` is in `{right}`, not in `{given}`: convert the value")]
    OtherUnit {
        /// The figure.
        figure: String,
        /// The method's.
        right: &'static str,
        /// The table's.
        given: String,
    },
    /// A value whose logarithm is none.
    #[error("`{figure}` is {value}, but must be above 0")]
    NotPositive {
        /// The figure.
        figure: String,
        /// As given.
        value: f64,
    },
    /// A deviation out of its range.
    #[error("`percent` is between 0 and 100")]
    Percent,
    /// A figure of the same session is in the table already.
    #[error("`{name}` is given twice, as {before} and {after}: keep one")]
    GivenTwice {
        /// The figure, with its method.
        name: String,
        /// Its first value.
        before: f64,
        /// Its second.
        after: f64,
    },
}
