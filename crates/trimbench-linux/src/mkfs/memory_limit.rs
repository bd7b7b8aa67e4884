//! A control group for this process that limits its memory, and with it the page cache of what it
//! reads and writes. Version 1 or 2, whichever has the memory controller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{read_table, unescape};
use trimbench_claim::registry::{self, RegistryKind, RegistryToken};
use trimbench_core::{Bytes, Errno, ProvisionError, reason};

use super::{failed, root_advice};

/// The process is in a group of its own until this is dropped.
#[derive(Debug)]
pub struct MemoryLimit {
    group: PathBuf,
    token: RegistryToken,
    before: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where groups with a memory controller are made.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    root: PathBuf,
    version: Version,
    /// The group of this process, below the root.
    own: PathBuf,
}

impl MemoryLimit {
    /// Puts this process with all its threads into a new group with this limit, after removing
    /// those that killed runs left.
    pub fn set(limit: Bytes) -> Result<Self, ProvisionError> {
        let wrong = |what: &str, error: &io::Error| {
            let errno = Errno(error.raw_os_error().unwrap_or(0));
            failed(
                "make",
                format!("cannot limit the memory: {what}: {}", reason(error)),
                root_advice(errno),
            )
        };
        let read = |path: &str| read_table(Path::new(path)).map_err(|error| wrong(path, &error));
        let (mounts, own) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let Some(hierarchy) = Hierarchy::find(&mounts, &own) else {
            let reason = "this system has no control group with a memory controller".to_owned();
            let advice = "leave out `memory`, and use `cache=drop`".to_owned();
            return Err(failed("make", reason, Some(advice)));
        };
        let Hierarchy { root, version, own } = &hierarchy;
        registry::clean(RegistryKind::Memory, root);
        if *version == Version::Two {
            let control = root.join("cgroup.subtree_control");
            fs::write(&control, "+memory")
                .map_err(|error| wrong(&control.display().to_string(), &error))?;
        }
        let token = RegistryToken::new(RegistryKind::Memory).map_err(|errno| {
            let error = io::Error::from_raw_os_error(errno.0);
            wrong(&registry::folder().display().to_string(), &error)
        })?;
        let group = root.join(token.name());
        fs::create_dir(&group).map_err(|error| wrong(&group.display().to_string(), &error))?;
        let before = root.join(own.strip_prefix("/").unwrap_or(own));
        let limited = Self { group, token, before };
        let key = match version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        // Dropping removes the group again if it cannot be used.
        let write = |file: &str, text: String| {
            let path = limited.group.join(file);
            fs::write(&path, text).map_err(|error| wrong(&path.display().to_string(), &error))
        };
        write(key, limit.0.to_string())?;
        write("cgroup.procs", std::process::id().to_string())?;
        Ok(limited)
    }
}

impl Drop for MemoryLimit {
    /// Goes back to where the process came from. A failure is silent here; the next limit removes
    /// what is left.
    fn drop(&mut self) {
        let _ = fs::write(self.before.join("cgroup.procs"), std::process::id().to_string());
        if fs::remove_dir(&self.group).is_ok() {
            self.token.forget();
        }
    }
}

impl Hierarchy {
    /// The first with a memory controller, from the texts of `/proc/self/mountinfo` and
    /// `/proc/self/cgroup`.
    fn find(mountinfo: &str, cgroup: &str) -> Option<Self> {
        let mounted = |filesystem: &str, option: Option<&str>| {
            mountinfo.lines().find_map(|line| {
                let (of_mount, of_filesystem) = line.split_once(" - ")?;
                let mut fields = of_filesystem.split(' ');
                let same = fields.next() == Some(filesystem);
                let options = fields.nth(1).unwrap_or_default();
                let has = option.is_none_or(|wanted| options.split(',').any(|one| one == wanted));
                let point = of_mount.split(' ').nth(4)?;
                (same && has).then(|| PathBuf::from(unescape(point)))
            })
        };
        let own = |matches: &dyn Fn(&str) -> bool| {
            cgroup.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                matches(controllers).then(|| PathBuf::from(path))
            })
        };
        let is_memory = |controllers: &str| controllers.split(',').any(|one| one == "memory");
        if let (Some(root), Some(own)) = (mounted("cgroup", Some("memory")), own(&is_memory)) {
            return Some(Self { root, version: Version::One, own });
        }
        let (root, own) = (mounted("cgroup2", None)?, own(&str::is_empty)?);
        Some(Self { root, version: Version::Two, own })
    }
}

#[cfg(test)]
mod tests;
