//! A control group that limits the processor time of a process, of version 1 or 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// In which the quota is given, in microseconds.
const PERIOD: u32 = 100_000;

/// The group. It is removed when this is dropped: the processes in it must have ended.
#[derive(Debug)]
pub struct ProcessorQuota {
    group: PathBuf,
}

impl ProcessorQuota {
    /// A group whose processes together get so many percent of one processor.
    pub fn of_percent(percent: u32) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (one, two) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let is_one = one.join("cpu.cfs_quota_us").exists() || one.join("cgroup.procs").exists();
        let root = if is_one { one } else { two };
        if !is_one {
            fs::write(root.join("cgroup.subtree_control"), "+cpu")?;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let group = root.join(format!("trimbench-test-{}-{number}", std::process::id()));
        fs::create_dir(&group)?;
        let made = Self { group };
        let quota = PERIOD * percent / 100;
        if is_one {
            fs::write(made.group.join("cpu.cfs_period_us"), PERIOD.to_string())?;
            fs::write(made.group.join("cpu.cfs_quota_us"), quota.to_string())?;
        } else {
            fs::write(made.group.join("cpu.max"), format!("{quota} {PERIOD}"))?;
        }
        Ok(made)
    }

    /// Puts a process with all its threads into the group.
    pub fn hold(&self, process: u32) -> io::Result<()> {
        fs::write(self.group.join("cgroup.procs"), process.to_string())
    }
}

impl Drop for ProcessorQuota {
    /// A failure is silent: an empty group that stays limits nobody.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}
