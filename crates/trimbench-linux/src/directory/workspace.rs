//! The private directory of a target: created, locked, marked, and removed with everything in it;
//! also the leftovers of crashed runs.
//!
//! A workspace is a directory `.trimbench-TOKEN`, 16 random hex digits, that holds the file
//! [`MARKER`]. The marker's text repeats the token and names the directory: its filesystem, inode
//! and time of birth, which no copy, restored backup or snapshot of it shares. Its owner holds a
//! lock on the marker (flock), which the kernel releases with the process, however that ends.
//!
//! A leftover is removed only if everything agrees: directory and marker belong to us and nobody
//! else may write to them, the marker has one link, its text is what we would write there, nobody
//! holds its lock, and no mount lies between it and its parent. Of its content only regular files
//! with one link are removed, owned by the directory's owner and with names that a target creates:
//! numbers below the limit that the marker states, which the target raises before it creates more.
//! Anything else stays, and the directory with it. Nothing is followed: no symbolic link, no mount.
//! A start that was killed before it had written the marker left an empty directory, or one with an
//! empty marker that nobody locks: it is removed as an empty directory, or not at all.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, ResolveFlags, Stat};
use trimbench_claim::{errno_of, opening, random};
use trimbench_core::Errno;

use super::name::{is_directory_name, is_file_name};

#[cfg(test)]
mod tests;

/// What every workspace's name begins with.
const PREFIX: &str = ".trimbench-";
/// The file that makes a directory ours.
const MARKER: &str = "trimbench-workspace";
const MARKER_TEXT: &str = "trimbench workspace 2: removed with everything in it at the next start";
/// How often a workspace may be taken for a leftover before it has its marker.
const TRIES: u32 = 8;
const MARKER_MAX: u64 = 4_096;
/// What a line of the marker begins with that limits the numbers in names; the last one counts.
const NAMES_BELOW: &str = "names below ";
/// The limit of a new workspace.
const FIRST_LIMIT: u32 = 1_024;
/// The file that tells whether direct I/O works.
pub(super) const PROBE: &str = "probe";

/// A workspace that was let go, to be taken again.
#[derive(Debug)]
pub(super) struct LeftWorkspace {
    name: String,
    limit: u32,
}

#[derive(Debug)]
pub(crate) struct Workspace {
    parent: OwnedFd,
    name: String,
    path: PathBuf,
    directory: OwnedFd,
    /// Holds the lock.
    marker: OwnedFd,
    /// Files and subdirectories of ours have lower numbers in their names.
    limit: u32,
    removed: bool,
}

impl Workspace {
    pub(crate) fn create(parent: &Path) -> Result<Self, Errno> {
        let mut made = Self::begin(parent);
        for _ in 1..TRIES {
            // Another start took what was just begun for what a killed one left.
            if !matches!(made, Err(Errno(libc::ENOENT | libc::EAGAIN))) {
                break;
            }
            made = Self::begin(parent);
        }
        made
    }

    fn begin(parent: &Path) -> Result<Self, Errno> {
        let opened = open_directory(parent)?;
        let name = format!("{PREFIX}{:016x}", random()?);
        rustix::fs::mkdirat(&opened, &name, Mode::RWXU).map_err(errno_of)?;
        let finish = || {
            let directory = open_below(&opened, &name, OFlags::DIRECTORY)?;
            let marker = mark(&directory, &name)?;
            Ok((directory, marker))
        };
        match finish() {
            Ok((directory, marker)) => {
                let path = parent.join(&name);
                let limit = FIRST_LIMIT;
                Ok(Self { parent: opened, name, path, directory, marker, limit, removed: false })
            }
            Err(errno) => {
                // The first error is the one to report; both names were made a moment ago by us.
                if let Ok(directory) = open_below(&opened, &name, OFlags::DIRECTORY) {
                    let _ = rustix::fs::unlinkat(directory, MARKER, AtFlags::empty());
                }
                let _ = rustix::fs::unlinkat(&opened, &name, AtFlags::REMOVEDIR);
                Err(errno)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn directory(&self) -> Result<OwnedFd, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.directory, 0).map_err(errno_of)
    }

    /// Adds a line to the marker: what whoever removes the workspace after a kill must know.
    pub(crate) fn note(&self, line: &str) -> Result<(), Errno> {
        write_all(&self.marker, &format!("{line}\n"))
    }

    /// Raises the limit of numbers in names above this one, if need be, before a name with it is
    /// made. The marker says so on the disk of a killed machine some time later only; in doubt what
    /// is left stays.
    pub(super) fn expect_number(&mut self, number: u32) -> Result<(), Errno> {
        if number < self.limit {
            return Ok(());
        }
        let limit = number.checked_add(1).and_then(u32::checked_next_power_of_two);
        let limit = limit.unwrap_or(u32::MAX);
        self.note(&format!("{NAMES_BELOW}{limit}"))?;
        self.limit = limit;
        Ok(())
    }

    /// Lets go of it for an unmount: its files stay, and so does its marker, which nobody locks.
    pub(super) fn leave(mut self) -> LeftWorkspace {
        self.removed = true;
        LeftWorkspace { name: std::mem::take(&mut self.name), limit: self.limit }
    }

    /// Takes one again that was left, in the same directory.
    pub(super) fn enter(parent: &Path, left: LeftWorkspace) -> Result<Self, Errno> {
        let LeftWorkspace { name, limit } = left;
        let opened = open_directory(parent)?;
        let directory = open_below(&opened, &name, OFlags::DIRECTORY)?;
        let marker = open_below(&directory, MARKER, OFlags::RDWR)?;
        rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
        rustix::fs::seek(&marker, rustix::fs::SeekFrom::End(0)).map_err(errno_of)?;
        let path = parent.join(&name);
        Ok(Self { parent: opened, name, path, directory, marker, limit, removed: false })
    }

    /// Removes it with everything that targets make. Once removed, does nothing.
    pub(crate) fn remove(&mut self) -> Result<(), Errno> {
        if self.removed {
            return Ok(());
        }
        remove_contents(&self.directory, self.limit)?;
        rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR).map_err(errno_of)?;
        self.removed = true;
        Ok(())
    }
}

impl Drop for Workspace {
    /// Removes what is there. A failure is silent here; the next start tries again.
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

/// Removes the workspaces in `parent` that crashed runs left: those with a marker that nobody
/// locks. `first` is done to each before, once it is known to be ours and abandoned; it is given
/// the path and the marker's text. Returns what was removed. What cannot be removed stays.
pub(crate) fn clean_leftovers(
    parent: &Path,
    first: impl Fn(&Path, &str),
) -> Result<Vec<PathBuf>, Errno> {
    let opened = open_directory(parent)?;
    let mut cleaned = Vec::new();
    for entry in Dir::read_from(&opened).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let path = parent.join(name);
        let first = |marker: &str| first(&path, marker);
        if is_workspace_name(name) && remove_if_abandoned(&opened, name, first).is_ok() {
            cleaned.push(path);
        }
    }
    cleaned.sort();
    Ok(cleaned)
}

/// Removes one workspace; an error if it is not one of ours, is in use or resists.
fn remove_if_abandoned(parent: &OwnedFd, name: &str, first: impl Fn(&str)) -> Result<(), Errno> {
    let directory = open_below(parent, name, OFlags::DIRECTORY)?;
    let ours = |opened: &OwnedFd| {
        let status = rustix::fs::fstat(opened).map_err(errno_of)?;
        let others_write = Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        let own = status.st_uid == rustix::process::geteuid().as_raw();
        if own && !others_write { Ok(status) } else { Err(Errno(libc::EPERM)) }
    };
    let found = ours(&directory)?;
    let remove_directory =
        || rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(errno_of);
    let marker = match open_below(&directory, MARKER, OFlags::NONBLOCK) {
        Err(Errno(libc::ENOENT)) => return remove_directory(),
        marker => marker?,
    };
    if !is_single_file(&ours(&marker)?) {
        return Err(Errno(libc::EPERM));
    }
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
    let mut text = String::new();
    let mut file = std::fs::File::from(marker).take(MARKER_MAX);
    file.read_to_string(&mut text).map_err(|_| Errno::EIO)?;
    if text.is_empty() && is_marker_alone(&directory)? {
        unlink_if_there(&directory, MARKER)?;
        return remove_directory();
    }
    if !text.starts_with(&heading(&directory, name)?) {
        return Err(Errno(libc::EINVAL));
    }
    first(&text);
    remove_contents(&directory, limit_in(&text))?;
    // Whoever may rename within the parent could have put another empty directory in its place.
    let named = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(errno_of)?;
    if (named.st_dev, named.st_ino) != (found.st_dev, found.st_ino) {
        return Err(Errno(libc::ESTALE));
    }
    remove_directory()
}

/// Removes the files and subdirectories that targets make, the marker last: what is left half done
/// is still known.
fn remove_contents(directory: &OwnedFd, limit: u32) -> Result<(), Errno> {
    let mut subdirectories = Vec::new();
    for entry in Dir::read_from(directory).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if let (true, Ok(name)) = (may_be, entry.file_name().to_str())
            && is_directory_name(name, limit)
        {
            subdirectories.push(name.to_owned());
        }
    }
    for name in &subdirectories {
        let below = open_below(directory, name, OFlags::DIRECTORY)?;
        remove_files(&below, limit)?;
        rustix::fs::unlinkat(directory, name.as_str(), AtFlags::REMOVEDIR).map_err(errno_of)?;
    }
    remove_files(directory, limit)?;
    if !is_marker_alone(directory)? {
        return Err(Errno(libc::ENOTEMPTY));
    }
    unlink_if_there(directory, MARKER)
}

fn is_marker_alone(directory: &OwnedFd) -> Result<bool, Errno> {
    Ok(Dir::read_from(directory)
        .map_err(errno_of)?
        .filter_map(Result::ok)
        .all(|entry| matches!(entry.file_name().to_bytes(), b"." | b".." | b"trimbench-workspace")))
}

/// Removes the regular files of a directory that have names which targets make, belong to its owner
/// and have no other name: a file that is linked from elsewhere is not ours to remove.
fn remove_files(directory: &OwnedFd, limit: u32) -> Result<(), Errno> {
    let owner = rustix::fs::fstat(directory).map_err(errno_of)?.st_uid;
    let mut names = Vec::new();
    for entry in Dir::read_from(directory).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if !is_file_name(name, limit) && name != PROBE {
            continue;
        }
        let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let status = status.map_err(errno_of)?;
        if is_single_file(&status) && status.st_uid == owner {
            names.push(name.to_owned());
        }
    }
    names.iter().try_for_each(|name| unlink_if_there(directory, name))
}

fn is_single_file(status: &Stat) -> bool {
    FileType::from_raw_mode(status.st_mode) == FileType::RegularFile && status.st_nlink == 1
}

fn unlink_if_there(directory: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno_of(errno)),
    }
}

/// What the marker of a workspace of this name begins with.
fn heading(directory: &OwnedFd, name: &str) -> Result<String, Errno> {
    use rustix::fs::StatxFlags;
    let filesystem = rustix::fs::fstatvfs(directory).map_err(errno_of)?.f_fsid;
    let flags = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let status = rustix::fs::statx(directory, "", AtFlags::EMPTY_PATH, flags).map_err(errno_of)?;
    // Where the filesystem keeps no time of birth it is 0, then and now.
    let (inode, born) = (status.stx_ino, status.stx_btime);
    Ok(format!(
        "{MARKER_TEXT}\nname {name}\ndirectory {filesystem:016x} {inode} {}.{:09}\n",
        born.tv_sec, born.tv_nsec
    ))
}

/// The limit that a marker states; none in those of older versions.
fn limit_in(marker: &str) -> u32 {
    let mut stated = marker.lines().filter_map(|line| line.strip_prefix(NAMES_BELOW));
    stated.next_back().map_or(u32::MAX, |limit| limit.parse().unwrap_or(0))
}

fn mark(directory: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let mode = Mode::RUSR | Mode::WUSR;
    let marker = rustix::fs::openat(directory, MARKER, opening::MAKE, mode).map_err(errno_of)?;
    // Without its first line it is taken for a leftover only while nobody holds its lock.
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
    // Another start may have taken it for a leftover before it was locked.
    if rustix::fs::fstat(&marker).map_err(errno_of)?.st_nlink == 0 {
        return Err(Errno(libc::EAGAIN));
    }
    let heading = heading(directory, name)?;
    let text = format!("{heading}pid {}\n{NAMES_BELOW}{FIRST_LIMIT}\n", std::process::id());
    write_all(&marker, &text)?;
    Ok(marker)
}

fn write_all(file: &OwnedFd, text: &str) -> Result<(), Errno> {
    let written = rustix::io::write(file, text.as_bytes()).map_err(errno_of)?;
    if written == text.len() { Ok(()) } else { Err(Errno::ENOSPC) }
}

/// What lies directly in `directory`: no symbolic link is followed, and no mount entered.
fn open_below(directory: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve).map_err(errno_of)
}

/// The parent that the user names, which may be a symbolic link.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, opening::DIRECTORY, Mode::empty()).map_err(errno_of)
}

fn is_workspace_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == 16 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}
