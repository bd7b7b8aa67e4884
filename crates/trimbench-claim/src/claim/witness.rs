//! Notices whether others open a claimed file, or write to a claimed device, while it is measured.
//!
//! A lease or a look into `/proc` tells who has a file open at this moment; who opened, wrote and
//! closed it between two looks is gone. inotify keeps that: `IN_OPEN` of an image file, which
//! nobody but us has a reason to open, and `IN_CLOSE_WRITE` of a device node, which udev and
//! monitoring programs open for reading. Openings through another node of the same device are not
//! seen.

use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use trimbench_core::Errno;

use crate::errno::errno_of;

#[cfg(test)]
mod tests;

/// What others do to the watched file that makes it not ours alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offence {
    /// To open it, in whatever way.
    Open,
    /// To close it after it was open for writing.
    Write,
}

/// Watches one file, from its making on.
#[derive(Debug)]
pub(crate) struct Witness {
    events: OwnedFd,
    seen: AtomicBool,
}

impl Witness {
    /// Watches the file of this descriptor. An error if the kernel has no more watches for this
    /// user (`fs.inotify.max_user_instances`).
    pub(crate) fn new(file: BorrowedFd<'_>, offence: Offence) -> Result<Self, Errno> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let events = events.map_err(errno_of)?;
        let flags = match offence {
            Offence::Open => WatchFlags::OPEN,
            Offence::Write => WatchFlags::CLOSE_WRITE,
        };
        // By the kernel's link to the descriptor: names may lead elsewhere by now.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        inotify::add_watch(&events, path, flags).map_err(errno_of)?;
        Ok(Self { events, seen: AtomicBool::new(false) })
    }

    /// Whether it has happened since the watch began. Once `true`, it stays so.
    pub(crate) fn has_seen(&self) -> bool {
        // A queue that is full has an event as well, and cannot be read as "nothing happened".
        let mut buffer = [0; 1024];
        while rustix::io::read(&self.events, &mut buffer).is_ok_and(|length| length > 0) {
            self.seen.store(true, Ordering::Relaxed);
        }
        self.seen.load(Ordering::Relaxed)
    }
}
