//! Control groups of version 1 or 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Puts the shell into the group, and becomes the program.
const ENTER: &str = r#"echo $$ >"$0" && exec "$@""#;

/// What a group controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// The time of processors.
    Processor,
    /// Requests of block devices.
    Block,
}

impl Controller {
    /// Its names in version 1 and in version 2.
    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::Processor => ["cpu", "cpu"],
            Self::Block => ["blkio", "io"],
        }
    }
}

/// A group of its own. It is removed when this is dropped: the processes in it must have ended.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    /// 1 or 2.
    version: u8,
}

impl ControlGroup {
    /// Makes a group, without limits.
    ///
    /// # Errors
    /// Without root, or the controller.
    pub fn new(controller: Controller) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let [one, two] = controller.names();
        let root = Path::new("/sys/fs/cgroup");
        let (place, version) = if root.join(one).join("cgroup.procs").exists() {
            (root.join(one), 1)
        } else {
            fs::write(root.join("cgroup.subtree_control"), format!("+{two}"))?;
            (root.to_owned(), 2)
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("trimbench-test-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path, version })
    }

    /// 1 or 2: what its files are called depends on it.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Writes to one of its files.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.path.join(file), value)
    }

    /// Puts a process with all its threads into the group.
    ///
    /// # Errors
    /// If there is none.
    pub fn hold(&self, process: u32) -> io::Result<()> {
        self.set("cgroup.procs", &process.to_string())
    }

    /// A program that begins in the group; arguments are to be added.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", ENTER]).arg(self.path.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for ControlGroup {
    /// A failure is silent: an empty group that stays limits nobody.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}
