//! The block device that filesystems are made on, held open from the claim to the last unmount.
//!
//! While it is open, a loop device stays attached to its file (`losetup --detach` only takes effect
//! with the last close) and its number is given to no other disk: so nothing can be put in its
//! place between claim, mkfs and mount, nor between two makings. mkfs is given this very
//! descriptor. mount is not, because the kernel would show `/proc/self/fd/0` as the source of the
//! mount: it is given the node, which is looked at immediately before and after.
//!
//! What was made is known by its UUID, which is drawn anew for each making and read through the
//! same descriptor.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use rustix::io::pread;
use trimbench_claim::DeviceIdentity;
use trimbench_claim::mounts::mount_of;
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_core::{Errno, ProvisionError};

use super::{FilesystemKind, failed};

#[cfg(test)]
mod tests;

/// Where a superblock has its magic number and its UUID, in bytes from the start of the device.
struct Layout {
    magic: (u64, &'static [u8]),
    uuid: u64,
}

pub(super) type Uuid = [u8; 16];

/// A block device that stays what it is for as long as it is held.
#[derive(Debug)]
pub(super) struct HeldDevice {
    file: OwnedFd,
    node: PathBuf,
    identity: DeviceIdentity,
}

impl FilesystemKind {
    /// From the kernel's own headers: `fs/ext4/ext4.h`, `fs/xfs/libxfs/xfs_format.h`,
    /// `include/uapi/linux/btrfs_tree.h`, `include/linux/f2fs_fs.h`.
    const fn layout(self) -> Layout {
        match self {
            Self::Ext4 => Layout { magic: (1024 + 0x38, &[0x53, 0xEF]), uuid: 1024 + 0x68 },
            Self::Xfs => Layout { magic: (0, b"XFSB"), uuid: 32 },
            Self::Btrfs => Layout { magic: ((64 << 10) + 64, b"_BHRfS_M"), uuid: (64 << 10) + 32 },
            Self::F2fs => Layout { magic: (1024, &[0x10, 0x20, 0xF5, 0xF2]), uuid: 1024 + 0x6C },
        }
    }
}

impl HeldDevice {
    /// Holds what is open as `file`, whose node is `node`.
    pub(super) fn new(file: OwnedFd, node: PathBuf) -> Result<Self, Errno> {
        let identity = DeviceIdentity::of(file.as_fd())?;
        Ok(Self { file, node, identity })
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn node(&self) -> &Path {
        &self.node
    }

    /// That it is what was claimed, and that its node leads to it.
    pub(super) fn check(&self) -> Result<(), ProvisionError> {
        let found = DeviceIdentity::of(self.file.as_fd());
        let node = BlockDevice::from_node(&self.node).and_then(|device| device.numbers());
        if found == Ok(self.identity) && node == Some(self.identity.numbers) {
            return Ok(());
        }
        Err(self.exchanged("another device, disk or file has taken its place"))
    }

    /// That it carries the filesystem that we made.
    pub(super) fn check_carries(
        &self,
        kind: FilesystemKind,
        uuid: Uuid,
    ) -> Result<(), ProvisionError> {
        self.check()?;
        if carried(self.file.as_fd(), kind) == Ok(Some(uuid)) {
            return Ok(());
        }
        Err(self.exchanged("it does not carry the filesystem that was just made on it"))
    }

    /// That this device, and nothing else, is mounted at `place`.
    pub(super) fn check_mounted(
        &self,
        kind: FilesystemKind,
        place: &Path,
    ) -> Result<(), ProvisionError> {
        let mount = mount_of(place).map_err(|error| failed("mount", error.to_string(), None))?;
        let numbers: Vec<_> = devices_of(&mount).iter().map(BlockDevice::numbers).collect();
        if mount.filesystem == kind.id() && numbers == [Some(self.identity.numbers)] {
            return Ok(());
        }
        Err(self.exchanged("something else was mounted"))
    }

    fn exchanged(&self, what: &str) -> ProvisionError {
        let reason = format!("`{}`: {what}", self.node.display());
        let advice = "see what else works on this device, and start again".to_owned();
        failed("make", reason, Some(advice))
    }
}

/// The UUID of the filesystem of this kind; `None` if there is none.
pub(super) fn carried(
    device: BorrowedFd<'_>,
    kind: FilesystemKind,
) -> Result<Option<Uuid>, rustix::io::Errno> {
    // Filesystems write past the page cache of their device.
    fadvise(device, 0, None, Advice::DontNeed)?;
    let layout = kind.layout();
    let (place, expected) = layout.magic;
    let mut magic = [0; 8];
    let magic = &mut magic[..expected.len()];
    pread(device, &mut *magic, place)?;
    let mut uuid = Uuid::default();
    pread(device, &mut uuid, layout.uuid)?;
    Ok((magic == expected).then_some(uuid))
}
