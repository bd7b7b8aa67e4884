//! A program of the user's that runs beside the measurement: `sh -c LINE` in the directory that was
//! named, in a process group of its own.
//!
//! What it prints goes to files in memory, so that it never waits for us, and a process that it
//! leaves behind keeps nobody waiting.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use trimbench_claim::errno_of;
use trimbench_claim::mounts::mount_of;
use trimbench_core::{Errno, Nanos, ProgramEnd};

use crate::clock::pause;

/// The program that trims at a pace.
const NAME: &str = "trimpace";
/// So much of the end of what a program prints is kept.
const KEPT: u64 = 1 << 20;
/// How long a program that is to end may take for it before it is killed.
const GRACE: Nanos = Nanos::from_secs(5);
const LOOK_EVERY: Nanos = Nanos::from_millis(20);

/// The program, and what became of it.
#[derive(Debug)]
pub(super) struct ProgramSlot {
    directory: PathBuf,
    state: Mutex<ProgramState>,
}

#[derive(Debug, Default)]
struct ProgramState {
    line: Option<String>,
    /// Its process group, from its start until it is reaped.
    running: Option<Pid>,
    is_stopped: bool,
    end: Option<ProgramEnd>,
}

/// Ends the program when it is dropped.
#[derive(Debug)]
pub(super) struct ProgramStop(pub(super) Arc<ProgramSlot>);

impl Drop for ProgramStop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl ProgramSlot {
    /// For programs that run in this directory.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, state: Mutex::default() }
    }

    pub(super) fn set(&self, line: &str) {
        self.lock().line = Some(line.to_owned());
    }

    /// How it ended; once.
    pub(super) fn take_end(&self) -> Option<ProgramEnd> {
        self.lock().end.take()
    }

    /// Runs the program that was set to its end. `ECANCELED` if it was stopped, `ECHILD` if it
    /// failed.
    pub(super) fn run(&self) -> Result<(), Errno> {
        let line = self.lock().line.clone().ok_or(Errno(libc::ENOEXEC))?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line);
        self.run_to_end(command)
    }

    /// Runs `trimpace` on the filesystem of the directory: the one that lies beside this program,
    /// else the one that is installed. `ENOENT` if there is none.
    pub(super) fn trim_paced(&self, p99: Nanos) -> Result<(), Errno> {
        let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(NAME)));
        let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| NAME.into());
        let mount = mount_of(&self.directory).map_err(|_| Errno(libc::ENOENT))?;
        let mut command = Command::new(program);
        command.args(["once", "--p99", &p99.to_string()]).arg(mount.mount_point);
        self.run_to_end(command)
    }

    fn run_to_end(&self, mut command: Command) -> Result<(), Errno> {
        let memory = |name| rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC).map_err(errno_of);
        let (output, complaint) = (memory("trimbench-stdout")?, memory("trimbench-stderr")?);
        let shared = |file: &std::os::fd::OwnedFd| {
            let file = rustix::io::fcntl_dupfd_cloexec(file.as_fd(), 0).map_err(errno_of)?;
            Ok::<Stdio, Errno>(file.into())
        };
        let mut child = {
            let mut state = self.lock();
            if state.is_stopped {
                return Err(Errno(libc::ECANCELED));
            }
            command.current_dir(&self.directory).process_group(0);
            command.stdin(Stdio::null()).stdout(shared(&output)?).stderr(shared(&complaint)?);
            let child = command.spawn().map_err(errno_of)?;
            state.running = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            child
        };
        let pid = self.lock().running.ok_or(Errno(libc::ESRCH))?;
        // Not reaped yet, so that its number stays its own until nobody signals it any more.
        let flags = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let waited = || rustix::process::waitid(WaitId::Pid(pid), flags).err();
        while waited() == Some(rustix::io::Errno::INTR) {}
        let mut state = self.lock();
        let status = child.wait().map_err(errno_of)?;
        state.running = None;
        state.end = Some(ProgramEnd {
            succeeded: status.success(),
            status: words_of(status),
            output: tail_of(output),
            complaint: tail_of(complaint),
        });
        match (state.is_stopped, status.success()) {
            (true, _) => Err(Errno(libc::ECANCELED)),
            (false, false) => Err(Errno(libc::ECHILD)),
            (false, true) => Ok(()),
        }
    }

    /// Asks the program to end, and kills it if it does not. No other one is started.
    fn stop(&self) {
        let signal = |signal| {
            let mut state = self.lock();
            state.is_stopped = true;
            let Some(group) = state.running else { return false };
            // It is not reaped: the group is still its own.
            let _ = rustix::process::kill_process_group(group, signal);
            true
        };
        if !signal(Signal::TERM) {
            return;
        }
        for _ in 0..GRACE.0 / LOOK_EVERY.0 {
            if self.lock().running.is_none() {
                return;
            }
            pause(LOOK_EVERY);
        }
        signal(Signal::KILL);
    }

    fn lock(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn words_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The end of what was printed.
fn tail_of(file: std::os::fd::OwnedFd) -> String {
    let mut file = std::fs::File::from(file);
    let mut text = Vec::new();
    let length = file.seek(SeekFrom::End(0)).unwrap_or(0);
    let from = length.saturating_sub(KEPT);
    if file.seek(SeekFrom::Start(from)).is_ok() {
        // What cannot be read was not printed.
        let _ = file.take(KEPT).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
