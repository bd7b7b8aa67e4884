//! What an entry measures with.

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tests::LoopDevice;
use tests::program::{BuiltProgram, Output, Run};
use trimbench_core::Bytes;
use xtask::steps::Deadline;
use xtask::{Repository, process};

/// Folders of measurements are called so, and then something that is not there yet.
const PREFIX: &str = "trimbench-lab-";

/// What an entry measures with: the release build, a folder, a deadline.
#[derive(Debug)]
pub(crate) struct Lab<'a> {
    repository: &'a Repository,
    is_short: bool,
    deadline: Deadline,
    folder: TempDir,
    program: OnceCell<BuiltProgram>,
    pacer: OnceCell<PathBuf>,
}

impl<'a> Lab<'a> {
    /// For one entry, in the short form or in full, to be over at `deadline`.
    pub(crate) fn new(
        repository: &'a Repository,
        is_short: bool,
        deadline: Deadline,
    ) -> Result<Self> {
        let place = repository.target().join("lab");
        fs::create_dir_all(&place).with_context(|| format!("make {}", place.display()))?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&place);
        let folder = folder.with_context(|| format!("make a folder in {}", place.display()))?;
        Ok(Self {
            repository,
            is_short,
            deadline,
            folder,
            program: OnceCell::new(),
            pacer: OnceCell::new(),
        })
    }

    /// The checkout.
    pub(crate) fn repository(&self) -> &Repository {
        self.repository
    }

    /// Whether less than the full form is measured.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// One of two values, by the form.
    pub(crate) fn form<T>(&self, short: T, full: T) -> T {
        if self.is_short { short } else { full }
    }

    /// When the entry must be over.
    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// A folder of this entry in the target folder. It is removed in the end.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The release build of `trimbench`, brought up to date first.
    pub(crate) fn program(&self) -> Result<&BuiltProgram> {
        if let Some(program) = self.program.get() {
            return Ok(program);
        }
        let binary = self.built("trimbench")?;
        Ok(self.program.get_or_init(|| BuiltProgram::at(binary).until(self.deadline)))
    }

    /// `trimpace` with these arguments: the release build, brought up to date first.
    pub(crate) fn trimpace(&self, arguments: &[&str]) -> Result<Command> {
        let path = if let Some(path) = self.pacer.get() {
            path
        } else {
            let built = self.built("trimpace")?;
            self.pacer.get_or_init(|| built)
        };
        let mut command = Command::new(path);
        command.args(arguments).env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
        Ok(command)
    }

    /// What runs programs that may take at most so long each, the entry's time at most.
    pub(crate) fn programs(&self, each: Duration) -> Result<BuiltProgram> {
        Ok(self.program()?.clone().until(self.deadline.min(Deadline::after(each))))
    }

    /// Runs a program to its end and keeps what it prints.
    pub(crate) fn call(&self, command: &mut Command) -> Result<Output> {
        eprintln!("  {}", process::show(command));
        self.program()?.call(command)
    }

    /// The same; an error, with what the program said, unless it ended with exit code 0.
    pub(crate) fn call_well(&self, command: &mut Command) -> Result<Output> {
        let output = self.call(command)?;
        output.expect_status(trimbench_core::exit::DONE)?;
        Ok(output)
    }

    /// `trimbench` with these arguments, in the checkout.
    pub(crate) fn trimbench(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.program()?.command(arguments);
        command.current_dir(self.repository.root());
        Ok(command)
    }

    /// A run of a method on a target with these options, to its end; an error unless it ends well.
    pub(crate) fn run(&self, method: &str, target: &str, options: &[&str]) -> Result<Run> {
        let run = self.run_to_any_end(method, target, options)?;
        run.ended_well()?;
        Ok(run)
    }

    /// The same, however it ends. Its record is kept in memory: on the disk that is measured it
    /// would be rewritten after each trial, and the space that this frees would be discarded beside
    /// the next one.
    pub(crate) fn run_to_any_end(
        &self,
        method: &str,
        target: &str,
        options: &[&str],
    ) -> Result<Run> {
        let folder = self.memory_folder()?;
        let place = folder.path().join("run");
        let program = self.program()?;
        let output = self.call(&mut program.run_command(method, (target, options), &place))?;
        Run::read(output, &place)
    }

    /// A folder in memory.
    #[expect(clippy::unused_self, reason = "what an entry uses is all in one place")]
    pub(crate) fn memory_folder(&self) -> Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in("/dev/shm");
        folder.context("make a folder in /dev/shm")
    }

    /// A new directory on the root filesystem.
    #[expect(clippy::unused_self, reason = "what an entry uses is all in one place")]
    pub(crate) fn root_folder(&self) -> Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in("/var/tmp");
        let folder = folder.context("make a directory in /var/tmp")?;
        let device = |path: &Path| fs::metadata(path).map(|it| it.dev());
        let is_same = device(folder.path())? == device(Path::new("/"))?;
        ensure!(is_same, "/var/tmp is another filesystem");
        Ok(folder)
    }

    /// A loop device over a new image in a folder of its own below `parent`.
    #[expect(clippy::unused_self, reason = "what an entry uses is all in one place")]
    pub(crate) fn loop_device(&self, parent: &Path, mebibytes: u64) -> Result<LoopDevice> {
        ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
        Ok(LoopDevice::within(parent, mebibytes))
    }

    /// The release build of the program of this package, brought up to date.
    fn built(&self, package: &str) -> Result<PathBuf> {
        let words = ["build", "--release", "--quiet", "--package", package];
        process::run_well(&mut self.repository.command("cargo", &words), Some(self.deadline))?;
        let binary = self.repository.target().join("release").join(package);
        ensure!(binary.exists(), "the release build made no {}", binary.display());
        Ok(binary)
    }

    /// A path in the checkout.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.repository.root().join(relative)
    }
}

/// Memory of this process that is resident.
pub(crate) fn resident() -> Result<Bytes> {
    let status = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib = line.trim().strip_suffix(" kB").context("VmRSS is not in kB")?;
    Ok(Bytes::kib(kib.parse().context("VmRSS is no number")?))
}
