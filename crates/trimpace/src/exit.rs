//! The exit codes of `trimpace once`: those of fstrim(8), and that of an interrupted program.

use trimbench_core::exit::INTERRUPTED;

#[cfg(test)]
mod tests;

/// Everything that was to be trimmed was, or there was nothing to trim.
pub const DONE: u8 = 0;
/// The command line is wrong, or the mount point that was named could not be trimmed.
pub const FAILED: u8 = 1;
/// Of a list: no filesystem could be trimmed, or no list could be read.
pub const ALL_FAILED: u8 = 32;
/// Of a list: some filesystems were trimmed, others could not be.
pub const SOME_FAILED: u8 = 64;

/// What became of one filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimOutcome {
    /// Trimmed, or would be (`--dry-run`).
    Done,
    /// The filesystem or the device does not support it.
    Unsupported,
    /// An error, of which the user was told.
    Failed,
}

/// How the filesystems were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimRequest {
    /// One mount point was named.
    Named {
        /// `--quiet-unsupported`: it is no failure if that one does not support it.
        quiet_unsupported: bool,
    },
    /// `--all`, `--fstab` or `--listed-in`: what does not support it is no failure.
    Listed,
}

/// The exit code for these outcomes, one for each filesystem that was chosen.
pub fn exit_code(request: TrimRequest, outcomes: &[TrimOutcome], interrupted: bool) -> u8 {
    if interrupted {
        return INTERRUPTED;
    }
    let is_failure = |outcome: &&TrimOutcome| match outcome {
        TrimOutcome::Done => false,
        TrimOutcome::Unsupported => request == TrimRequest::Named { quiet_unsupported: false },
        TrimOutcome::Failed => true,
    };
    let failures = outcomes.iter().filter(is_failure).count();
    match request {
        _ if failures == 0 => DONE,
        TrimRequest::Named { .. } => FAILED,
        TrimRequest::Listed if failures == outcomes.len() => ALL_FAILED,
        TrimRequest::Listed => SOME_FAILED,
    }
}
