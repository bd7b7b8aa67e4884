//! Helpers of several claims: runs of the program, their directories, and the contents of their
//! records.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use trimbench_core::{Caveat, exit};
use trimbench_results::{Figure, Session, Step};

use super::{Bar, Capture, Context, Finding, Raw};
use crate::{LoopDevice, kept_record};

/// A temporary folder is called so, and then something that is not there yet.
const PREFIX: &str = "trimbench-evidence-";

/// What keeps a run from looking for other load, which is there: other claims and tests.
pub(super) const UNLOOKED: [&str; 2] = ["--quiet-wait", "0s"];

impl Context<'_> {
    /// A run of a method on a target, with these options (`key=value`).
    pub(super) fn run(
        &self,
        method: &str,
        target: impl AsRef<OsStr>,
        options: &[&str],
    ) -> Result<Command> {
        let mut command = self.trimbench(&["run", method, "--target"])?;
        command.arg(target.as_ref());
        if is_real(target.as_ref()) {
            command.args(UNLOOKED);
        }
        for option in options {
            command.args(["--set", option]);
        }
        Ok(command)
    }

    /// The same to its end, captured as `name`; an error unless it ends well.
    pub(super) fn run_well(
        &self,
        name: &str,
        method: &str,
        on: (&str, &[&str]),
    ) -> Result<Capture> {
        self.capture_well(name, &mut self.run_into(name, method, on)?)
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

/// Whether a target is more than a model.
fn is_real(target: &OsStr) -> bool {
    !target.to_string_lossy().contains("sim:")
}

/// A run of one session, to be read.
#[derive(Debug)]
pub(super) struct Run {
    /// What was run.
    pub(super) capture: Capture,
    pub(super) session: Session,
    /// Where its record is.
    file: String,
}

impl Raw {
    /// The run that was captured as `name`, with its record in the folder of this name.
    pub(super) fn run(&self, name: &str) -> Result<Run> {
        let file = format!("{name}/run.json");
        let mut sessions = self.record(&file)?.sessions;
        ensure!(sessions.len() == 1, "{file} holds {} sessions, not 1", sessions.len());
        let session = sessions.pop().context("no session")?;
        Ok(Run { capture: self.capture(name)?, session, file })
    }

    /// The same of a run that [ended well](ended_well).
    pub(super) fn good_run(&self, name: &str) -> Result<Run> {
        let run = self.run(name)?;
        ended_well(&run.capture, std::slice::from_ref(&run.session))?;
        Ok(run)
    }
}

/// An error unless a run with these sessions [ended well](status_of).
pub(super) fn ended_well(capture: &Capture, sessions: &[Session]) -> Result<()> {
    capture.expect_status(status_of(sessions)).map(drop)
}

/// The exit code of a run that went well. One that measured time while other tests took the
/// processor says so, and ends as an invalid run: what it counts is right all the same.
pub(super) fn status_of(sessions: &[Session]) -> i32 {
    let is_paused = sessions.iter().any(|session| session.has_caveat(Caveat::Paused));
    if is_paused { exit::INVALID } else { exit::DONE }.into()
}

impl Run {
    /// The value of a figure.
    pub(super) fn value(&self, id: &str) -> Result<f64> {
        Ok(self.figure(id)?.value)
    }

    pub(super) fn figure(&self, id: &str) -> Result<&Figure> {
        figure(&self.session, id)
    }

    /// A metric of a step.
    pub(super) fn metric(&self, step: &str, key: &str) -> Result<f64> {
        metric(self.step(step)?, key)
    }

    pub(super) fn step(&self, id: &str) -> Result<&Step> {
        let found = self.session.steps.iter().find(|step| step.id == id);
        found.with_context(|| format!("{} has no step `{id}`", self.file))
    }

    pub(super) fn steps<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Step> {
        self.session.steps.iter().filter(move |step| step.kind == kind)
    }

    /// Throughput of a pass, MB/s, from its bytes and its time.
    pub(super) fn throughput(&self, pass: &str) -> Result<f64> {
        throughput(self.step(pass)?)
    }

    /// A figure that its record shows.
    pub(super) fn finding(&self, what: &str, figure: (f64, &'static str), bar: Bar) -> Finding {
        Finding::new(what, figure, bar, &self.capture).from_file(&self.file)
    }
}

/// A figure of a session.
pub(super) fn figure<'a>(session: &'a Session, id: &str) -> Result<&'a Figure> {
    session.figure(id).with_context(|| format!("{} has no figure `{id}`", session.target.name))
}

/// Throughput of a pass, MB/s, from its bytes and its time.
pub(super) fn throughput(pass: &Step) -> Result<f64> {
    Ok(metric(pass, "written_bytes")? / metric(pass, "elapsed_s")? / 1e6)
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

/// Steps that the run in this folder has kept so far; 0 while there is no record.
pub(super) fn steps_kept(run: &Path) -> usize {
    let record = kept_record(run);
    record.map_or(0, |it| it.sessions.iter().map(|session| session.steps.len()).sum())
}
