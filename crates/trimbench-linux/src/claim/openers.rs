//! Which processes have a device or file open, from `/proc/PID/fd` and `/proc/PID/maps`.
//!
//! Processes of other pid namespaces than ours and below are not seen, and without privileges only
//! our own user's. The kernel itself (loop, swap, filesystems) does not appear.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev};

use super::loops::FileId;
use crate::mounts::processes;
use crate::sysfs::attribute;

#[cfg(test)]
mod tests;

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Block devices by number.
    pub(super) devices: Vec<(u32, u32)>,
    /// Regular files.
    pub(super) files: Vec<FileId>,
}

/// A process that has one of them open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opener {
    pub(super) process: u32,
    /// Its name, at most 15 bytes.
    pub(super) command: String,
    /// What it opened, as the kernel names it.
    pub(super) path: PathBuf,
    /// Whether it may write.
    pub(super) writes: bool,
    /// Whether it is a regular file.
    pub(super) is_file: bool,
}

/// All openers but this very process.
pub(super) fn openers(wanted: &Wanted) -> Vec<Opener> {
    let own = std::process::id();
    let others = processes().into_iter().filter(|process| *process != own);
    others.flat_map(|process| openings(process, own, wanted)).collect()
}

fn openings(process: u32, own: u32, wanted: &Wanted) -> Vec<Opener> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let mut found = Vec::new();
    let descriptors = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
    for entry in descriptors {
        let Some(is_file) = matches(&entry.path(), wanted) else { continue };
        let name = entry.file_name();
        let info = fs::read_to_string(folder.join("fdinfo").join(name)).unwrap_or_default();
        found.push((entry.path(), may_write(&info), is_file));
    }
    let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default();
    for (range, inode, writes) in maps.lines().filter_map(mapping) {
        let link = folder.join("map_files").join(range);
        let candidate = wanted.files.iter().any(|file| file.1 == inode);
        if candidate && matches(&link, wanted) == Some(true) {
            found.push((link, writes, true));
        }
    }
    // A child between its fork and its exec still has copies of our descriptors.
    if !found.is_empty() && is_forking(&folder, own) {
        return Vec::new();
    }
    let command = attribute(&folder.join("comm")).unwrap_or_else(|| "?".to_owned());
    let opener = |(link, writes, is_file): (PathBuf, bool, bool)| Opener {
        process,
        command: command.clone(),
        path: fs::read_link(&link).unwrap_or(link),
        writes,
        is_file,
    };
    found.into_iter().map(opener).collect()
}

/// Whether the descriptor is one of those wanted: `Some(true)` for a regular file, `Some(false)`
/// for a block device.
fn matches(link: &Path, wanted: &Wanted) -> Option<bool> {
    // Sockets, pipes and the like have no path. Nothing is asked of a file server: it may hang.
    if !fs::read_link(link).ok()?.is_absolute() {
        return None;
    }
    let mask = StatxFlags::TYPE | StatxFlags::INO;
    let status = rustix::fs::statx(CWD, link, AtFlags::STATX_DONT_SYNC, mask).ok()?;
    match FileType::from_raw_mode(status.stx_mode.into()) {
        FileType::RegularFile => {
            let file = (makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino);
            wanted.files.contains(&file).then_some(true)
        }
        FileType::BlockDevice => {
            let numbers = (status.stx_rdev_major, status.stx_rdev_minor);
            wanted.devices.contains(&numbers).then_some(false)
        }
        _ => None,
    }
}

/// From `/proc/PID/fdinfo/N`; what cannot be read counts as writing.
fn may_write(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    flags.is_none_or(|flags| flags & 0o3 != 0)
}

/// Range, inode and whether writes reach the file, of a line of `/proc/PID/maps`.
fn mapping(line: &str) -> Option<(&str, u64, bool)> {
    let mut fields = line.split_ascii_whitespace();
    let range = fields.next()?;
    let rights = fields.next()?;
    let inode = fields.nth(2)?.parse().ok().filter(|inode| *inode != 0)?;
    Some((range, inode, rights.contains('w') && rights.ends_with('s')))
}

/// Whether the process is a child of ours that still runs our program.
fn is_forking(folder: &Path, own: u32) -> bool {
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let is_child = parent.and_then(|text| text.trim().parse().ok()) == Some(own);
    let program = fs::read_link(folder.join("exe")).ok();
    is_child && program.is_some() && program == fs::read_link("/proc/self/exe").ok()
}
