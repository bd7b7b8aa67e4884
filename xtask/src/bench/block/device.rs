//! A loop device over an image of its own, gone whatever happens.

use std::fs::File;
use std::process::Command;

use anyhow::{Context as _, Result};
use rustix::fs::FallocateFlags;

use crate::process;

/// Bytes of the image.
pub(super) const SIZE: u64 = 1 << 30;

/// A loop device. The image has no name any more and the device is told to go with its last user,
/// which is this: both end with this process, also when it is killed.
pub(super) struct LoopDevice {
    node: String,
    _user: File,
}

impl LoopDevice {
    /// Makes an image in `/var/tmp`, all of it allocated and written, and attaches it as `losetup`
    /// does by default.
    pub(super) fn new() -> Result<Self> {
        let image = tempfile::NamedTempFile::new_in("/var/tmp").context("make an image")?;
        let size = SIZE;
        rustix::fs::fallocate(image.as_file(), FallocateFlags::empty(), 0, size)
            .context("allocate the image")?;
        let path = image.path().to_str().context("temporary names are text")?;
        let printed = process::output(Command::new("losetup").args(["--find", "--show", path]))?;
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

    /// Blocks that were only allocated take longer the first time.
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
