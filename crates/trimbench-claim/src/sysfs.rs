//! Block devices as sysfs shows them: attributes of the disk, counters of the device itself.
//!
//! A partition has counters of its own, but its queue is its disk's.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat, major, minor};
use trimbench_core::text::to_text;

use crate::mounts::Mount;

/// sysfs counts sizes in sectors of this many bytes, whatever the device's blocks.
pub(crate) const SECTOR: u64 = 512;

/// A block device that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// As the kernel names it: `vda1`.
    pub name: String,
    own: PathBuf,
    /// Its disk's folder: the same unless this is a partition.
    disk: PathBuf,
}

impl BlockDevice {
    /// The device of these numbers; `None` if sysfs knows none.
    pub fn from_numbers(major: u32, minor: u32) -> Option<Self> {
        let own = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
        let name = own.file_name()?.to_str()?.to_owned();
        let disk =
            if own.join("partition").exists() { own.parent()?.to_owned() } else { own.clone() };
        Some(Self { name, own, disk })
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let numbers = fs::read_to_string(format!("/sys/class/block/{name}/dev")).ok()?;
        let (major, minor) = numbers.trim().split_once(':')?;
        Self::from_numbers(major.parse().ok()?, minor.parse().ok()?)
    }

    /// The device of this node (`/dev/vda`).
    pub fn from_node(node: &Path) -> Option<Self> {
        let status = rustix::fs::stat(node).ok()?;
        let is_block = FileType::from_raw_mode(status.st_mode) == FileType::BlockDevice;
        let (major, minor) = numbers_of(&status);
        is_block.then(|| Self::from_numbers(major, minor))?
    }

    /// The file of its own counters.
    pub fn stat_path(&self) -> PathBuf {
        self.own.join("stat")
    }

    /// The name of its disk.
    pub fn disk_name(&self) -> &str {
        self.disk.file_name().and_then(|name| name.to_str()).unwrap_or(&self.name)
    }

    /// The folder of its disk.
    pub fn disk(&self) -> &Path {
        &self.disk
    }

    /// An attribute of the disk (`queue/scheduler`), trimmed; `None` if absent, unreadable or
    /// empty.
    pub fn attribute(&self, name: &str) -> Option<String> {
        attribute(&self.disk.join(name))
    }

    /// An attribute that is a path, to the byte.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let bytes = fs::read(self.disk.join(name)).ok()?;
        let path = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
    }

    /// An attribute that is a number; `None` also where it is negative.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// Requests that the disk works on at once, else those that its queue holds; `None` where it
    /// has no queue.
    pub fn queue_depth(&self) -> Option<u64> {
        self.number("device/queue_depth").or_else(|| self.number("queue/nr_requests"))
    }

    /// An attribute of the device itself, which for a partition is not its disk's (`size`).
    pub(crate) fn own_attribute(&self, name: &str) -> Option<String> {
        attribute(&self.own.join(name))
    }

    /// The same that is a number; `None` also where it is negative.
    pub fn own_number(&self, name: &str) -> Option<u64> {
        self.own_attribute(name)?.parse().ok()
    }

    /// Major and minor number; `None` if it is gone.
    pub fn numbers(&self) -> Option<(u32, u32)> {
        let text = self.own_attribute("dev")?;
        let (major, minor) = text.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Whether it is a part of a disk.
    pub fn is_partition(&self) -> bool {
        self.own != self.disk
    }

    /// The whole disk: itself unless this is a partition.
    #[must_use]
    pub fn whole(&self) -> Self {
        let name = self.disk_name().to_owned();
        Self { name, own: self.disk.clone(), disk: self.disk.clone() }
    }

    /// The partitions that the kernel knows of a disk, sorted; empty for a partition.
    pub fn partitions(&self) -> Vec<Self> {
        if self.is_partition() {
            return Vec::new();
        }
        let part = |name: String| {
            let own = self.own.join(&name);
            let is_part = own.join("partition").exists();
            is_part.then(|| Self { name, own, disk: self.disk.clone() })
        };
        names_in(&self.own).into_iter().filter_map(part).collect()
    }

    /// Kernel names of the devices that stand on this one (dm, md, bcache), sorted.
    pub(crate) fn holders(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.own.join("holders"))? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Its node as the kernel names it.
    pub fn node(&self) -> PathBuf {
        // Slashes of kernel names are exclamation marks in sysfs: `cciss!c0d0`.
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// The devices that a stacked one (dm, md) stands on; empty for others.
    pub fn below(&self) -> Vec<Self> {
        names_in(&self.disk.join("slaves"))
            .iter()
            .filter_map(|name| Self::from_name(name))
            .collect()
    }
}

/// The device numbers of an opened or named node: major and minor.
pub fn numbers_of(status: &Stat) -> (u32, u32) {
    (major(status.st_rdev), minor(status.st_rdev))
}

/// All disks, in the order of their names; partitions are not among them.
pub(crate) fn disks() -> Vec<BlockDevice> {
    let names = names_in(Path::new("/sys/block"));
    names.iter().filter_map(|name| BlockDevice::from_name(name)).collect()
}

/// UUIDs of the btrfs filesystems in use that have `device` among theirs.
pub(crate) fn btrfs_with(device: &str) -> Vec<String> {
    let filesystems = Path::new("/sys/fs/btrfs");
    let mut found = names_in(filesystems);
    found.retain(|identity| filesystems.join(identity).join("devices").join(device).exists());
    found
}

/// The content of a file of sysfs or procfs, trimmed; `None` if absent, unreadable or empty. Bytes
/// that are no text are escaped as [`to_text`] does.
pub fn attribute(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = bytes.trim_ascii();
    (!text.is_empty()).then(|| to_text(OsStr::from_bytes(text)))
}

/// The folder of a mounted btrfs in `/sys/fs/btrfs`; `None` for other filesystems.
pub fn btrfs_folder(mount: &Mount) -> Option<PathBuf> {
    if mount.filesystem != "btrfs" {
        return None;
    }
    let source = BlockDevice::from_node(Path::new(&mount.source))?;
    let identity = btrfs_with(&source.name).into_iter().next()?;
    Some(Path::new("/sys/fs/btrfs").join(identity))
}

/// The devices that a mounted filesystem keeps its data on, in the order of their names; empty
/// where there are none (tmpfs). XFS's external log and realtime device are not among them.
pub fn devices_of(mount: &Mount) -> Vec<BlockDevice> {
    if let Some(folder) = btrfs_folder(mount) {
        let names = names_in(&folder.join("devices"));
        return names.iter().filter_map(|name| BlockDevice::from_name(name)).collect();
    }
    let (major, minor) = mount.device;
    let by_number = if major == 0 { None } else { BlockDevice::from_numbers(major, minor) };
    by_number.or_else(|| BlockDevice::from_node(Path::new(&mount.source))).into_iter().collect()
}

/// The folder of sysfs that would show the device of a filesystem, where it has one and the folder
/// cannot be read, as in a container that masks it.
pub fn masked_device(mount: &Mount) -> Option<PathBuf> {
    if !devices_of(mount).is_empty() {
        return None;
    }
    let of_node = || {
        let status = rustix::fs::stat(Path::new(&mount.source)).ok()?;
        let is_block = FileType::from_raw_mode(status.st_mode) == FileType::BlockDevice;
        is_block.then(|| numbers_of(&status))
    };
    let (major, minor) = if mount.device.0 == 0 { of_node()? } else { mount.device };
    Some(PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
}

/// The names in a folder, sorted; none if it cannot be read.
pub fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}
