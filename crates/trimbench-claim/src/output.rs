//! Every file that the program writes: records, pages, tables, traces.
//!
//! A directory is opened once and held by its descriptor ([`OutputDirectory`]): if it is renamed,
//! it still receives the files; a directory that takes its place does not. A file begins as a
//! [`Draft`]: created with `O_EXCL` and `O_NOFOLLOW` under a random name in that directory, and
//! renamed once it is complete. So a name leads to its old or its new content, never to half of it,
//! and nothing is written through a symbolic or hard link that somebody left there. [`OutputPlace`]
//! says what a path given by the user leads to.
//!
//! Files are made with mode 0644 and directories with 0755, less what the umask takes away: as any
//! program's results.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, StatxFlags};
use trimbench_core::Errno;

use crate::errno::errno_of;
use crate::opening;

mod appended;
mod draft;
mod growing;
mod place;

pub use appended::AppendedFile;
pub use draft::{Begun, Draft, Durability, Replaces};
pub use growing::GrowingFile;
pub use place::{OutputFile, OutputPlace};

use draft::is_draft_of;

#[cfg(test)]
mod tests;

/// How many files of one name can be set aside.
const SET_ASIDE_MAX: u32 = 1_000;
/// Of directories, before the umask.
const DIRECTORY_MODE: u32 = 0o755;

/// Why a file could not be written or read back. What was at its name is untouched unless the step
/// was `make the directory durable`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A path without a file name (`/`, `..`): name a file.
    #[error("`{}` names no file", path.display())]
    NoFileName {
        /// As given.
        path: PathBuf,
    },
    /// Something is there that was to be made: name another place.
    #[error("`{}` already exists", path.display())]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// What is there is no regular file: name another file.
    #[error("`{}` is a {kind}", path.display())]
    Unfit {
        /// What is there.
        path: PathBuf,
        /// What it is: `symbolic link`.
        kind: &'static str,
    },
    /// Another process put something else at the name meanwhile: see who else writes there.
    #[error("`{}` was replaced while it was written", path.display())]
    Exchanged {
        /// The name.
        path: PathBuf,
    },
    /// The operating system refused a step: make room, or choose a writable place.
    #[error("cannot {step} `{}`: {errno}", path.display())]
    Step {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// The reason.
        errno: Errno,
    },
}

/// A directory that files are written into, held by descriptor.
#[derive(Clone, Debug)]
pub struct OutputDirectory {
    /// As named at first; for messages.
    path: PathBuf,
    descriptor: Arc<OwnedFd>,
    /// The directories that [`Self::create`] made, the innermost first, by what they lie in.
    made: Vec<(Arc<OwnedFd>, OsString)>,
}

/// A file whatever its names: device, inode and time of birth. A filesystem gives the number of a
/// removed file to the next one, often at once; their times of birth differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The device of its filesystem, as `stat` gives it.
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// Seconds and nanoseconds; 0 where the filesystem keeps none.
    born: (i64, u32),
}

impl OutputError {
    /// The reason, where the operating system gave one.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Step { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}

impl OutputDirectory {
    /// The directory at `path`.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        // The current directory is the one name that may be left out.
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let opened = rustix::fs::openat(CWD, named, opening::DIRECTORY, Mode::empty());
        let descriptor = opened.map_err(step("open the directory", path))?;
        Ok(Self::of(path.to_owned(), descriptor))
    }

    /// The same, made with the directories that it lies in where they are not there. In what is
    /// made, no symbolic link is followed.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        match Self::open(path) {
            Err(error) if error.errno() == Some(Errno(libc::ENOENT)) => {}
            opened => return opened,
        }
        let (parent, name) = split(path)?;
        let parent = Self::create(parent)?;
        match parent.make(name) {
            // Another process was quicker, or it is a link that leads nowhere.
            Err(OutputError::Exists { .. }) => parent.subdirectory(name),
            made => made,
        }
    }

    /// A new directory in this one.
    pub fn make(&self, name: &OsStr) -> Result<Self, OutputError> {
        let path = self.path.join(name);
        match rustix::fs::mkdirat(self, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Err(rustix::io::Errno::EXIST) => return Err(OutputError::Exists { path }),
            made => made.map_err(step("make the directory", &path))?,
        }
        let mut new = self.subdirectory(name)?;
        new.made.push((Arc::clone(&self.descriptor), name.to_owned()));
        new.made.extend_from_slice(&self.made);
        Ok(new)
    }

    /// As it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is by now: as it was named, if that still leads to it.
    pub fn whereabouts(&self) -> PathBuf {
        let named = Inode::look(CWD, &self.path, AtFlags::empty());
        if matches!((named, Inode::of(self)), (Ok(named), Ok(own)) if named == own) {
            return self.path.clone();
        }
        let link = format!("/proc/self/fd/{}", self.descriptor.as_raw_fd());
        std::fs::read_link(link).unwrap_or_else(|_| self.path.clone())
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> Result<bool, OutputError> {
        Ok(self.names()?.is_empty())
    }

    /// Takes it for this process alone until the last copy of this value is dropped; `false` if
    /// another has it. A filesystem without locks says `true`.
    pub fn lock(&self) -> bool {
        let locked = rustix::fs::flock(self, FlockOperation::NonBlockingLockExclusive);
        locked != Err(rustix::io::Errno::WOULDBLOCK)
    }

    /// Begins the file `name`.
    pub fn begin(&self, name: &OsStr, replaces: Replaces) -> Result<Draft, OutputError> {
        Draft::begin(self.clone(), name, replaces)
    }

    /// Writes the file `name`, whole or not at all; which file that is then.
    pub fn write(
        &self,
        name: &OsStr,
        bytes: &[u8],
        replaces: Replaces,
        durability: Durability,
    ) -> Result<Inode, OutputError> {
        let draft = self.begin(name, replaces)?;
        let written = draft.file().write_all(bytes);
        written.map_err(step("write", &self.path.join(name)))?;
        let inode = draft.inode();
        draft.commit(durability).map(|()| inode)
    }

    /// Begins the file `name` anew, empty, and keeps it open to append to it.
    pub fn append_to(&self, name: &OsStr, replaces: Replaces) -> Result<AppendedFile, OutputError> {
        let path = self.path.join(name);
        let draft = self.begin(name, replaces)?;
        let file = draft.file().try_clone().map_err(step("begin", &path))?;
        let inode = draft.inode();
        draft.commit(Durability::Durable)?;
        Ok(AppendedFile::new(file, path, inode))
    }

    /// The content of the regular file `name`; links are not followed.
    pub fn read(&self, name: &OsStr) -> Result<Vec<u8>, OutputError> {
        self.read_file(name).map(|(bytes, _)| bytes)
    }

    /// The same, and which file it was.
    pub fn read_file(&self, name: &OsStr) -> Result<(Vec<u8>, Inode), OutputError> {
        let failed = || step("read", &self.path.join(name));
        let mut bytes = Vec::new();
        let mut file = self.look(name)?;
        file.read_to_end(&mut bytes).map_err(failed())?;
        Ok((bytes, Inode::of(&file).map_err(failed())?))
    }

    /// What has this name; `None` if nothing has. A symbolic link is itself.
    pub fn inode_of(&self, name: &OsStr) -> Result<Option<Inode>, OutputError> {
        match Inode::at(self, name) {
            Ok(inode) => Ok(Some(inode)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(errno) => Err(step("examine", &self.path.join(name))(errno)),
        }
    }

    /// Removes the file `name`, if it is there.
    pub fn remove(&self, name: &OsStr) -> Result<(), OutputError> {
        match rustix::fs::unlinkat(self, name, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => Ok(()),
            removed => removed.map_err(step("remove", &self.path.join(name))),
        }
    }

    /// Gives what is called `name` another name, the first of `NAME.set-aside-1`, `-2`, ... that is
    /// free.
    pub fn set_aside(&self, name: &OsStr) -> Result<OsString, OutputError> {
        for number in 1..=SET_ASIDE_MAX {
            let mut aside = name.to_owned();
            aside.push(format!(".set-aside-{number}"));
            match draft::rename_to_free(self, name, &aside) {
                Err(rustix::io::Errno::EXIST) => {}
                renamed => {
                    renamed.map_err(step("set aside", &self.path.join(name)))?;
                    return Ok(aside);
                }
            }
        }
        Err(OutputError::Exists { path: self.path.join(name) })
    }

    /// Removes what was made for it, from the inside out, as far as it is empty.
    pub fn remove_made(&self) {
        for (parent, name) in &self.made {
            let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }

    /// Removes the drafts of `names` that killed processes left: regular files of ours with one
    /// name, that nobody is writing. Without [`Self::lock`], a draft that another process begins at
    /// this very moment may be one of them: that process then says that it was exchanged.
    pub fn sweep(&self, names: &[impl AsRef<OsStr>]) -> Result<usize, OutputError> {
        let drafts = self
            .names()?
            .into_iter()
            .filter(|candidate| names.iter().any(|name| is_draft_of(candidate, name.as_ref())));
        let abandoned = drafts.filter(|name| self.is_abandoned(name));
        Ok(abandoned.filter(|name| self.remove(name).is_ok()).count())
    }

    fn is_abandoned(&self, name: &OsStr) -> bool {
        let Ok(file) = self.look(name) else { return false };
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        let owner = rustix::process::geteuid().as_raw();
        rustix::fs::fstat(&file).is_ok_and(|status| status.st_nlink == 1 && status.st_uid == owner)
            && locked != Err(rustix::io::Errno::WOULDBLOCK)
    }

    fn look(&self, name: &OsStr) -> Result<File, OutputError> {
        let path = self.path.join(name);
        let opened = match rustix::fs::openat(self, name, opening::READ, Mode::empty()) {
            Err(rustix::io::Errno::LOOP) => {
                return Err(OutputError::Unfit { path, kind: "symbolic link" });
            }
            opened => opened.map_err(step("read", &path))?,
        };
        let status = rustix::fs::fstat(&opened).map_err(step("read", &path))?;
        match kind_of(&status) {
            FileType::RegularFile => Ok(File::from(opened)),
            other => Err(OutputError::Unfit { path, kind: word(other) }),
        }
    }

    fn subdirectory(&self, name: &OsStr) -> Result<Self, OutputError> {
        let path = self.path.join(name);
        let opened = rustix::fs::openat(self, name, opening::SUBDIRECTORY, Mode::empty());
        opened.map_err(step("open the directory", &path)).map(|opened| Self::of(path, opened))
    }

    fn names(&self) -> Result<Vec<OsString>, OutputError> {
        let failed = || step("list", &self.path);
        let mut names = Vec::new();
        for entry in Dir::read_from(self).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn of(path: PathBuf, descriptor: OwnedFd) -> Self {
        Self { path, descriptor: Arc::new(descriptor), made: Vec::new() }
    }
}

impl AsFd for OutputDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Inode {
    /// Of an open file.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(Self::look(file, "", AtFlags::EMPTY_PATH)?)
    }

    /// Of what has a name in a directory; a symbolic link is itself.
    fn at(directory: impl AsFd, name: &OsStr) -> rustix::io::Result<Self> {
        Self::look(directory, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn look(
        directory: impl AsFd,
        path: impl rustix::path::Arg,
        flags: AtFlags,
    ) -> rustix::io::Result<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let status = rustix::fs::statx(directory, path, flags, wanted)?;
        let born = status.stx_btime;
        Ok(Self {
            device: rustix::fs::makedev(status.stx_dev_major, status.stx_dev_minor),
            number: status.stx_ino,
            born: (born.tv_sec, born.tv_nsec),
        })
    }
}

fn split(path: &Path) -> Result<(&Path, &OsStr), OutputError> {
    let name = path.file_name();
    let parent = path.parent().unwrap_or(Path::new(""));
    name.map(|name| (parent, name)).ok_or_else(|| OutputError::NoFileName { path: path.to_owned() })
}

fn kind_of(status: &rustix::fs::Stat) -> FileType {
    FileType::from_raw_mode(status.st_mode)
}

fn word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "regular file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::BlockDevice => "block device",
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::Unknown => "file of unknown type",
    }
}

fn step<E>(what: &'static str, path: &Path) -> impl FnOnce(E) -> OutputError + use<E>
where
    E: Into<io::Error>,
{
    let path = path.to_owned();
    move |error| OutputError::Step { path, step: what, errno: errno_of(error) }
}
