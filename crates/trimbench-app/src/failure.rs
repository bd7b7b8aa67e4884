//! Errors as the user sees them: what failed, why, what to do, and the exit code. What to do is
//! said in the words of the command line.

use std::fmt;

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::SettingError;
use trimbench_core::{Errno, ProvisionError, exit, reason};
use trimbench_devices::TargetError;
use trimbench_engine::MethodError;
use trimbench_engine::runner::RunError;
use trimbench_trace::TraceError;

#[cfg(test)]
mod tests;

/// An error with its exit code.
#[derive(Debug)]
pub struct Failure {
    /// One of `trimbench_core::exit`.
    pub code: u8,
    /// What failed, and of what.
    pub error: anyhow::Error,
    /// What to do, if that is known: a sentence without a full stop.
    pub hint: Option<String>,
}

impl Failure {
    /// The command line or a file is wrong.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { code: exit::USAGE, error: error.into(), hint: None }
    }

    /// The target is unsuitable.
    pub fn target(error: impl Into<anyhow::Error>) -> Self {
        Self { code: exit::TARGET, error: error.into(), hint: None }
    }

    /// The user ended it.
    pub fn interrupted() -> Self {
        let error = anyhow::anyhow!("interrupted");
        Self { code: exit::INTERRUPTED, error, hint: None }
    }

    /// There is no such name: with the nearest that is known, and all of them.
    pub fn unknown(kind: &str, given: &str, known: &[&str]) -> Self {
        let meant = nearest(given, known.iter().copied());
        Self::usage(anyhow::anyhow!("there is no {kind} `{given}`{}", did_you_mean(meant)))
            .with_hint(format!("{kind}s: {}", known.join(", ")))
    }

    /// Says what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it can go on where it stopped once there is room again.
    pub fn is_for_room(&self) -> bool {
        let cause = self.error.downcast_ref();
        matches!(cause, Some(MethodError::File { errno: Errno::ENOSPC, .. }))
    }

    /// Says what was going on.
    #[must_use]
    pub fn context(mut self, text: impl fmt::Display + Send + Sync + 'static) -> Self {
        self.error = self.error.context(text);
        self
    }

    /// Says on which target it was; a trace that cannot be read is none of the target's.
    pub(crate) fn on(self, target: &str) -> Self {
        match self.error.downcast_ref() {
            Some(MethodError::Trace(_)) => self,
            _ => self.context(format!("`{target}`")),
        }
    }

    /// The whole chain in one line.
    pub fn message(&self) -> String {
        let text = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref().map_or_else(|| cause.to_string(), reason)
        };
        self.error.chain().map(text).collect::<Vec<_>>().join(": ")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message())
    }
}

impl std::error::Error for Failure {}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let code = if error.is_usage() { exit::USAGE } else { exit::TARGET };
        let hint = error.hint();
        Self { code, error: error.into(), hint }
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        Self::usage(error).with_hint("see `trimbench list methods --explain METHOD`")
    }
}

impl From<MethodError> for Failure {
    fn from(error: MethodError) -> Self {
        let code = match &error {
            MethodError::Option(_) | MethodError::Trace(_) => exit::USAGE,
            MethodError::Run(RunError::Interrupted) => exit::INTERRUPTED,
            _ => exit::TARGET,
        };
        let denied = matches!(
            &error,
            MethodError::Run(RunError::Failed { errno: Errno(1 | 13), .. })
                | MethodError::Broken { errno: Errno(1 | 13), .. }
        );
        if matches!(&error, MethodError::Unfit { .. }) {
            let hint = "name another target, or other options: `trimbench list methods --explain \
                        METHOD` lists them";
            return Self { code, error: error.into(), hint: Some(hint.to_owned()) };
        }
        let full = matches!(&error, MethodError::File { errno: Errno::ENOSPC, .. });
        if let MethodError::Provision(ProvisionError { advice, .. }) = &error {
            let hint = advice.clone();
            return Self { code, error: error.into(), hint };
        }
        let hint = match (denied, full) {
            (true, _) => Some("fstrim (`mode=trim`) needs root; deletions do not".to_owned()),
            (_, true) => Some("something else fills the filesystem: free some space".to_owned()),
            _ => None,
        };
        Self { code, error: error.into(), hint }
    }
}

/// A trace that cannot be read.
impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let hint = match &error {
            TraceError::Unknown { .. } => Some("name its format with `--format`"),
            TraceError::Broken { expected, .. } if expected.contains("choose one") => {
                Some("name the device with `--device`")
            }
            TraceError::Broken { expected, .. } if expected.contains("`wait`") => {
                Some("choose its meaning with `--wait`")
            }
            TraceError::Broken { .. } => Some("`--lenient` skips errors, and counts them"),
            TraceError::Pipe { .. } => Some("give it as an unpacked file"),
            _ => None,
        };
        Self { hint: hint.map(str::to_owned), ..Self::usage(error) }
    }
}
