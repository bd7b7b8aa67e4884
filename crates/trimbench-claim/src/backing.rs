//! Files of ours that are opened again to go on with what is in them.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode};
use trimbench_core::Errno;

use crate::claim::uses_of_file;
use crate::errno::errno_of;
use crate::ioctl::{is_open_elsewhere, lock_whole};
use crate::opening;
use crate::output::Inode;

#[cfg(test)]
mod tests;

/// Why a file is not opened. Nothing of it was changed.
#[derive(Debug, thiserror::Error)]
pub enum BackingError {
    /// The kernel refuses it.
    #[error("`{}` cannot be opened: {errno}", path.display())]
    Unopened {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
    /// It is a directory, a device, a link or something else.
    #[error("`{}` is no regular file", path.display())]
    NoFile {
        /// What is there.
        path: PathBuf,
    },
    /// It does not begin as files of ours do.
    #[error("`{}` is not a file that trimbench made for this", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has it.
    #[error("`{}` is in use: {user}", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// By whom, as far as it can be seen.
        user: String,
    },
}

/// Opens a file of ours at `path` for reading and writing, and locks it; `None` where there is
/// nothing. `is_ours` is shown its first `head` bytes, or as many as there are. No link is
/// followed, and nothing is written.
///
/// # Errors
/// Whatever is there that is no such file, or that anybody else has open.
pub fn open_backing(
    path: &Path,
    head: u64,
    is_ours: impl FnOnce(&[u8]) -> bool,
) -> Result<Option<File>, BackingError> {
    let unopened = |errno| BackingError::Unopened { path: path.to_owned(), errno };
    let looked = match rustix::fs::open(path, opening::READ, Mode::empty()) {
        Ok(looked) => File::from(looked),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => {
            return Err(BackingError::NoFile { path: path.to_owned() });
        }
        Err(errno) => return Err(unopened(errno_of(errno))),
    };
    let status = rustix::fs::fstat(&looked).map_err(|errno| unopened(errno_of(errno)))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(BackingError::NoFile { path: path.to_owned() });
    }
    let mut first = Vec::new();
    let read = (&looked).take(head).read_to_end(&mut first);
    read.map_err(|error| unopened(errno_of(error)))?;
    if !is_ours(&first) {
        return Err(BackingError::Foreign { path: path.to_owned() });
    }
    let inode = Inode::of(&looked).map_err(|error| unopened(errno_of(error)))?;
    // A lease is given only if nobody has it open, this process included.
    drop(looked);
    let file = rustix::fs::open(path, opening::WRITE, Mode::empty());
    let file = File::from(file.map_err(|errno| unopened(errno_of(errno)))?);
    if Inode::of(&file).map_err(|error| unopened(errno_of(error)))? != inode {
        let user = "another file was put in its place just now".to_owned();
        return Err(BackingError::InUse { path: path.to_owned(), user });
    }
    let in_use = |by: &str| {
        let uses = uses_of_file((inode.device, inode.number)).unwrap_or_default();
        let user = uses.first().map_or_else(|| by.to_owned(), ToString::to_string);
        BackingError::InUse { path: path.to_owned(), user }
    };
    lock_whole(file.as_fd()).map_err(|errno| match errno {
        Errno(libc::EAGAIN | libc::EACCES) => in_use("another process has locked it"),
        errno => unopened(errno),
    })?;
    // Where there are no leases, the lock keeps others of ours away.
    if is_open_elsewhere(file.as_fd()) == Ok(true) {
        return Err(in_use("something has it open"));
    }
    Ok(Some(file))
}
