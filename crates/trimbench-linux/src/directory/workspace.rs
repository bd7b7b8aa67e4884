//! The directory of its own that a target works in: made, locked, marked, and removed with
//! everything in it; and what crashed runs have left of theirs.
//!
//! A workspace is a directory `.trimbench-` + 16 hex digits that holds the file [`MARKER`], whose
//! first line is [`MARKER_TEXT`]. Its owner holds a lock on the marker (flock), which the kernel
//! releases with the process, however that ends. Removal takes only names that a target makes; what
//! else may be there stays, and with it the directory. A directory without the marker is never
//! touched.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use trimbench_core::Errno;

use crate::mounts::errno_of;

use super::name::{is_directory_name, is_file_name};

#[cfg(test)]
mod tests;

/// What every workspace's name begins with.
const PREFIX: &str = ".trimbench-";
/// The file that makes a directory ours.
const MARKER: &str = "trimbench-workspace";
/// Its first line.
const MARKER_TEXT: &str = "trimbench workspace 1: removed with everything in it at the next start";
/// The file that tells whether direct I/O works.
pub(super) const PROBE: &str = "probe";

/// A directory of our own.
#[derive(Debug)]
pub(crate) struct Workspace {
    parent: OwnedFd,
    name: String,
    /// For messages.
    path: PathBuf,
    directory: OwnedFd,
    /// Holds the lock.
    _marker: OwnedFd,
    removed: bool,
}

impl Workspace {
    /// Makes a workspace in `parent`.
    pub(crate) fn create(parent: &Path) -> Result<Self, Errno> {
        let opened = open_directory(rustix::fs::CWD, parent)?;
        let name = format!("{PREFIX}{:016x}", random()?);
        rustix::fs::mkdirat(&opened, &name, Mode::RWXU).map_err(errno_of)?;
        let finish = || {
            let directory = open_directory(&opened, Path::new(&name))?;
            let marker = mark(&directory)?;
            Ok((directory, marker))
        };
        match finish() {
            Ok((directory, marker)) => {
                let path = parent.join(&name);
                Ok(Self { parent: opened, name, path, directory, _marker: marker, removed: false })
            }
            Err(errno) => {
                // The first error is the one to report; both names were made a moment ago by us.
                if let Ok(directory) = open_directory(&opened, Path::new(&name)) {
                    let _ = rustix::fs::unlinkat(directory, MARKER, AtFlags::empty());
                }
                let _ = rustix::fs::unlinkat(&opened, &name, AtFlags::REMOVEDIR);
                Err(errno)
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, opened once more.
    pub(super) fn directory(&self) -> Result<OwnedFd, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.directory, 0).map_err(errno_of)
    }

    /// Removes it with everything that targets make. Once removed, does nothing.
    pub(crate) fn remove(&mut self) -> Result<(), Errno> {
        if self.removed {
            return Ok(());
        }
        remove_contents(&self.directory)?;
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
/// locks. `first` is done to each before, once it is known to be abandoned. Returns what was
/// removed. What cannot be removed (another user's) stays.
pub(crate) fn clean_leftovers(parent: &Path, first: impl Fn(&Path)) -> Result<Vec<PathBuf>, Errno> {
    let opened = open_directory(rustix::fs::CWD, parent)?;
    let mut cleaned = Vec::new();
    for entry in Dir::read_from(&opened).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let path = parent.join(name);
        if is_workspace_name(name) && remove_if_abandoned(&opened, name, || first(&path)).is_ok() {
            cleaned.push(path);
        }
    }
    cleaned.sort();
    Ok(cleaned)
}

/// Removes one workspace; an error if it is not one, is in use or resists.
fn remove_if_abandoned(parent: &OwnedFd, name: &str, first: impl Fn()) -> Result<(), Errno> {
    let directory = open_directory(parent, Path::new(name))?;
    let owner = rustix::fs::fstat(&directory).map_err(errno_of)?.st_uid;
    if owner != rustix::process::geteuid().as_raw() {
        return Err(Errno(libc::EPERM));
    }
    let marker = open_marker(&directory)?;
    let mut text = String::new();
    let mut file = std::fs::File::from(marker);
    file.read_to_string(&mut text).map_err(|_| Errno::EIO)?;
    if text.lines().next() != Some(MARKER_TEXT) {
        return Err(Errno(libc::EINVAL));
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
    first();
    remove_contents(&directory)?;
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(errno_of)
}

/// Removes the files and subdirectories that targets make, the marker last: what is left half done
/// is still known.
fn remove_contents(directory: &OwnedFd) -> Result<(), Errno> {
    let mut subdirectories = Vec::new();
    for entry in Dir::read_from(directory).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if let (true, Ok(name)) = (may_be, entry.file_name().to_str())
            && is_directory_name(name)
        {
            subdirectories.push(name.to_owned());
        }
    }
    for name in &subdirectories {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let below = rustix::fs::openat(directory, name.as_str(), flags, Mode::empty());
        let below = below.map_err(errno_of)?;
        remove_files(&below)?;
        rustix::fs::unlinkat(directory, name.as_str(), AtFlags::REMOVEDIR).map_err(errno_of)?;
    }
    remove_files(directory)?;
    let others = Dir::read_from(directory).map_err(errno_of)?.filter_map(Result::ok).any(|entry| {
        !matches!(entry.file_name().to_bytes(), b"." | b".." | b"trimbench-workspace")
    });
    if others {
        return Err(Errno(libc::ENOTEMPTY));
    }
    unlink_if_there(directory, MARKER)
}

/// Removes the files of a directory that have names which targets make.
fn remove_files(directory: &OwnedFd) -> Result<(), Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let plain = matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown);
        if let (true, Ok(name)) = (plain, entry.file_name().to_str())
            && (is_file_name(name) || name == PROBE)
        {
            names.push(name.to_owned());
        }
    }
    names.iter().try_for_each(|name| unlink_if_there(directory, name))
}

fn unlink_if_there(directory: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno_of(errno)),
    }
}

/// Makes and locks the marker.
fn mark(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let marker = rustix::fs::openat(directory, MARKER, flags, mode).map_err(errno_of)?;
    // Before the first line is there no cleaner takes the directory for a workspace, so that there
    // is no moment at which it looks abandoned.
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
    let text = format!("{MARKER_TEXT}\npid {}\n", std::process::id());
    let written = rustix::io::write(&marker, text.as_bytes()).map_err(errno_of)?;
    if written == text.len() { Ok(marker) } else { Err(Errno::ENOSPC) }
}

fn open_marker(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    rustix::fs::openat(directory, MARKER, flags, Mode::empty()).map_err(errno_of)
}

fn open_directory(parent: impl std::os::fd::AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    // A workspace is never a symbolic link; the parent that the user names may be one.
    let follow = if path.components().count() == 1 && is_workspace_path(path) {
        OFlags::NOFOLLOW
    } else {
        OFlags::empty()
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | follow;
    rustix::fs::openat(parent, path, flags, Mode::empty()).map_err(errno_of)
}

fn is_workspace_path(path: &Path) -> bool {
    path.to_str().is_some_and(is_workspace_name)
}

/// The prefix and exactly 16 hex digits.
fn is_workspace_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == 16 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// 64 bits that no other process has.
pub(crate) fn random() -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Errno(error.raw_os_error().unwrap_or(Errno::EIO.0)))?;
    Ok(u64::from_ne_bytes(bytes))
}
