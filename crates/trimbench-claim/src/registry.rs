//! Objects that this program creates outside of its own directories, and must remove after a kill:
//! tracing instances, control groups, and sockets. The kernel lets nobody write a marker into
//! these, so each has a random name that is registered before it is created.
//!
//! An entry is an empty file `KIND-TOKEN` in a directory that only its owner may enter. While the
//! process lives it holds a lock on the entry (flock), which the kernel releases with the process.
//! Only objects with a registered token, whose lock nobody holds, are removed: objects of others
//! with similar names are never touched.
//!
//! What is changed rather than created has a [`RegistryJournal`] in the same directory.

mod journal;

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use trimbench_core::Errno;

pub use self::journal::{JournalError, RegistryJournal};
use crate::errno::errno_of;
use crate::opening;
use crate::random::random;

#[cfg(test)]
mod tests;

/// What kinds of objects are registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryKind {
    /// An instance of tracefs.
    Tracing,
    /// A control group that limits memory.
    Memory,
    /// A socket by which an attached drive is asked; it lies beside its entry.
    Socket,
    /// A setting of the kernel that is put back; it has a journal, not an entry.
    Setting,
    /// A mount option that is put back; it has a journal, not an entry.
    Mount,
}

/// The name of a thing that is about to be made. It stays registered until [`Self::forget`], so
/// that what could not be removed is removed by a later run.
#[derive(Debug)]
pub struct RegistryToken {
    /// The directory of all entries.
    folder: PathBuf,
    directory: OwnedFd,
    entry: String,
    name: String,
    /// Holds the lock.
    _file: OwnedFd,
}

impl RegistryKind {
    const fn id(self) -> &'static str {
        match self {
            Self::Tracing => "tracing",
            Self::Memory => "memory",
            Self::Socket => "socket",
            Self::Setting => "setting",
            Self::Mount => "mount",
        }
    }
}

impl RegistryToken {
    /// Draws a name and registers it. `EPERM` if others may enter the directory of entries.
    pub fn new(what: RegistryKind) -> Result<Self, Errno> {
        Self::in_folder(&folder(), what)
    }

    fn in_folder(folder: &Path, what: RegistryKind) -> Result<Self, Errno> {
        let directory = open(folder)?;
        let token = random()?;
        let entry = format!("{}-{token:016x}", what.id());
        // Locked before it has a name: no cleaner ever sees it free.
        let (flags, mode) =
            (OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let file = rustix::fs::openat(&directory, ".", flags, mode).map_err(errno_of)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::linkat(CWD, &unnamed, &directory, &entry, AtFlags::SYMLINK_FOLLOW)
            .map_err(errno_of)?;
        let (folder, name) = (folder.to_owned(), name_of(token));
        Ok(Self { folder, directory, entry, name, _file: file })
    }

    /// What the thing is to be called: `trimbench-` and 16 digits.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file of the entry, for a program that removes it after this process.
    pub fn entry(&self) -> PathBuf {
        self.folder.join(&self.entry)
    }

    /// Where a socket of this name lies: beside the entry.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The thing is gone, or was never made.
    pub fn forget(&self) {
        // A failure is silent: a later run finds the entry, and nothing of its name.
        let _ = rustix::fs::unlinkat(&self.directory, &self.entry, AtFlags::empty());
    }
}

/// Where entries are, for messages.
pub fn folder() -> PathBuf {
    match rustix::process::geteuid().as_raw() {
        0 => PathBuf::from("/run/trimbench"),
        user => PathBuf::from(format!("/run/user/{user}/trimbench")),
    }
}

/// Removes what killed processes left in `parent`: the directories whose names are registered
/// there. The kernel removes no control group with processes and no instance in use. Failures are
/// silent, and tried again by the next run.
pub fn clean(what: RegistryKind, parent: &Path) {
    let _ = clean_in(&folder(), what, parent);
}

fn clean_in(folder: &Path, what: RegistryKind, parent: &Path) -> Result<(), Errno> {
    sweep(folder, what, |name| is_gone(&parent.join(name))).map(drop)
}

/// The sockets of processes that live. Those of processes that were killed are removed.
///
/// # Errors
/// `EPERM` if others may enter the directory of entries.
pub fn sockets() -> Result<Vec<PathBuf>, Errno> {
    sockets_in(&folder())
}

fn sockets_in(folder: &Path) -> Result<Vec<PathBuf>, Errno> {
    let is_gone = |name: &str| {
        let removed = fs::remove_file(folder.join(name));
        removed.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
    };
    let living = sweep(folder, RegistryKind::Socket, is_gone)?;
    Ok(living.into_iter().map(|name| folder.join(name)).collect())
}

/// Forgets what killed processes registered, once `is_gone` says that the thing of this name is;
/// the names of the things of processes that live.
fn sweep(
    folder: &Path,
    what: RegistryKind,
    is_gone: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Errno> {
    let directory = open(folder)?;
    let mut living = Vec::new();
    for entry in rustix::fs::Dir::read_from(&directory).map_err(errno_of)? {
        let entry = entry.map_err(errno_of)?;
        let Ok(entry) = entry.file_name().to_str() else { continue };
        let Some(token) = token_of(what, entry) else { continue };
        let name = name_of(token);
        match abandoned(&directory, entry) {
            Err(Errno(libc::EAGAIN)) => living.push(name),
            Ok(_lock) if is_gone(&name) => {
                rustix::fs::unlinkat(&directory, entry, AtFlags::empty()).map_err(errno_of)?;
            }
            _ => {}
        }
    }
    living.sort();
    Ok(living)
}

/// Removes a directory without content; whether it is gone then, or was not there.
pub fn is_gone(path: &Path) -> bool {
    let removed = fs::remove_dir(path);
    removed.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// The locked entry, if it is ours and nobody else holds it.
fn abandoned(directory: &OwnedFd, entry: &str) -> Result<OwnedFd, Errno> {
    let file = rustix::fs::openat(directory, entry, opening::READ, Mode::empty());
    let file = file.map_err(errno_of)?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(errno_of)?;
    let status = rustix::fs::fstat(&file).map_err(errno_of)?;
    let regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    // Another cleaner may have removed it before the lock was ours: then it has no link any more.
    if regular && status.st_nlink == 1 { Ok(file) } else { Err(Errno(libc::EPERM)) }
}

/// The directory of entries, made if it is not there. It must be ours alone.
fn open(folder: &Path) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdir(folder, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(errno) => return Err(errno_of(errno)),
    }
    let directory = rustix::fs::open(folder, opening::SUBDIRECTORY, Mode::empty());
    let directory = directory.map_err(errno_of)?;
    let status = rustix::fs::fstat(&directory).map_err(errno_of)?;
    let others = Mode::RWXG | Mode::RWXO;
    let own = status.st_uid == rustix::process::geteuid().as_raw();
    let alone = own && !Mode::from_raw_mode(status.st_mode).intersects(others);
    if alone { Ok(directory) } else { Err(Errno(libc::EPERM)) }
}

fn name_of(token: u64) -> String {
    format!("trimbench-{token:016x}")
}

/// The token of an entry; `None` if it is none, or of something else.
fn token_of(what: RegistryKind, entry: &str) -> Option<u64> {
    let digits = entry.strip_prefix(what.id())?.strip_prefix('-')?;
    let token = u64::from_str_radix(digits, 16).ok()?;
    (digits == format!("{token:016x}")).then_some(token)
}
