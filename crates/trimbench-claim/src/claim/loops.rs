//! Loop devices and the files below them.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::Mode;
use trimbench_core::Errno;

use crate::errno::errno_of;
use crate::ioctl::{LoopStatus, loop_status};
use crate::opening;
use crate::sysfs::{BlockDevice, disks, numbers_of};

#[cfg(test)]
mod tests;

/// A file by device number and inode, as `stat` gives them: what a name may stop meaning.
pub(super) type FileId = (u64, u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttachedLoop {
    pub(super) name: String,
    /// The name of the backing file that the kernel remembers.
    pub(super) path: PathBuf,
    /// The backing file; `None` if neither the kernel nor the name tells.
    pub(super) file: Option<FileId>,
    /// Where in the file it begins, in bytes.
    pub(super) offset: u64,
    /// How many bytes it uses at most; 0 = all.
    pub(super) size_limit: u64,
    /// The block device below, where it is not a regular file.
    pub(super) below: Option<BlockDevice>,
    /// Why the kernel did not say what is attached; the rest is then what names suggest.
    pub(super) unknown: Option<Errno>,
}

impl AttachedLoop {
    /// What is attached to the loop device `device`; `None` if nothing is.
    pub(super) fn of(device: &BlockDevice) -> Option<Self> {
        let path = device.path("loop/backing_file")?;
        let asked = status_of(device);
        let (status, unknown) = (asked.ok(), asked.err());
        // Detached this very moment.
        if matches!(unknown, Some(Errno(libc::ENXIO))) {
            return None;
        }
        let named = fs::metadata(&path).ok().map(|data| (data.dev(), data.ino()));
        let file = status.map(|status| status.file).or(named);
        // A name that leads to another file by now tells nothing of the device below.
        let below = if named == file { BlockDevice::from_node(&path) } else { None };
        let number = |name| device.number(name).unwrap_or(0);
        Some(Self {
            name: device.disk_name().to_owned(),
            path,
            file,
            offset: status.map_or_else(|| number("loop/offset"), |status| status.offset),
            size_limit: status.map_or_else(|| number("loop/sizelimit"), |status| status.size_limit),
            below,
            unknown,
        })
    }

    /// Whether the remembered name still leads to the backing file.
    pub(super) fn is_named(&self) -> bool {
        let named = fs::symlink_metadata(&self.path).map(|data| (data.dev(), data.ino())).ok();
        named.is_some() && named == self.file
    }
}

pub(super) fn attached_loops() -> Vec<AttachedLoop> {
    let loops = disks().into_iter().filter(|disk| disk.name.starts_with("loop"));
    loops.filter_map(|disk| AttachedLoop::of(&disk)).collect()
}

/// What the kernel says of a loop device, if it may be asked.
fn status_of(device: &BlockDevice) -> Result<LoopStatus, Errno> {
    let disk = device.whole();
    let file = rustix::fs::open(disk.node(), opening::READ, Mode::empty()).map_err(errno_of)?;
    let status = rustix::fs::fstat(&file).map_err(errno_of)?;
    let numbers = numbers_of(&status);
    if disk.numbers() != Some(numbers) {
        return Err(Errno::ENODEV);
    }
    loop_status(file.as_fd())
}
