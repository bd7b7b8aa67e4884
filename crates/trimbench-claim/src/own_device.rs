//! A loop device of ours over a file of ours: it is new, so there is nothing on it to lose.
//!
//! No path decides what is opened. Whoever brings a device has it open for writing already, and may
//! write to it; from that opening comes another one, for us alone and past the page cache. While it
//! is open, the kernel gives the number of the device to no other.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, SeekFrom, fstat};
use trimbench_core::{Bytes, Errno};

use crate::claim::{Offence, Witness};
use crate::errno::errno_of;
use crate::ioctl::{LoopStatus, disk_sequence, loop_status};
use crate::opening;
use crate::sysfs::numbers_of;

#[cfg(test)]
mod tests;

/// What tells one open device from another, and from itself after it was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// Major and minor number.
    pub numbers: (u32, u32),
    /// The generation of the disk; `None` before Linux 5.15.
    pub sequence: Option<u64>,
    /// What a loop device stands on.
    pub backing: Option<LoopStatus>,
}

/// A loop device of ours, open for us alone.
#[derive(Debug)]
pub struct OwnDevice {
    file: OwnedFd,
    guard: OwnDeviceGuard,
}

/// Keeps the device, and tells whether it is still ours alone.
#[derive(Debug)]
pub struct OwnDeviceGuard {
    /// The same opening as the device's: its `O_EXCL` holds while either is open.
    file: OwnedFd,
    identity: DeviceIdentity,
    size: Bytes,
    /// `None` where the kernel has no watches left: then its exclusion is all.
    witness: Option<Witness>,
}

/// Why a loop device is not ours alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnDeviceError {
    /// It is no loop device, or was not open for writing: whoever brings one has made it.
    #[error("this is no loop device that was made for the run")]
    NotOurs,
    /// Others use it, or the kernel refused a step.
    #[error("the loop device of the run cannot be had: {errno}")]
    Refused {
        /// The reason; `EBUSY` if others use it.
        errno: Errno,
    },
    /// Somebody exchanged or changed it: its measurements say nothing.
    #[error("the loop device of the run is no longer ours alone: {change}")]
    Changed {
        /// What happened.
        change: &'static str,
    },
}

impl DeviceIdentity {
    /// Of what is open as `file`.
    pub fn of(file: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self {
            numbers: numbers_of(&fstat(file).map_err(errno_of)?),
            sequence: disk_sequence(file).ok(),
            backing: loop_status(file).ok(),
        })
    }
}

impl OwnDevice {
    /// The loop device that is open as `device`, for us alone. Nothing is written.
    pub fn over(device: BorrowedFd<'_>) -> Result<Self, OwnDeviceError> {
        let refused = |errno| OwnDeviceError::Refused { errno };
        let failed = |errno: rustix::io::Errno| refused(errno_of(errno));
        let identity = DeviceIdentity::of(device).map_err(refused)?;
        let flags = rustix::fs::fcntl_getfl(device).map_err(failed)?;
        if flags & OFlags::RWMODE != OFlags::RDWR || identity.backing.is_none() {
            return Err(OwnDeviceError::NotOurs);
        }
        let path = format!("/proc/self/fd/{}", device.as_raw_fd());
        let file = rustix::fs::open(path, opening::WRITE_ALONE, Mode::empty()).map_err(failed)?;
        let same = file.try_clone().map_err(|error| refused(errno_of(error)))?;
        let guard = OwnDeviceGuard {
            size: size(&file).map_err(refused)?,
            witness: Witness::new(file.as_fd(), Offence::Write).ok(),
            identity,
            file: same,
        };
        guard.check()?;
        Ok(Self { file, guard })
    }

    /// The descriptor, open for reading and writing past the page cache, and what keeps the device.
    pub fn into_parts(self) -> (OwnedFd, OwnDeviceGuard) {
        (self.file, self.guard)
    }
}

impl OwnDeviceGuard {
    /// Whether it is the device that it was, as large, and nobody else has written to it.
    pub fn check(&self) -> Result<(), OwnDeviceError> {
        let changed = |change| Err(OwnDeviceError::Changed { change });
        match (DeviceIdentity::of(self.file.as_fd()), size(&self.file)) {
            (Ok(identity), _) if identity != self.identity => {
                return changed("another disk or file has taken its place");
            }
            (Ok(_), Ok(size)) if size == self.size => {}
            (Ok(_), Ok(_)) => return changed("its size is another one"),
            (Err(errno), _) | (_, Err(errno)) => return Err(OwnDeviceError::Refused { errno }),
        }
        if self.witness.as_ref().is_some_and(Witness::has_seen) {
            return changed("another process wrote to it or had it open for writing");
        }
        Ok(())
    }
}

fn size(file: &OwnedFd) -> Result<Bytes, Errno> {
    rustix::fs::seek(file, SeekFrom::End(0)).map(Bytes).map_err(errno_of)
}
