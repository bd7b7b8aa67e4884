//! A control group that holds processes together, and may limit their processor time or memory; of
//! version 1 or 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// In which a quota of processor time is given, in microseconds.
const PERIOD: u32 = 100_000;

/// Puts the shell into the group, and becomes the program.
const ENTER: &str = r#"echo $$ >"$0" && exec "$@""#;

/// The group. It is removed when this is dropped: the processes in it must have ended.
#[derive(Debug)]
pub struct ControlGroup {
    group: PathBuf,
    is_version_one: bool,
}

impl ControlGroup {
    /// A group whose processes together get so many percent of one processor.
    pub fn of_processor(percent: u32) -> io::Result<Self> {
        let made = Self::new(["cpu", "cpu"])?;
        let quota = PERIOD * percent / 100;
        if made.is_version_one {
            made.set("cpu.cfs_period_us", &PERIOD.to_string())?;
            made.set("cpu.cfs_quota_us", &quota.to_string())?;
        } else {
            made.set("cpu.max", &format!("{quota} {PERIOD}"))?;
        }
        Ok(made)
    }

    /// A group whose processes together may take so many MiB of memory from now on, the page cache
    /// of their files included.
    pub fn of_memory(mebibytes: u64) -> io::Result<Self> {
        let made = Self::new(["memory", "memory"])?;
        let limit = if made.is_version_one { "memory.limit_in_bytes" } else { "memory.max" };
        made.set(limit, &(mebibytes << 20).to_string())?;
        Ok(made)
    }

    /// A group whose requests of block devices are served apart from others.
    pub fn of_requests() -> io::Result<Self> {
        Self::new(["blkio", "io"])
    }

    /// A program that begins in the group; arguments are to be added.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", ENTER]).arg(self.group.join("cgroup.procs")).arg(program);
        command
    }

    /// Puts a process with all its threads into the group.
    pub fn hold(&self, process: u32) -> io::Result<()> {
        self.set("cgroup.procs", &process.to_string())
    }

    /// Of the controller that has these names in version 1 and 2.
    fn new([one, two]: [&str; 2]) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let all = Path::new("/sys/fs/cgroup");
        let is_version_one = all.join(one).join("cgroup.procs").exists();
        let root = if is_version_one { all.join(one) } else { all.to_owned() };
        if !is_version_one {
            fs::write(root.join("cgroup.subtree_control"), format!("+{two}"))?;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let group = root.join(format!("trimbench-test-{}-{number}", std::process::id()));
        fs::create_dir(&group)?;
        Ok(Self { group, is_version_one })
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.group.join(file), value)
    }
}

impl Drop for ControlGroup {
    /// A failure is silent: an empty group that stays limits nobody.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}
