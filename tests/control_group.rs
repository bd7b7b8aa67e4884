//! A control group that limits the processor time or the memory of a process, of version 1 or 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// In which a quota of processor time is given, in microseconds.
const PERIOD: u32 = 100_000;

/// The group. It is removed when this is dropped: the processes in it must have ended.
#[derive(Debug)]
pub struct ControlGroup {
    group: PathBuf,
    is_version_one: bool,
}

impl ControlGroup {
    /// A group whose processes together get so many percent of one processor.
    pub fn of_processor(percent: u32) -> io::Result<Self> {
        let made = Self::new("cpu")?;
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
        let made = Self::new("memory")?;
        let limit = if made.is_version_one { "memory.limit_in_bytes" } else { "memory.max" };
        made.set(limit, &(mebibytes << 20).to_string())?;
        Ok(made)
    }

    /// Puts a process with all its threads into the group.
    pub fn hold(&self, process: u32) -> io::Result<()> {
        self.set("cgroup.procs", &process.to_string())
    }

    fn new(controller: &str) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let two = Path::new("/sys/fs/cgroup");
        let one = two.join(controller);
        let is_version_one = one.join("cgroup.procs").exists();
        let root = if is_version_one { &one } else { two };
        if !is_version_one {
            fs::write(root.join("cgroup.subtree_control"), format!("+{controller}"))?;
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
