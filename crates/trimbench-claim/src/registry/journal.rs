//! Journals of things of others that a process changes for a while, such as a setting of the
//! kernel: what they were before, so that a later process can put them back after a kill.
//!
//! Each thing has two files in the directory of entries, `KIND-THING.lock` and `KIND-THING.json`.
//! The process that works on the thing holds a lock on the first (flock) while it lives, and writes
//! its process id into it. The second is the journal. It is never written over: a draft takes its
//! place whole, so a kill leaves the older content or the newer one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use trimbench_core::Errno;

use super::{RegistryKind, open};
use crate::errno::errno_of;
use crate::opening;

#[cfg(test)]
mod tests;

/// No journal of ours is longer, bytes.
const LONGEST: u64 = 4096;
const LOCK: &str = ".lock";
const JOURNAL: &str = ".json";
const DRAFT: &str = ".draft";

/// The right to change one thing, and its journal. The right ends when this is dropped; the journal
/// stays until [`Self::remove`].
#[derive(Debug)]
pub struct RegistryJournal {
    /// The directory of all entries.
    folder: PathBuf,
    directory: OwnedFd,
    /// `KIND-THING`.
    stem: String,
    /// Holds the lock.
    _lock: File,
}

/// Why a thing cannot be worked on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process works on it: wait until it has ended.
    #[error("another process works on it{}", process.map_or(String::new(), by))]
    Held {
        /// Its process id, where it could be read.
        process: Option<u32>,
    },
    /// The directory or the lock cannot be used: `EPERM` if others may enter the directory, or if
    /// the lock is not a plain file of ours.
    #[error("cannot lock `{}`: {errno}", path.display())]
    Lock {
        /// The directory, or the lock in it.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
}

impl RegistryJournal {
    /// Takes the right to work on this thing, whose journal is in this folder. The name of the
    /// thing is one of the kernel's, without `/`.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn take_in(folder: &Path, what: RegistryKind, thing: &str) -> Result<Self, JournalError> {
        assert!(!thing.is_empty() && !thing.contains('/'), "`{thing}` is no name of the kernel's");
        let stem = format!("{}-{thing}", what.id());
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |errno| JournalError::Lock { path, errno }
        };
        let directory = open(folder).map_err(failed(folder))?;
        let path = folder.join(format!("{stem}{LOCK}"));
        loop {
            // `None`: its last holder removed it before the lock was ours.
            if let Some(lock) = lock(&directory, &stem, &path)? {
                return Ok(Self { folder: folder.to_owned(), directory, stem, _lock: lock });
            }
        }
    }

    /// The things of this kind that have a journal in the folder, sorted; none where there is no
    /// such folder.
    fn things_in(folder: &Path, what: RegistryKind) -> Result<Vec<String>, Errno> {
        if std::fs::symlink_metadata(folder).is_err_and(|error| errno_of(error).0 == libc::ENOENT) {
            return Ok(Vec::new());
        }
        let directory = open(folder)?;
        let mut things = Vec::new();
        for entry in rustix::fs::Dir::read_from(&directory).map_err(errno_of)? {
            let entry = entry.map_err(errno_of)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let of_kind = name.strip_prefix(what.id()).and_then(|rest| rest.strip_prefix('-'));
            let thing = of_kind.and_then(|rest| rest.strip_suffix(JOURNAL));
            things.extend(thing.filter(|thing| !thing.is_empty()).map(str::to_owned));
        }
        things.sort();
        Ok(things)
    }

    /// Has `settle` act on each thing of this kind that a process left which is gone, in the order
    /// of their names, and gathers what it says. Things that living processes work on are left
    /// out. `unusable` says where a lock is that cannot be used, and why not.
    ///
    /// # Errors
    /// `EPERM` if others may enter the folder.
    pub fn settle_abandoned<T>(
        folder: &Path,
        what: RegistryKind,
        settle: impl Fn(&Self, &str) -> Option<T>,
        unusable: impl Fn(PathBuf, Errno) -> T,
    ) -> Result<Vec<T>, Errno> {
        let things = Self::things_in(folder, what)?.into_iter();
        let settled = things.filter_map(|thing| match Self::take_in(folder, what, &thing) {
            Ok(journal) => settle(&journal, &thing),
            Err(JournalError::Held { .. }) => None,
            Err(JournalError::Lock { path, errno }) => Some(unusable(path, errno)),
        });
        Ok(settled.collect())
    }

    /// Where the journal is, for messages.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}{JOURNAL}", self.stem))
    }

    /// The content of the journal; `None` if there is none.
    ///
    /// # Errors
    /// `EPERM` if it is not a plain file of ours with one name, `EFBIG` if it is longer than any
    /// that we write.
    pub fn read(&self) -> Result<Option<Vec<u8>>, Errno> {
        let name = format!("{}{JOURNAL}", self.stem);
        let file = match rustix::fs::openat(&self.directory, &name, opening::READ, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            // What NOFOLLOW says of a symbolic link.
            Err(rustix::io::Errno::LOOP) => return Err(Errno(libc::EPERM)),
            Err(errno) => return Err(errno_of(errno)),
        };
        if !is_ours(&file)? {
            return Err(Errno(libc::EPERM));
        }
        let mut content = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut content).map_err(errno_of)?;
        let fits = u64::try_from(content.len()).is_ok_and(|length| length <= LONGEST);
        if fits { Ok(Some(content)) } else { Err(Errno(libc::EFBIG)) }
    }

    /// The entry that `parse` finds in the journal; `None` if there is no journal.
    ///
    /// # Errors
    /// Those of [`Self::read`]; `EBADMSG` if it is no entry.
    pub fn entry<E>(&self, parse: impl Fn(&[u8]) -> Option<E>) -> Result<Option<E>, Errno> {
        let Some(content) = self.read()? else { return Ok(None) };
        parse(&content).map(Some).ok_or(Errno(libc::EBADMSG))
    }

    /// Replaces the journal by this content, or leaves it as it was.
    ///
    /// # Errors
    /// `EROFS`, `ENOSPC` and others of the filesystem of the folder.
    pub fn write(&self, content: &[u8]) -> Result<(), Errno> {
        let draft = format!("{}{DRAFT}", self.stem);
        // That of a process that was killed. Only the holder of the lock makes one.
        let _ = rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty());
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.directory, &draft, opening::MAKE, mode);
        let written = file.map_err(errno_of).and_then(|file| {
            File::from(file).write_all(content).map_err(errno_of)?;
            let name = format!("{}{JOURNAL}", self.stem);
            rustix::fs::renameat(&self.directory, &draft, &self.directory, &name).map_err(errno_of)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty());
        }
        written
    }

    /// The thing is as it was, or nobody can put it back: the journal is not needed any more.
    ///
    /// # Errors
    /// `EROFS` and others of the filesystem of the folder.
    pub fn remove(&self) -> Result<(), Errno> {
        let name = format!("{}{JOURNAL}", self.stem);
        match rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno_of(errno)),
        }
    }
}

impl Drop for RegistryJournal {
    /// Removes the lock while it is held: who opens it meanwhile finds it without a name, and makes
    /// another.
    fn drop(&mut self) {
        let name = format!("{}{LOCK}", self.stem);
        let _ = rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty());
    }
}

fn by(process: u32) -> String {
    format!(" ({process})")
}

/// The lock, held and with our process id in it; `None` if it lost its name before it was ours.
fn lock(directory: &OwnedFd, stem: &str, path: &Path) -> Result<Option<File>, JournalError> {
    let failed = |errno| JournalError::Lock { path: path.to_owned(), errno };
    let (name, mode) = (format!("{stem}{LOCK}"), Mode::RUSR | Mode::WUSR);
    let flags = opening::WRITE | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::openat(directory, &name, flags, mode);
    let mut file = File::from(file.map_err(|errno| failed(errno_of(errno)))?);
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let read = (&file).take(32).read_to_string(&mut text);
            let process = read.ok().and_then(|_| text.trim().parse().ok());
            return Err(JournalError::Held { process });
        }
        Err(errno) => return Err(failed(errno_of(errno))),
    }
    let status = rustix::fs::fstat(&file).map_err(|errno| failed(errno_of(errno)))?;
    if status.st_nlink == 0 {
        return Ok(None);
    }
    if !is_ours(&file).map_err(failed)? {
        return Err(failed(Errno(libc::EPERM)));
    }
    // It only serves messages: a full filesystem is no reason not to begin.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(Some(file))
}

/// Whether it is a plain file of this user with one name.
fn is_ours(file: &File) -> Result<bool, Errno> {
    let status = rustix::fs::fstat(file).map_err(errno_of)?;
    let regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    let own = status.st_uid == rustix::process::geteuid().as_raw();
    Ok(regular && own && status.st_nlink == 1)
}
