//! Background programs of an attack: waited for at a chosen point, stopped, killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// How often something is looked for, and the pause between: together longer than anything that is
/// waited for takes on a busy machine.
const LOOKS: u32 = 15_000;
const PAUSE: Duration = Duration::from_millis(2);

/// A program that is killed and reaped when dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
}

impl Running {
    /// Starts it; what it prints is not wanted.
    pub(super) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().expect("the program was built") }
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is a child")
    }

    /// Stops it where it is.
    pub(super) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Ends it without its knowing.
    pub(super) fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.child);
        rustix::process::kill_process(process, signal).expect("it is a child");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for something; panics if it does not come.
#[expect(clippy::disallowed_methods, reason = "it waits for a process")]
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("there was no {what}");
}

/// The program's own directories in `parent`, marked already.
pub(super) fn workspaces(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(".trimbench-")
            && std::fs::metadata(path.join("trimbench-workspace")).is_ok_and(|it| it.len() > 0)
    };
    names.filter(is_one).collect()
}
