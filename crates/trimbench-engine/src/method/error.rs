//! Reasons why a method ends early.

use trimbench_core::settings::SettingError;
use trimbench_core::{DriveError, Errno, FileCommand, ProvisionError};
use trimbench_trace::TraceError;

use crate::method::session::KeepFailed;
use crate::runner::RunError;

/// Why a method ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// An option is wrong.
    #[error(transparent)]
    Option(#[from] SettingError),
    /// The target does not fit the method; nothing was measured.
    #[error("this target does not fit the method: {reason}")]
    Unfit {
        /// Why, and what would.
        reason: Misfit,
    },
    /// The run ended early.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The record could not be kept.
    #[error(transparent)]
    Keep(#[from] KeepFailed),
    /// The drive could not be put into a stated condition, or asked what it holds.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// A filesystem could not be made, mounted or unmounted.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// A trace cannot be read; passes that were measured before are kept.
    #[error("the trace cannot be read")]
    Trace(#[from] TraceError),
    /// A trace cannot be replayed on this target; nothing was written.
    #[error("the trace cannot be replayed here: {reason}")]
    Unreplayable {
        /// Why, and what to do.
        reason: String,
    },
    /// An operation on a file failed; the filesystem may be full by now.
    #[error("`{step}`: {operation} of file {file} failed: {errno}")]
    File {
        /// The step in which it happened.
        step: String,
        /// What was tried.
        operation: &'static str,
        /// The file's name.
        file: u32,
        /// The target's reason.
        errno: Errno,
    },
    /// A command of the user's failed, or took too long.
    #[error("`{step}`: {problem}")]
    Command {
        /// The step in which it happened.
        step: String,
        /// What it did: `the command ended with exit code 2: No such file or directory`.
        problem: String,
    },
    /// The target fails its commands.
    #[error("{count} commands failed during `{step}`, the last with {errno}; the target is broken")]
    Broken {
        /// The step in which it happened.
        step: String,
        /// How many commands.
        count: u64,
        /// The last error.
        errno: Errno,
    },
}

/// Why a target does not fit a method, and what would, in the method's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(pub String);

impl From<&str> for Misfit {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl MethodError {
    /// The failure of a command on a file.
    pub fn of_file(step: &str, command: FileCommand, errno: Errno) -> Self {
        let operation = match command {
            FileCommand::Create { .. } | FileCommand::Store { .. } => "creation",
            FileCommand::Append { .. } => "extension",
            FileCommand::Write { .. } => "writing",
            FileCommand::Read { .. } | FileCommand::Load { .. } => "reading",
            FileCommand::Unlink { .. } => "deletion",
            FileCommand::Fsync { .. } => "fsync",
            _ => "sync",
        };
        let file = command.file().map_or(0, |file| file.0);
        Self::File { step: step.to_owned(), operation, file, errno }
    }
}
