//! The program under test as a process: what it printed, how it ended, and the record it kept.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use trimbench_core::{Caveat, exit};
use trimbench_engine::PhaseStep;
use trimbench_results::{Figure, RunRecord, Session, Step};
use xtask::process::{self, Ended, Signal};
use xtask::steps::Deadline;

/// What keeps a run from looking for other load, which is there: other tests.
pub const UNLOOKED: [&str; 2] = ["--quiet-wait", "0s"];

/// A build of `trimbench`, and until when what it runs must have ended.
#[derive(Clone, Debug)]
pub struct BuiltProgram {
    path: PathBuf,
    deadline: Option<Deadline>,
}

/// How a process ended, and what it printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The command line.
    pub command: String,
    /// The exit code; `None` if a signal ended it.
    pub status: Option<i32>,
    /// From its start to its end, s.
    pub seconds: f64,
    /// What it printed.
    pub stdout: String,
    /// What it said of itself and of errors.
    pub stderr: String,
}

/// A run of one session: how it ended, and its record.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub output: Output,
    /// Its session.
    pub session: Session,
}

impl BuiltProgram {
    /// The program at `path`, whose runs may take any time.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), deadline: None }
    }

    /// The same, and what still runs at `deadline` is ended.
    #[must_use]
    pub fn until(self, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The program with these arguments, without the environment's wishes about colour.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
        command
    }

    /// A run of a method on a target with these options (`key=value`) that keeps its record in
    /// `folder` and writes no page. A run on what is more than a model does not look for other
    /// load.
    pub fn run_command(
        &self,
        method: &str,
        (target, options): (&str, &[&str]),
        folder: &Path,
    ) -> Command {
        let mut command = self.command(&["run", method, "--no-report", "--target", target]);
        if !target.contains("sim:") {
            command.args(UNLOOKED);
        }
        for option in options {
            command.args(["--set", option]);
        }
        command.arg("--output").arg(folder);
        command
    }

    /// The same to its end, in a folder that is removed.
    ///
    /// # Errors
    /// Unless it [ended well](Run::ended_well).
    pub fn run(&self, method: &str, target: &str, options: &[&str]) -> Result<Run> {
        let run = self.run_to_any_end(method, target, options)?;
        run.ended_well()?;
        Ok(run)
    }

    /// The same, however it ended; an error where it kept no record of one session.
    pub fn run_to_any_end(&self, method: &str, target: &str, options: &[&str]) -> Result<Run> {
        let folder = tempfile::tempdir().context("make a folder for the record")?;
        let place = folder.path().join("run");
        let output = self.call(&mut self.run_command(method, (target, options), &place))?;
        Run::read(output, &place)
    }

    /// Runs a command to its end and keeps what it prints.
    pub fn call(&self, command: &mut Command) -> Result<Output> {
        call(command, |command| process::run(command, self.deadline))
    }

    /// The same; an error, with what the program said, unless it ended with exit code 0.
    pub fn call_well(&self, command: &mut Command) -> Result<Output> {
        let output = self.call(command)?;
        output.expect_status(exit::DONE)?;
        Ok(output)
    }

    /// A run to any end, and its record, of whatever sessions. The record is kept in memory, and
    /// there is no page.
    pub fn recorded(&self, run: &mut Command) -> Result<(Output, RunRecord)> {
        let folder = tempfile::tempdir_in("/dev/shm").context("make a folder in /dev/shm")?;
        let place = folder.path().join("run");
        let output = self.call(run.args(["--no-report", "--output"]).arg(&place))?;
        Ok((output, record(&place)?))
    }

    /// As [`BuiltProgram::call`], and sends the process `signal` as soon as `when` holds. An error
    /// if it ended before that.
    pub fn call_signalled(
        &self,
        command: &mut Command,
        signal: Signal,
        when: impl Fn() -> bool,
    ) -> Result<Output> {
        call(command, |command| process::run_signalled(command, self.deadline, signal, &when))
    }

    /// As [`BuiltProgram::call_well`], and the most memory that was resident of the process, KiB.
    pub fn call_weighed(&self, command: &mut Command) -> Result<(Output, u64)> {
        let mut memory = None;
        let output = call(command, |command| {
            let (ended, peak) = process::run_weighed(command, self.deadline)?;
            memory = peak;
            Ok(ended)
        })?;
        output.expect_status(exit::DONE)?;
        let memory = memory
            .with_context(|| format!("`{}` ended before a look at its memory", output.command))?;
        Ok((output, memory))
    }
}

/// Runs a command by `run`; its streams go through files, so that neither can fill up a pipe.
fn call(command: &mut Command, run: impl FnOnce(&mut Command) -> Result<Ended>) -> Result<Output> {
    let folder = tempfile::tempdir().context("make a folder for what is printed")?;
    let (out, err) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let create =
        |path: &Path| fs::File::create(path).with_context(|| format!("create {}", path.display()));
    command.stdout(create(&out)?).stderr(create(&err)?);
    let shown = process::show(command);
    let ended = run(command)?;
    let Some(status) = ended.status else { bail!("`{shown}` {}", ended.describe()) };
    let text = |path: &Path| {
        let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        anyhow::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Output {
        command: shown,
        status: status.code(),
        seconds: ended.elapsed.as_secs_f64(),
        stdout: text(&out)?,
        stderr: text(&err)?,
    })
}

impl Output {
    /// An error, with what the program said, unless it ended with this exit code.
    pub fn expect_status(&self, code: u8) -> Result<&Self> {
        let Self { command, status, .. } = self;
        let complaint = self.complaint();
        match status {
            Some(status) if *status == i32::from(code) => Ok(self),
            Some(status) => {
                bail!("`{command}` ended with exit code {status}, not {code}: {complaint}")
            }
            None => bail!("`{command}` was ended by a signal"),
        }
    }

    /// The same, unless there are results, whether they are valid and within their limits or not.
    pub fn expect_results(&self) -> Result<&Self> {
        let with_results = [exit::LIMIT_FAILED, exit::INVALID].map(i32::from);
        if self.status.is_some_and(|status| with_results.contains(&status)) {
            return Ok(self);
        }
        self.expect_status(exit::DONE)
    }

    /// The line in which the program says what is wrong, or else its last one.
    pub fn complaint(&self) -> &str {
        let mut lines = self.stderr.lines().filter(|line| !line.is_empty());
        let named = lines.clone().find(|line| line.starts_with("error"));
        named.or_else(|| lines.next_back()).unwrap_or("it said nothing")
    }
}

impl Run {
    /// A run that ended with `output` and kept the record of one session in `folder`.
    pub fn read(output: Output, folder: &Path) -> Result<Self> {
        let mut sessions = record(folder)?.sessions;
        ensure!(sessions.len() == 1, "`{}` kept {} sessions", output.command, sessions.len());
        let session = sessions.pop().context("no session")?;
        Ok(Self { output, session })
    }

    /// An error unless it ended as a run that went well. One that measured time while other tests
    /// took the processor says so, and ends as an invalid run: what it counts is right all the
    /// same.
    pub fn ended_well(&self) -> Result<()> {
        let is_paused = self.session.has_caveat(Caveat::Paused);
        let code = if is_paused { exit::INVALID } else { exit::DONE };
        self.output.expect_status(code).map(drop)
    }

    /// The value of a figure.
    pub fn value(&self, id: &str) -> Result<f64> {
        Ok(self.figure(id)?.value)
    }

    /// A figure.
    pub fn figure(&self, id: &str) -> Result<&Figure> {
        let name = &self.session.target.name;
        self.session.figure(id).with_context(|| format!("{name} has no figure `{id}`"))
    }

    /// The step of this id.
    pub fn step(&self, id: &str) -> Result<&Step> {
        let found = self.session.steps.iter().find(|step| step.id == id);
        found.with_context(|| format!("`{}` kept no step `{id}`", self.output.command))
    }

    /// The steps of this kind.
    pub fn steps<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Step> {
        self.session.steps.iter().filter(move |step| step.kind == kind)
    }

    /// Throughput of a pass, MB/s, from its bytes and its time.
    pub fn throughput(&self, pass: &str) -> Result<f64> {
        let phase: PhaseStep = self.step(pass)?.read()?;
        let written = phase.written_bytes.with_context(|| format!("`{pass}` wrote nothing"))?;
        Ok(written.0 as f64 / phase.elapsed_s / 1e6)
    }
}

/// The record in a folder, as it is or with the steps that were kept since.
pub fn record(folder: &Path) -> Result<RunRecord> {
    crate::kept_record(folder)
        .with_context(|| format!("no record can be read in {}", folder.display()))
}
