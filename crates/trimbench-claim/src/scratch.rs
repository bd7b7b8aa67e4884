//! An image file of our own that has no name: measured like a drive, and gone with the process.
//!
//! The file is created with `O_TMPFILE` and `O_EXCL`. It never has a name, so no other file can
//! take its place, nothing has to be removed by path, and a killed process leaves nothing behind.
//! Its mode is 0600. While it is open, the room that it may take is announced to other runs in the
//! same filesystem ([`crate::room`]).
//!
//! Others can still reach it, through `/proc/PID/fd` or a bind of it to a loop device: root and the
//! same user. [`ScratchGuard`] notices that.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use trimbench_core::{Bytes, Errno};

use crate::claim::{Offence, Witness};
use crate::errno::errno_of;
use crate::ioctl::is_open_elsewhere;
use crate::mounts::{MountError, mount_of};
use crate::opening;
use crate::room::{PromisedRoom, RoomPromise, free_and_reserve};

#[cfg(test)]
mod tests;

/// An image file without a name.
#[derive(Debug)]
pub struct ScratchImage {
    file: OwnedFd,
    guard: ScratchGuard,
}

/// Keeps the image, and tells whether it is still ours alone.
#[derive(Debug)]
pub struct ScratchGuard {
    /// The same opening as the image's.
    file: OwnedFd,
    directory: PathBuf,
    size: Bytes,
    /// `None` where the kernel has no watches left: what can be seen then is who has it open.
    witness: Option<Witness>,
    promised: PromisedRoom,
    _promise: RoomPromise,
}

/// Why there is no scratch image, or why it is no longer ours alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScratchError {
    /// The mount table does not have the directory.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The filesystem has too little room: make some, or name a directory on another one.
    #[error(
        "`{}` has room for {room}{}, and a scratch image takes up to {size}",
        path.display(),
        beside(*promised)
    )]
    Full {
        /// The directory.
        path: PathBuf,
        /// Free space less the reserve and what other runs are promised.
        room: Bytes,
        /// What was asked for.
        size: Bytes,
        /// What other runs are promised.
        promised: Bytes,
    },
    /// The filesystem has no files without a name: name a directory on ext4, XFS, btrfs, F2FS or
    /// tmpfs.
    #[error("the filesystem of `{}` has no unnamed files (`O_TMPFILE`: {errno})", path.display())]
    Unsupported {
        /// The directory.
        path: PathBuf,
        /// `EOPNOTSUPP`, or `EISDIR` of filesystems that do not know the flag.
        errno: Errno,
    },
    /// The kernel refused a step: name a directory in which this user may write.
    #[error("cannot {step} a scratch image in `{}`: {errno}", path.display())]
    Step {
        /// The directory.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// The reason.
        errno: Errno,
    },
    /// Somebody changed its size, or opened it: its measurements say nothing.
    #[error("the scratch image in `{}` is no longer ours alone: {change}", path.display())]
    Changed {
        /// The directory.
        path: PathBuf,
        /// What happened.
        change: String,
    },
}

impl ScratchImage {
    /// Makes one of this size in the filesystem of `directory`. It begins as a hole.
    pub fn create(directory: &Path, size: Bytes) -> Result<Self, ScratchError> {
        let failed = |step| {
            let path = directory.to_owned();
            move |errno: Errno| ScratchError::Step { path, step, errno }
        };
        let refused = |step| move |errno: rustix::io::Errno| failed(step)(errno_of(errno));
        let parent = rustix::fs::open(directory, opening::DIRECTORY, Mode::empty());
        let parent = parent.map_err(refused("make"))?;
        let mount = mount_of(directory)?;
        let promise = RoomPromise::new(mount.device, size).map_err(failed("announce"))?;
        let promised = promise.of_others().map_err(failed("announce"))?;
        let status = rustix::fs::fstatvfs(&parent).map_err(refused("make"))?;
        let (free, reserve) = free_and_reserve(&status);
        let room = free.saturating_sub(reserve).saturating_sub(promised.respected);
        if room < size {
            let (path, promised) = (directory.to_owned(), promised.respected);
            return Err(ScratchError::Full { path, room, size, promised });
        }
        let file = unnamed(&parent).map_err(|errno| match errno {
            rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR => {
                let errno = errno_of(errno);
                ScratchError::Unsupported { path: directory.to_owned(), errno }
            }
            errno => refused("make")(errno),
        })?;
        rustix::fs::ftruncate(&file, size.0).map_err(refused("size"))?;
        let own = file.try_clone().map_err(|error| failed("hold")(errno_of(error)))?;
        let guard = ScratchGuard {
            witness: Witness::new(file.as_fd(), Offence::Open).ok(),
            file: own,
            directory: directory.to_owned(),
            size,
            promised,
            _promise: promise,
        };
        Ok(Self { file, guard })
    }

    /// The descriptor, open for reading and writing past the page cache, and what keeps the image.
    pub fn into_parts(self) -> (OwnedFd, ScratchGuard) {
        (self.file, self.guard)
    }
}

impl ScratchGuard {
    /// Room in the filesystem that was promised to other runs when this one began.
    pub fn promised_to_others(&self) -> PromisedRoom {
        self.promised
    }

    /// Whether it is as large as it was, and nobody else has opened it.
    pub fn check(&self) -> Result<(), ScratchError> {
        let path = || self.directory.clone();
        let status = rustix::fs::fstat(&self.file).map_err(|errno| {
            let errno = errno_of(errno);
            ScratchError::Step { path: path(), step: "look at", errno }
        })?;
        let has = Bytes(status.st_size.cast_unsigned());
        if has != self.size {
            let change = format!("it had {} and has {has}", self.size);
            return Err(ScratchError::Changed { path: path(), change });
        }
        // Whoever binds it to a loop device opens it, too.
        let opened = self.witness.as_ref().is_some_and(Witness::has_seen)
            || is_open_elsewhere(self.file.as_fd()) == Ok(true);
        if opened {
            let change = "another process has opened it".to_owned();
            return Err(ScratchError::Changed { path: path(), change });
        }
        Ok(())
    }
}

impl ScratchError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Mount(_) | Self::Step { .. } => "name a directory in which you may write",
            Self::Full { .. } => "make room, or name a directory on a filesystem with more",
            Self::Unsupported { .. } => {
                "name a directory on ext4, XFS, btrfs, F2FS or tmpfs, or an image file of yours"
            }
            Self::Changed { .. } => "end what opened it, then measure again",
        }
    }
}

/// Past the page cache where the filesystem can: tmpfs before Linux 6.6 cannot.
fn unnamed(parent: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let open = |flags| rustix::fs::openat(parent, ".", flags, Mode::RUSR | Mode::WUSR);
    match open(flags | OFlags::DIRECT) {
        Err(rustix::io::Errno::INVAL) => open(flags),
        opened => opened,
    }
}

fn beside(promised: Bytes) -> String {
    match promised {
        Bytes(0) => String::new(),
        _ => format!(" beside the {promised} that other runs are promised"),
    }
}
