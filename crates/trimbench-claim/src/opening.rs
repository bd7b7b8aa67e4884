//! Flags for opening paths that others may have created or may exchange: all of them close at
//! `exec`, and none follows a symbolic link in the last part of a path unless it says so.

use rustix::fs::OFlags;

/// For us alone, and only if it is what the name itself says.
const OWN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// To look at it. Nothing waits for the other end of a pipe or for a medium.
pub const READ: OFlags = OWN.union(OFlags::RDONLY).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// As [`READ`], through a link of the kernel's: `/proc/self/fd/N`.
pub(crate) const READ_THROUGH: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// To write over what is there.
pub(crate) const WRITE: OFlags = OWN.union(OFlags::RDWR);

/// To write over a device that is open already, through a link of the kernel's to that opening: for
/// us alone, and past the page cache.
pub(crate) const WRITE_ALONE: OFlags =
    OFlags::RDWR.union(OFlags::CLOEXEC).union(OFlags::EXCL).union(OFlags::DIRECT);

/// To make a file that is not there yet.
pub const MAKE: OFlags =
    OWN.union(OFlags::WRONLY).union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOCTTY);

/// To write into a pipe or a device, through a link of the kernel's.
pub(crate) const STREAM: OFlags = OFlags::WRONLY.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// To hold it without opening it: looking at a device may already do something to it. A link is
/// followed.
pub const HOLD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A directory that a path leads to.
pub const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A directory of this very name.
pub(crate) const SUBDIRECTORY: OFlags = DIRECTORY.union(OFlags::NOFOLLOW);

#[cfg(test)]
mod tests;
