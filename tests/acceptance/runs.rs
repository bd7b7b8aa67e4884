//! What claims have in common: runs of the program, where they work, and what their records say.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use trimbench_results::{Figure, RunRecord, Session, Step};

use super::{Context, Raw};
use crate::LoopDevice;

/// A temporary folder is called so, and then something that is not there yet.
const PREFIX: &str = "trimbench-evidence-";

impl Context<'_> {
    /// A run of a method on a target, with these options (`key=value`).
    pub(super) fn run(
        &self,
        method: &str,
        target: impl AsRef<OsStr>,
        options: &[&str],
    ) -> Result<Command> {
        let mut command = self.trimbench(&["run", method, "--target"])?;
        command.arg(target);
        for option in options {
            command.args(["--set", option]);
        }
        Ok(command)
    }

    /// The same with its record in the folder `output` of the raw output.
    pub(super) fn run_into(
        &self,
        output: &str,
        method: &str,
        (target, options): (&str, &[&str]),
    ) -> Result<Command> {
        let mut command = self.run(method, target, options)?;
        command.arg("--output").arg(self.folder().join(output));
        Ok(command)
    }

    /// A folder in memory. Records of runs on a real disk go there: they are rewritten after each
    /// trial, and the space that this frees would be discarded beside the next one.
    pub(super) fn memory_folder(&self) -> Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in("/dev/shm");
        let folder = folder.context("make a folder in /dev/shm")?;
        self.alias(folder.path(), "$MEMORY");
        Ok(folder)
    }

    /// A new directory on the root filesystem.
    pub(super) fn root_folder(&self) -> Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in("/var/tmp");
        let folder = folder.context("make a directory in /var/tmp")?;
        let device = |path: &Path| fs::metadata(path).map(|it| it.dev());
        let is_same = device(folder.path())? == device(Path::new("/"))?;
        ensure!(is_same, "/var/tmp is another filesystem");
        self.alias(folder.path(), "$DIRECTORY");
        Ok(folder)
    }

    /// A loop device over a new image in a folder of its own below `parent`.
    pub(super) fn loop_device(&self, parent: &Path, mebibytes: u64) -> Result<LoopDevice> {
        ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
        let device = LoopDevice::within(parent, mebibytes);
        self.alias(device.image().parent().context("an image is in a folder")?, "$LOOP");
        self.alias(Path::new(device.node()), "$LOOP_DEVICE");
        Ok(device)
    }
}

impl Raw {
    /// The only session of a record.
    pub(super) fn session(&self, file: &str) -> Result<Session> {
        let mut sessions = self.record(file)?.sessions;
        ensure!(sessions.len() == 1, "{file} holds {} sessions, not 1", sessions.len());
        sessions.pop().context("no session")
    }
}

/// A figure of a session.
pub(super) fn figure<'a>(session: &'a Session, id: &str) -> Result<&'a Figure> {
    session.figure(id).with_context(|| format!("{} has no figure `{id}`", session.target.name))
}

/// A step of a session.
pub(super) fn step<'a>(session: &'a Session, id: &str) -> Result<&'a Step> {
    let found = session.steps.iter().find(|step| step.id == id);
    found.with_context(|| format!("{} has no step `{id}`", session.plan.method))
}

/// A metric of a step.
pub(super) fn metric(step: &Step, key: &str) -> Result<f64> {
    step.metrics.get(key).copied().with_context(|| format!("`{}` has no {key}", step.id))
}

/// A parameter of a step.
pub(super) fn parameter(step: &Step, key: &str) -> Result<f64> {
    step.parameters.get(key).copied().with_context(|| format!("`{}` has no {key}", step.id))
}

/// What of a deletion's freed bytes was discarded before its window closed.
pub(super) fn discarded_share(step: &Step) -> Result<f64> {
    Ok(metric(step, "discarded_bytes_window")? / parameter(step, "size_bytes")?)
}

/// Steps that a run has kept so far; 0 while there is no record.
pub(super) fn steps_kept(record: &Path) -> usize {
    let record = fs::read(record).ok().and_then(|json| RunRecord::from_json(&json).ok());
    record.map_or(0, |it| it.sessions.iter().map(|session| session.steps.len()).sum())
}
