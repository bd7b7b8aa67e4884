//! Errors as the user sees them: what failed, why, what to do, and the exit code.

use std::fmt;

use trimbench_core::settings::SettingError;
use trimbench_core::{Errno, ProvisionError, exit, reason};
use trimbench_devices::TargetError;
use trimbench_engine::MethodError;
use trimbench_engine::runner::RunError;

use crate::output::error_line;

#[cfg(test)]
mod tests;

/// An error with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// The command line or a file is wrong.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { code: exit::USAGE, error: error.into(), hint: None }
    }

    /// The target is unsuitable.
    pub(crate) fn target(error: impl Into<anyhow::Error>) -> Self {
        Self { code: exit::TARGET, error: error.into(), hint: None }
    }

    /// The user ended it.
    pub(crate) fn interrupted() -> Self {
        let error = anyhow::anyhow!("interrupted");
        Self { code: exit::INTERRUPTED, error, hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it can go on where it stopped once there is room again.
    pub(crate) fn is_for_room(&self) -> bool {
        let cause = self.error.downcast_ref();
        matches!(cause, Some(MethodError::File { errno: Errno::ENOSPC, .. }))
    }

    /// Says what was going on.
    pub(crate) fn context(mut self, text: impl fmt::Display + Send + Sync + 'static) -> Self {
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
    pub(crate) fn message(&self) -> String {
        let text = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref().map_or_else(|| cause.to_string(), reason)
        };
        self.error.chain().map(text).collect::<Vec<_>>().join(": ")
    }

    pub(crate) fn print(&self) {
        error_line(&format!("error: {}", self.message()));
        if let Some(hint) = &self.hint {
            error_line("");
            error_line(&format!("hint: {hint}"));
        }
    }
}

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
