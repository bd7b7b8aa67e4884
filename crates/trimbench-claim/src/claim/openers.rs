//! Which processes have a device or file open, from `/proc/PID/fd` and `/proc/PID/maps`.
//!
//! Processes of other pid namespaces than ours and below are not seen, and without privileges only
//! our own user's: then it is said what could not be read. The kernel itself (loop, swap,
//! filesystems) does not appear.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev};
use trimbench_core::Errno;

use super::denial::{SYS_PTRACE, has_capability};
use super::loops::FileId;
use crate::mounts::{Unseen, mount_of, processes, read_table};
use crate::sysfs::attribute;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) devices: Vec<(u32, u32)>,
    pub(super) files: Vec<FileId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opener {
    pub(super) process: u32,
    /// Its name, at most 15 bytes.
    pub(super) command: String,
    /// What it opened, as the kernel names it.
    pub(super) path: PathBuf,
    pub(super) writes: bool,
    pub(super) is_file: bool,
}

/// All openers but this very process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Openers {
    pub(super) list: Vec<Opener>,
    /// What could not be read first.
    pub(super) unseen: Option<Unseen>,
}

pub(super) fn openers(wanted: &Wanted) -> Openers {
    let own = std::process::id();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_privileged = has_capability(&status, SYS_PTRACE);
    let mut all = Openers { unseen: hidden(is_privileged), ..Openers::default() };
    match processes() {
        Ok(processes) => {
            for process in processes.into_iter().filter(|process| *process != own) {
                let before = all.unseen.clone();
                all.look_at(process, own, wanted);
                if is_shielded(process, all.unseen.as_ref(), is_privileged) {
                    all.unseen = before;
                }
            }
        }
        Err(error) => all.misses(Path::new("/proc"), &error),
    }
    all
}

impl Openers {
    fn misses(&mut self, path: &Path, error: &io::Error) {
        self.unseen = self.unseen.take().or_else(|| Unseen::of(path, error));
    }

    fn look_at(&mut self, process: u32, own: u32, wanted: &Wanted) {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let mut found = Vec::new();
        for link in self.descriptors(&folder) {
            let Some(is_file) = self.matches(&link, wanted) else { continue };
            let name = link.file_name().unwrap_or_default();
            let info = fs::read_to_string(folder.join("fdinfo").join(name)).unwrap_or_default();
            found.push((link, may_write(&info), is_file));
        }
        let maps = read_table(&folder.join("maps")).unwrap_or_else(|error| {
            self.misses(&folder.join("maps"), &error);
            String::new()
        });
        for (range, inode, writes) in maps.lines().filter_map(mapping) {
            let link = folder.join("map_files").join(range);
            let candidate = wanted.files.iter().any(|file| file.1 == inode);
            if candidate && self.matches(&link, wanted) == Some(true) {
                found.push((link, writes, true));
            }
        }
        // A child between its fork and its exec still has copies of our descriptors.
        if found.is_empty() || is_forking(&folder, own) {
            return;
        }
        let command = attribute(&folder.join("comm")).unwrap_or_else(|| "?".to_owned());
        self.list.extend(found.into_iter().map(|(link, writes, is_file)| Opener {
            process,
            command: command.clone(),
            path: fs::read_link(&link).unwrap_or(link),
            writes,
            is_file,
        }));
    }

    fn descriptors(&mut self, folder: &Path) -> Vec<PathBuf> {
        let path = folder.join("fd");
        let entries = fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        match entries {
            Ok(entries) => entries.iter().map(fs::DirEntry::path).collect(),
            Err(error) => {
                self.misses(&path, &error);
                Vec::new()
            }
        }
    }

    /// Whether the descriptor is one of those wanted: `Some(true)` for a regular file,
    /// `Some(false)` for a block device.
    fn matches(&mut self, link: &Path, wanted: &Wanted) -> Option<bool> {
        // Sockets, pipes and the like have no path. Nothing is asked of a file server: it may hang.
        let path = fs::read_link(link).map_err(|error| self.misses(link, &error)).ok()?;
        if !path.is_absolute() {
            return None;
        }
        let mask = StatxFlags::TYPE.union(StatxFlags::INO);
        let status = match rustix::fs::statx(CWD, link, AtFlags::STATX_DONT_SYNC, mask) {
            Ok(status) => status,
            // On a filesystem whose server is gone. What is wanted is on one that answers.
            Err(rustix::io::Errno::NOTCONN | rustix::io::Errno::STALE) => return None,
            Err(errno) => {
                self.misses(link, &errno.into());
                return None;
            }
        };
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
}

/// Why `/proc` may keep processes or files from us, by how it is mounted.
fn hidden(is_privileged: bool) -> Option<Unseen> {
    let path = Path::new("/proc");
    let options = match mount_of(path) {
        Ok(mount) => mount.options,
        Err(_) => return Some(Unseen { path: path.to_owned(), errno: Errno(libc::EACCES) }),
    };
    hides(&options, is_privileged)
        .then(|| Unseen { path: path.to_owned(), errno: Errno(libc::EACCES) })
}

/// Whether what was not seen is the init process, which a security module may keep even from those
/// who may look at every process. It starts the others, and is taken to write to no disk.
fn is_shielded(process: u32, unseen: Option<&Unseen>, is_privileged: bool) -> bool {
    let denied = |unseen: &Unseen| matches!(unseen.errno, Errno(libc::EACCES | libc::EPERM));
    process == 1 && is_privileged && unseen.is_some_and(denied)
}

/// Whether a `/proc` with these options shows less than everything to us.
fn hides(options: &str, is_privileged: bool) -> bool {
    let restricts = |option: &str| match option.split_once('=') {
        Some(("hidepid", mode)) => !is_privileged && mode != "off" && mode != "0",
        Some(("subset", _)) => true,
        _ => false,
    };
    options.split(',').any(restricts)
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
    let status = read_table(&folder.join("status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let is_child = parent.and_then(|text| text.trim().parse().ok()) == Some(own);
    let program = fs::read_link(folder.join("exe")).ok();
    is_child && program.is_some() && program == fs::read_link("/proc/self/exe").ok()
}
