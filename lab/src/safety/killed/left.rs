//! Resources that a run holds when it is killed, and which of them remain after the next start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Pid;

use crate::safety::interrupted::record::names;

#[cfg(test)]
mod tests;

/// Where the program makes directories of its own, in addition to the given ones.
const OURS: [&str; 2] = ["/run/", "/tmp/"];
/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// What a process holds that the kernel does not take back with it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Directories and files of its own in [`OURS`] and in the folders that it works in.
    paths: Vec<PathBuf>,
    /// Tracing instances, by name.
    instances: Vec<String>,
    /// Control groups, by name.
    groups: Vec<String>,
}

impl Held {
    /// What this process holds; it must not run meanwhile.
    pub(super) fn by(process: Pid) -> Self {
        let mut held = Self::default();
        let process = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
        for entry in fs::read_dir(process.join("fd")).into_iter().flatten().filter_map(Result::ok) {
            if let Ok(path) = fs::read_link(entry.path()) {
                held.note(&path);
            }
        }
        let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
        held.groups.extend(groups.lines().filter_map(|line| named(line.rsplit('/').next()?)));
        held.groups.sort();
        held.groups.dedup();
        held
    }

    fn note(&mut self, path: &Path) {
        let text = path.to_string_lossy();
        if text.ends_with(" (deleted)") {
            return;
        }
        if let Some((_, name)) = text.split_once("instances/") {
            let name = name.split('/').next().and_then(named);
            self.instances.extend(name.filter(|name| !self.instances.contains(name)));
            return;
        }
        let own = |part: &Path| {
            part.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".trimbench-"))
        };
        let workspace = path.ancestors().find(|part| own(part));
        let is_ours =
            OURS.iter().any(|place| text.starts_with(place)) && text.contains("trimbench");
        let kept = workspace.or_else(|| (is_ours && path.is_file()).then_some(path));
        self.paths.extend(kept.map(Path::to_owned).filter(|path| !self.paths.contains(path)));
    }

    /// How many things these are.
    pub(super) fn count(&self) -> usize {
        self.paths.len() + self.instances.len() + self.groups.len()
    }

    /// Which of them are still there, and which loop devices and mounts are over files in `folder`.
    pub(super) fn left(&self, folder: &Path) -> Vec<String> {
        let mut left = over(folder);
        let there = self.paths.iter().filter(|path| fs::symlink_metadata(path).is_ok());
        left.extend(there.map(|path| format!("workspace {}", path.display())));
        let instances = if self.instances.is_empty() { Vec::new() } else { instances(folder) };
        let there = self.instances.iter().filter(|name| instances.contains(name));
        left.extend(there.map(|_| "tracing instance".to_owned()));
        let there = self.groups.iter().filter(|name| is_group(name));
        left.extend(there.map(|_| "control group".to_owned()));
        left
    }
}

/// The name of something of ours.
fn named(name: &str) -> Option<String> {
    name.starts_with("trimbench-").then(|| name.to_owned())
}

/// Loop devices and mounts over files in `folder`.
fn over(folder: &Path) -> Vec<String> {
    let mut left = Vec::new();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounted: Vec<(&str, &str)> = mounts
        .lines()
        .filter_map(|line| {
            let (point, source) = line.split_once(" - ")?;
            Some((point.split(' ').nth(4)?, source.split(' ').nth(1)?))
        })
        .collect();
    for entry in fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok) {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file"));
        if !backing.is_ok_and(|path| Path::new(&path).starts_with(folder)) {
            continue;
        }
        let node = Path::new("/dev").join(entry.file_name());
        let count = mounted.iter().filter(|(_, source)| Path::new(source) == node).count();
        left.extend(std::iter::repeat_n("mount of a loop device".to_owned(), count));
        left.push("loop device".to_owned());
    }
    let within = mounted.iter().filter(|(point, _)| Path::new(point).starts_with(folder)).count();
    left.extend(std::iter::repeat_n("mount in the folder".to_owned(), within));
    left
}

/// Names of all tracing instances, by a mount in `folder`.
fn instances(folder: &Path) -> Vec<String> {
    let point = folder.join("tracefs");
    let mount = || {
        fs::create_dir(&point).ok()?;
        let mounted = Command::new("mount").args(["-t", "tracefs", "none"]).arg(&point).status();
        mounted.ok()?.success().then(|| names(&point.join("instances")))
    };
    let names = mount();
    let _ = Command::new("umount").arg(&point).output();
    let _ = fs::remove_dir(&point);
    names.unwrap_or_default()
}

/// Whether a control group is there, in either version's hierarchies.
fn is_group(name: &str) -> bool {
    let root = Path::new(GROUPS);
    let below = fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
    root.join(name).is_dir() || below.map(|entry| entry.path().join(name)).any(|it| it.is_dir())
}
