//! A loop device of our own over an image file that was claimed.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use trimbench_core::Errno;

use crate::errno::errno_of;
use crate::ioctl::{LoopIo, attach_loop, free_loop};
use crate::opening;

/// How often another process may be quicker to take the free one.
const TRIES: u32 = 16;

/// Attaches the image to a free loop device, which the kernel detaches when it is closed here and
/// unmounted, however that happens. The device does its I/O through this very opening, so that its
/// locks hold on and what was claimed is what is written. The open device, and its node.
pub fn attach_loop_device(image: &OwnedFd, io: LoopIo) -> Result<(OwnedFd, PathBuf), Errno> {
    let open =
        |path: &Path| rustix::fs::open(path, opening::WRITE, Mode::empty()).map_err(errno_of);
    let control = open(Path::new("/dev/loop-control"))?;
    let mut last = Errno(libc::EBUSY);
    for _ in 0..TRIES {
        let node = PathBuf::from(format!("/dev/loop{}", free_loop(control.as_fd())?));
        let device = open(&node)?;
        match attach_loop(device.as_fd(), image.as_fd(), io) {
            Ok(()) => return Ok((device, node)),
            Err(errno @ Errno(libc::EBUSY)) => last = errno,
            Err(errno) => return Err(errno),
        }
    }
    Err(last)
}
