//! Where the probe reads: the blocks of a file of our own, followed down the stack.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use trimbench_claim::mounts::{Mount, mount_of};
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_claim::{errno_in, errno_of, opening};
use trimbench_core::units::index;
use trimbench_core::{Bytes, Errno};
use trimbench_linux::{AlignedBuffer, FileExtent, file_extents};

use super::file::{FILE, FileKeeper, NoFile};

/// Bytes of a read.
pub(super) const READ: u64 = 4_096;
const SECTOR: u64 = 512;
/// Loop devices above each other, at most.
const DEPTH: usize = 8;

/// Blocks that can be read by a probe.
#[derive(Debug)]
pub struct ProbePlace {
    /// Opened past the page cache.
    pub(super) file: File,
    /// Where the reads are: bytes.
    pub(super) offsets: Vec<u64>,
    /// The device whose requests are counted.
    pub device: BlockDevice,
    /// What is read, for people: "`/dev/vda`, 3 layers down".
    pub what: String,
    /// Who has the file that the blocks are of. Dropped after `file`.
    _keeper: FileKeeper,
}

/// Why there is no probe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbePlaceError {
    /// The filesystem takes no file: it is read-only or full, or cannot make one without a name.
    #[error("no file for probe reads can be made in `{}`: {errno}", path.display())]
    File {
        /// The mount point.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The filesystem did not answer within two seconds: it is frozen, or its device is stuck.
    #[error("`{}` did not take a file of 1 MiB within 2 s: is it frozen?", path.display())]
    Stuck {
        /// The mount point.
        path: PathBuf,
    },
    /// Neither the file nor a device below can be read past the page cache.
    #[error("the probe cannot read `{}` past the page cache: {errno}", path.display())]
    Read {
        /// The file or device.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
}

impl ProbePlace {
    /// Makes the file in an open directory of a mount and looks where its blocks are.
    pub fn in_mount(mount: &Mount, directory: &OwnedFd) -> Result<Self, ProbePlaceError> {
        let path = &mount.mount_point;
        let failed = |errno| ProbePlaceError::File { path: path.clone(), errno };
        let made = FileKeeper::start(directory.as_fd());
        let (file, keeper) = made.map_err(|error| match error {
            NoFile::Refused(errno) => failed(errno),
            NoFile::Stuck => ProbePlaceError::Stuck { path: path.clone() },
        })?;
        let offsets = (0..FILE / READ).map(|at| at * READ).collect();
        let device = devices_of(mount).into_iter().next();
        let device = device.ok_or(failed(errno_of(rustix::io::Errno::NODEV)))?;
        let what = "its own file".to_owned();
        let place = Self { file, offsets, device, what, _keeper: keeper };
        place.descended(mount)
    }

    /// The same blocks, at the lowest device where they can be found.
    fn descended(mut self, mount: &Mount) -> Result<Self, ProbePlaceError> {
        let extents = file_extents(self.file.as_fd()).unwrap_or_default();
        let mut offsets = map(&self.offsets, &extents);
        let mut mount = mount.clone();
        let mut layers = 0;
        while layers < DEPTH && has_device_addresses(&mount) && !offsets.is_empty() {
            let Some(device) = only_device(&mount) else { break };
            // A partition begins somewhere on its disk.
            let (disk, shift) = (device.whole(), start_of(&device));
            offsets = offsets.iter().map(|offset| offset + shift).collect();
            if let Ok(file) = open_direct(&disk.node()) {
                self.what = format!("`{}`", disk.node().display());
                (self.file, self.offsets) = (file, offsets.clone());
            } else if let Some((file, places)) = (layers > 0).then(|| own_program(&mount)).flatten()
            {
                // Some machines let nobody open the disk that they run on.
                self.what = format!("this program's file on `{}`", disk.node().display());
                (self.file, self.offsets) = (file, places);
            } else {
                break;
            }
            layers += 1;
            self.device = disk.clone();
            let Some((backing, extents, shift)) = backing_of(&disk) else { break };
            offsets = offsets.iter().map(|offset| offset + shift).collect();
            offsets = map(&offsets, &extents);
            mount = backing;
        }
        let mut block = AlignedBuffer::new(index(READ));
        let first = self.offsets[0];
        let read = self.file.read_exact_at(&mut block, first);
        let path = self.device.node();
        read.map_err(|error| ProbePlaceError::Read { path, errno: errno_in(&error) })?;
        Ok(self)
    }

    /// Bytes that the probe has written, once.
    pub const WRITTEN: Bytes = Bytes(FILE);
}

pub(super) fn open_direct(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECT | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// This program's own file, if it is on the filesystem of this mount, and the places of its blocks.
fn own_program(mount: &Mount) -> Option<(File, Vec<u64>)> {
    let file = open_direct(Path::new("/proc/self/exe")).ok()?;
    let status = rustix::fs::fstat(&file).ok()?;
    let device = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
    let blocks = u64::try_from(status.st_size).ok()? / READ;
    let places = (0..blocks).map(|at| at * READ).collect();
    (device == mount.device && blocks > 0).then_some((file, places))
}

/// Whether a file's extents are addresses of its one device. Those of btrfs are its own.
fn has_device_addresses(mount: &Mount) -> bool {
    matches!(mount.filesystem.as_str(), "ext2" | "ext3" | "ext4" | "xfs" | "f2fs" | "vfat")
}

fn only_device(mount: &Mount) -> Option<BlockDevice> {
    let mut devices = devices_of(mount);
    let device = devices.pop()?;
    devices.is_empty().then_some(device)
}

/// Where a partition begins on its disk, bytes.
fn start_of(device: &BlockDevice) -> u64 {
    if device.is_partition() { device.own_number("start").unwrap_or(0) * SECTOR } else { 0 }
}

/// The file below a loop device: its mount, its extents, and where in it the device begins.
fn backing_of(disk: &BlockDevice) -> Option<(Mount, Vec<FileExtent>, u64)> {
    if !disk.name.starts_with("loop") {
        return None;
    }
    let path = PathBuf::from(disk.attribute("loop/backing_file")?);
    let mount = mount_of(&path).ok().filter(has_device_addresses)?;
    let file = rustix::fs::open(&path, opening::READ, Mode::empty()).ok()?;
    let extents = file_extents(file.as_fd()).ok()?;
    Some((mount, extents, disk.number("loop/offset").unwrap_or(0)))
}

/// Where these places of a file are on its device; those without a place of their own are left
/// out.
fn map(offsets: &[u64], extents: &[FileExtent]) -> Vec<u64> {
    let place = |offset: &u64| {
        let at = extents.partition_point(|it| it.logical <= *offset).checked_sub(1)?;
        let FileExtent { logical, physical, length } = extents[at];
        let within = offset - logical;
        (within + READ <= length).then_some(physical + within)
    };
    offsets.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests;
