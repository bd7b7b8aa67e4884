//! The place for one output file that a path given by the user leads to.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, major, minor};

use super::{
    Begun, Draft, Durability, Inode, OutputDirectory, OutputError, Replaces, kind_of, split, step,
    word,
};
use crate::claim::{ClaimError, Use, uses_of_file};
use crate::opening;

#[cfg(test)]
mod tests;

/// A place for one file.
#[derive(Debug)]
pub enum OutputPlace {
    /// Nothing is there.
    New(OutputSlot),
    /// A regular file: it is for the caller to say whether it may be replaced.
    File {
        /// Where.
        slot: OutputSlot,
        /// Which.
        inode: Inode,
        /// The file, to be read; `None` if that is not allowed.
        content: Option<File>,
    },
    /// A pipe, a terminal or one of the devices that take everything: nothing to replace, what is
    /// written goes there as it comes.
    Stream(File),
}

/// A name in a directory.
#[derive(Debug)]
pub struct OutputSlot {
    directory: OutputDirectory,
    name: OsString,
}

/// What is written to a [`OutputPlace`].
#[derive(Debug)]
pub enum OutputFile {
    /// A file that gets its name when it is whole.
    Draft(Draft),
    /// What takes it as it comes.
    Stream(File),
}

impl OutputPlace {
    /// What `path` leads to. Symbolic links are followed to streams alone (`/dev/stdout`,
    /// `/dev/fd/63`): a file is named by its own name.
    pub fn of(path: &Path) -> Result<Self, OutputError> {
        let (parent, name) = split(path)?;
        Self::within(&OutputDirectory::open(parent)?, name)
    }

    /// The same for a name in a directory.
    pub fn within(directory: &OutputDirectory, name: &OsStr) -> Result<Self, OutputError> {
        let slot = OutputSlot { directory: directory.clone(), name: name.to_owned() };
        let status = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => return Ok(Self::New(slot)),
            status => status.map_err(step("examine", &slot.path()))?,
        };
        if kind_of(&status) != FileType::RegularFile {
            return slot.stream(kind_of(&status)).map(Self::Stream);
        }
        let content = slot.directory.look(name).ok();
        let inode = Inode::at(directory, name).map_err(step("examine", &slot.path()))?;
        Ok(Self::File { slot, inode, content })
    }

    /// Who uses the file that is there as more than a file to read: a loop device, swap, a process
    /// that has it open for writing. It would lose its name under them.
    pub fn user(&self) -> Result<Option<String>, ClaimError> {
        let Self::File { inode, .. } = self else { return Ok(None) };
        let uses = uses_of_file((inode.device, inode.number))?;
        let user = uses.iter().find(|one| !matches!(one, Use::Open { writes: false, .. }));
        Ok(user.map(Use::to_string))
    }

    /// Begins to write there. What is there already is replaced: the caller has looked at it. What
    /// killed processes had begun to write there is removed.
    pub fn begin(self) -> Result<OutputFile, OutputError> {
        let (slot, replaces) = match self {
            Self::New(slot) => (slot, Replaces::Nothing),
            Self::File { slot, inode, .. } => (slot, Replaces::File(inode)),
            Self::Stream(file) => return Ok(OutputFile::Stream(file)),
        };
        // What cannot be listed or removed does no harm.
        let _ = slot.directory.sweep(&[&slot.name]);
        slot.directory.begin(&slot.name, replaces).map(OutputFile::Draft)
    }
}

impl OutputFile {
    /// What to write into.
    pub fn file(&self) -> &File {
        match self {
            Self::Draft(draft) => draft.file(),
            Self::Stream(file) => file,
        }
    }

    /// What is written remains if the process is killed: see [`Draft::lasting`].
    pub fn lasting(self) -> Result<Self, OutputError> {
        match self {
            Self::Draft(draft) => draft.lasting().map(Self::Draft),
            stream @ Self::Stream(_) => Ok(stream),
        }
    }

    /// What removes what was begun, if there will be anything to remove.
    pub fn begun(&self) -> Option<Begun> {
        match self {
            Self::Draft(draft) => Some(draft.begun()),
            Self::Stream(_) => None,
        }
    }

    /// It is whole.
    pub fn commit(self, durability: Durability) -> Result<(), OutputError> {
        match self {
            Self::Draft(draft) => draft.commit(durability),
            Self::Stream(_) => Ok(()),
        }
    }
}

impl OutputSlot {
    fn path(&self) -> PathBuf {
        self.directory.path.join(&self.name)
    }

    /// Opens what is no regular file by itself, for writing.
    fn stream(&self, named: FileType) -> Result<File, OutputError> {
        let path = self.path();
        let unfit = |kind| OutputError::Unfit { path: path.clone(), kind: word(kind) };
        // Held without being opened: looking at a device may already do something to it.
        let held = rustix::fs::openat(&self.directory, &self.name, opening::HOLD, Mode::empty());
        let held = held.map_err(|errno| match errno {
            // A link that leads nowhere.
            rustix::io::Errno::NOENT => unfit(named),
            errno => step("open", &path)(errno),
        })?;
        let status = rustix::fs::fstat(&held).map_err(step("examine", &path))?;
        let inode = Inode::of(&held).map_err(step("examine", &path))?;
        if let Some(standard) = standard_stream(inode) {
            return Ok(standard);
        }
        match kind_of(&status) {
            FileType::Fifo => {}
            FileType::CharacterDevice if takes_anything(status.st_rdev) => {}
            _ => return Err(unfit(named)),
        }
        let itself = format!("/proc/self/fd/{}", held.as_raw_fd());
        let opened = rustix::fs::openat(CWD, itself, opening::STREAM, Mode::empty());
        opened.map(File::from).map_err(step("open", &path))
    }
}

/// Our own standard output or error, if it is this file: `/dev/stdout` may be a file or a socket,
/// and opened anew would be written from its start, or not at all.
fn standard_stream(inode: Inode) -> Option<File> {
    let streams = [
        rustix::io::fcntl_dupfd_cloexec(io::stdout(), 0),
        rustix::io::fcntl_dupfd_cloexec(io::stderr(), 0),
    ];
    let files = streams.into_iter().flatten().map(File::from);
    files.into_iter().find(|file| Inode::of(file).is_ok_and(|found| found == inode))
}

/// Whether a character device takes text without harm: null, zero and full (1:3, 1:5, 1:7) and
/// terminals (4, 5, 136 to 143 of the kernel's `devices.txt`). Others are disks, memory, watchdogs.
pub(super) fn takes_anything(device: u64) -> bool {
    match (major(device), minor(device)) {
        (1, number) => matches!(number, 3 | 5 | 7),
        (number, _) => matches!(number, 4 | 5 | 136..=143),
    }
}
