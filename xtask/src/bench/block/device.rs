//! A loop device over an image in memory, which is removed in every case.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::process::Command;

use anyhow::{Context as _, Result};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use crate::process;

/// Bytes of the image.
pub(super) const SIZE: u64 = 1 << 30;

/// A loop device. The image has no name and the device is told to go with its last user,
/// which is this: both end with this process, also when it is killed.
pub(super) struct LoopDevice {
    node: String,
    _user: File,
}

impl LoopDevice {
    /// Makes an image in memory, all of it written, and attaches it as `losetup` does by default.
    pub(super) fn new() -> Result<Self> {
        let image = memfd_create("bench-block", MemfdFlags::CLOEXEC).context("make an image")?;
        ftruncate(&image, SIZE).context("give the image its size")?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), image.as_raw_fd());
        let printed = process::output(Command::new("losetup").args(["--find", "--show", &path]))?;
        let node = printed.trim().to_owned();
        let user = File::open(&node).with_context(|| format!("open {node}"));
        // In use, so this only says that it goes with its last user.
        let detached = process::output(Command::new("losetup").args(["--detach", &node]));
        let device = Self { node, _user: user? };
        detached?;
        device.write_once()?;
        Ok(device)
    }

    /// `/dev/loop0`.
    pub(super) fn node(&self) -> &str {
        &self.node
    }

    /// Pages that were never written take longer the first time.
    fn write_once(&self) -> Result<()> {
        use std::io::Write as _;
        let mut file = File::options().write(true).open(&self.node);
        let file = file.as_mut().map_err(|error| anyhow::anyhow!("open {}: {error}", self.node))?;
        let zeroes = vec![0x5a; 1 << 20];
        for _ in 0..SIZE >> 20 {
            file.write_all(&zeroes).context("write the image once")?;
        }
        file.sync_all().context("write the image once")
    }
}
