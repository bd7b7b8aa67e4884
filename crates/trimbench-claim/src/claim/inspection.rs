//! Inspects the target of a path, without opening anything for writing.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, StatxFlags, major, minor};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Errno};

use super::loops::{AttachedLoop, FileId};
use super::naming::{Meaning, links_to};
use super::refusal::{ClaimError, ReadOnly, Refusal};
use super::signatures::{ProbeError, Signature, open_to_read, probe, probe_partitions};
use super::uses::{self, Use, Uses};
use crate::inspect::{device_facts, direct_io_alignment, environment, is_physical, kind_of};
use crate::inspect::{machine, model_of};
use crate::mounts::{Mount, mount_of};
use crate::sysfs::{BlockDevice, SECTOR, devices_of};

#[cfg(test)]
mod tests;
mod tree;

/// What a target is, what it stands on, and what uses it, at one moment.
///
/// Its `Display` is a short tree, for dry runs and beside refusals.
#[derive(Clone, Debug)]
pub struct Inspection {
    pub(super) given: PathBuf,
    /// Where it led: the device node, or the file, without symbolic links.
    pub(super) path: PathBuf,
    pub(super) subject: Subject,
    pub(super) size: Bytes,
    pub(super) read_only: Option<ReadOnly>,
    pub(super) uses: Uses,
    pub(super) signatures: Result<Vec<Signature>, ProbeError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Device(Box<Device>),
    Image(Box<Image>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) block: BlockDevice,
    pub(super) numbers: (u32, u32),
    /// The generation of the disk; `None` before Linux 5.15.
    pub(super) sequence: Option<u64>,
    /// Where a partition begins, in sectors.
    pub(super) start: Option<u64>,
    /// What cannot change while it is the same device.
    pub(super) serial: Option<String>,
    pub(super) wwid: Option<String>,
    pub(super) links: Vec<PathBuf>,
    /// What a loop device stands on.
    pub(super) backing: Option<AttachedLoop>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) file: FileId,
    pub(super) names: u64,
    pub(super) mount: Mount,
}

impl Inspection {
    /// Follows `path` to what it means at this moment, and looks at that.
    ///
    /// Devices are opened for reading at most, to ask for signatures. What may not be read is left
    /// out here; [`claim`](Self::claim) refuses what it cannot be sure of.
    pub fn of(path: &Path) -> Result<Self, ClaimError> {
        let mut seen = Self::without_signatures(path)?;
        seen.signatures = seen.read_signatures();
        Ok(seen)
    }

    /// The same but for what it carries, which takes a program to find out.
    pub(super) fn without_signatures(given: &Path) -> Result<Self, Refusal> {
        let unreachable = |error: std::io::Error| match error.raw_os_error() {
            Some(libc::ENOENT) => Refusal::Missing { path: given.to_owned() },
            code => Refusal::Unreachable {
                path: given.to_owned(),
                errno: Errno(code.unwrap_or(Errno::EIO.0)),
            },
        };
        let path = fs::canonicalize(given).map_err(unreachable)?;
        let data = fs::symlink_metadata(&path).map_err(unreachable)?;
        let kind = data.file_type();
        if kind.is_block_device() {
            return Self::of_device(given, path, (major(data.rdev()), minor(data.rdev())));
        }
        if kind.is_file() {
            return Self::of_image(given, path, &data);
        }
        let what = match kind {
            _ if kind.is_dir() => "directory",
            _ if kind.is_char_device() => "character device",
            _ if kind.is_fifo() => "pipe",
            _ => "socket",
        };
        Err(Refusal::WrongType { path: given.to_owned(), what })
    }

    fn of_device(given: &Path, path: PathBuf, numbers: (u32, u32)) -> Result<Self, Refusal> {
        let block = BlockDevice::from_numbers(numbers.0, numbers.1).ok_or_else(|| {
            let folder = PathBuf::from(format!("/sys/dev/block/{}:{}", numbers.0, numbers.1));
            // A node can outlive its device.
            Refusal::Unknown { path: path.clone(), source_file: folder, errno: Errno::ENODEV }
        })?;
        let backing = AttachedLoop::of(&block);
        let uses = uses::of_device(&block, backing.as_ref())?;
        let is_set = |flag: Option<u64>| flag.is_some_and(|flag| flag != 0);
        let read_only = is_set(block.own_number("ro")) || is_set(block.number("ro"));
        let size = Bytes(block.own_number("size").unwrap_or(0).saturating_mul(SECTOR));
        let device = Device {
            numbers,
            sequence: block.number("diskseq"),
            start: block.own_number("start"),
            serial: block.attribute("serial").or_else(|| block.attribute("device/serial")),
            wwid: uses::wwid(&block.whole()),
            links: links_to(numbers),
            backing,
            block,
        };
        Ok(Self {
            given: given.to_owned(),
            path,
            subject: Subject::Device(Box::new(device)),
            size,
            read_only: read_only.then_some(ReadOnly::Device),
            uses,
            signatures: Ok(Vec::new()),
        })
    }

    fn of_image(given: &Path, path: PathBuf, data: &fs::Metadata) -> Result<Self, Refusal> {
        let mount = mount_of(&path)?;
        let file = (data.dev(), data.ino());
        let uses = uses::of_file(file)?;
        let flags = rustix::fs::statvfs(&path).map(|status| status.f_flag);
        let is_read_only = flags.is_ok_and(|flags| flags.contains(StatVfsMountFlags::RDONLY));
        let read_only = match () {
            () if is_read_only => Some(ReadOnly::Mount),
            () if data.mode() & 0o222 == 0 => Some(ReadOnly::Mode),
            () => None,
        };
        let image = Image { file, names: data.nlink(), mount };
        Ok(Self {
            given: given.to_owned(),
            path,
            subject: Subject::Image(Box::new(image)),
            size: Bytes(data.len()),
            read_only,
            uses,
            signatures: Ok(Vec::new()),
        })
    }

    /// The device node or file that it led to, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The filesystem that an image file, or the file below a loop device, lies on; `None` for
    /// other devices.
    pub fn image_filesystem(&self) -> Option<String> {
        match &self.subject {
            Subject::Image(image) => Some(image.mount.filesystem.clone()),
            Subject::Device(device) => {
                let backing = device.backing.as_ref()?;
                crate::mounts::mount_of(&backing.path).ok().map(|mount| mount.filesystem)
            }
        }
    }

    /// Whether it is a physical SSD, as far as the kernel can tell.
    pub fn is_physical_ssd(&self) -> bool {
        self.device().is_some_and(|device| is_physical(&device.block))
    }

    /// Whether it is a regular file.
    pub fn is_image(&self) -> bool {
        matches!(self.subject, Subject::Image(_))
    }

    /// How much it holds.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// The drives whose flash its writes wear in the end: the whole disks that stand on nothing
    /// else. Empty where there is none (tmpfs), or none is known.
    pub fn drives(&self) -> Vec<BlockDevice> {
        let own = self.device().map(|device| device.block.clone());
        lowest(own.into_iter().chain(self.below()))
    }

    /// The same of what the filesystem of a directory writes to.
    pub fn drives_below(directory: &Path) -> Vec<BlockDevice> {
        let devices = mount_of(directory).map(|mount| devices_of(&mount));
        lowest(all_below(devices.unwrap_or_default()))
    }

    /// What its drives hold together; `None` without any.
    pub fn drives_size(&self) -> Option<Bytes> {
        size_of(&self.drives())
    }

    /// The same of the drives below a directory.
    pub fn drives_size_below(directory: &Path) -> Option<Bytes> {
        size_of(&Self::drives_below(directory))
    }

    /// What offsets and lengths must be multiples of. For an image, what direct I/O on its
    /// filesystem asks for; `None` where the kernel does not say.
    pub fn logical_block(&self) -> Option<Bytes> {
        match &self.subject {
            Subject::Device(device) => device.block.number("queue/logical_block_size"),
            Subject::Image(_) => direct_io_alignment(&self.path),
        }
        .map(Bytes)
    }

    /// What `--destroy` must say, any one of them; the one to recommend first.
    pub fn destroy_names(&self) -> Vec<PathBuf> {
        self.meaning().map(|meaning| meaning.names()).unwrap_or_default()
    }

    /// What uses it, and what uses what stands on it or shows the same bytes.
    pub(super) fn uses(&self) -> &[Use] {
        &self.uses.list
    }

    /// What it is, for the record: stable kebab-case keys. Nothing in it changes by use.
    pub fn identity(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut add = |key: &str, text: Option<String>| {
            found.extend(text.map(|text| (key.to_owned(), text)));
        };
        add("path", Some(to_text(&self.path)));
        add("size-bytes", Some(self.size.0.to_string()));
        add("logical-block-bytes", self.logical_block().map(|block| block.0.to_string()));
        match &self.subject {
            Subject::Device(device) => {
                let (major, minor) = device.numbers;
                let block = &device.block;
                let partition = block.is_partition();
                add("kind", Some(kind_of(block).id().to_owned()));
                add("device-name", Some(block.name.clone()));
                add("device-number", Some(format!("{major}:{minor}")));
                add("partition-of", partition.then(|| block.disk_name().to_owned()));
                add("model", model_of(block));
                add("serial", device.serial.clone());
                add("wwid", device.wwid.clone());
                add("eui", block.attribute("eui"));
                add("nguid", block.attribute("nguid"));
                add("uuid", block.attribute("uuid").or_else(|| block.attribute("dm/uuid")));
                add("mapper-name", block.attribute("dm/name"));
                add("by-id", device.links.first().map(to_text));
                let backing = device.backing.as_ref();
                add("backing-file", backing.map(|backing| to_text(&backing.path)));
            }
            Subject::Image(image) => {
                add("kind", Some("image".to_owned()));
                add("inode", Some(image.file.1.to_string()));
                // A new file may get the number of a removed one.
                add("born", born(&self.path));
                add("filesystem", Some(image.mount.filesystem.clone()));
            }
        }
        found
    }

    /// The machine and the stack, for the record: the target first, then what it stands on with
    /// keys that end in `-2`, `-3`, ...; keys as of [`environment`].
    pub fn environment(&self) -> Result<BTreeMap<String, String>, ClaimError> {
        let Some(device) = self.device() else {
            return Ok(environment(&self.path).map_err(Refusal::from)?);
        };
        let mut found = BTreeMap::new();
        machine(&mut found);
        let below = self.below();
        let stack = std::iter::once(&device.block).chain(&below);
        for (position, block) in stack.enumerate() {
            let suffix = if position == 0 { String::new() } else { format!("-{}", position + 1) };
            device_facts(block, &suffix, &mut found);
        }
        Ok(found)
    }

    /// Whether the regular file `file` would be overwritten with it: because it is the file, or
    /// shows it, or because the file lies on a filesystem that stands on it.
    pub fn holds(&self, file: &Path) -> Result<bool, ClaimError> {
        let other = Self::without_signatures(file)?;
        let Subject::Image(found) = &other.subject else { return Ok(false) };
        Ok(match &self.subject {
            Subject::Image(image) => image.file == found.file,
            Subject::Device(device) => {
                let shown = device.backing.as_ref().and_then(|backing| backing.file);
                let own =
                    |below: &BlockDevice| *below == device.block || below.whole() == device.block;
                shown == Some(found.file) || other.below().iter().any(own)
            }
        })
    }

    /// The devices that it stands on, nearest first, each once.
    pub(super) fn below(&self) -> Vec<BlockDevice> {
        all_below(match &self.subject {
            Subject::Device(device) => stands_on(&device.block),
            Subject::Image(image) => devices_of(&image.mount),
        })
    }

    pub(super) fn device(&self) -> Option<&Device> {
        match &self.subject {
            Subject::Device(device) => Some(device),
            Subject::Image(_) => None,
        }
    }

    /// What a name must lead to, to confirm that it may be destroyed.
    pub(super) fn meaning(&self) -> Result<Meaning, Refusal> {
        let device = match &self.subject {
            Subject::Image(image) => {
                let path = self.path.clone();
                return Ok(Meaning::File { file: image.file, path, device: None });
            }
            Subject::Device(device) => device,
        };
        let numbers = device.numbers;
        let Some(backing) = &device.backing else {
            let links = device.links.clone();
            return Ok(if links.is_empty() {
                Meaning::Node { numbers, node: self.path.clone() }
            } else {
                Meaning::Linked { numbers, links }
            });
        };
        if let Some(below) = &backing.below {
            let path = self.path.clone();
            return Err(Refusal::LoopOverDevice { path, below: below.node() });
        }
        match backing.file {
            Some(file) if backing.is_named() => {
                Ok(Meaning::File { file, path: backing.path.clone(), device: Some(numbers) })
            }
            _ => {
                let backing = backing.path.clone();
                Err(Refusal::BackingGone { path: self.path.clone(), backing })
            }
        }
    }

    fn read_signatures(&self) -> Result<Vec<Signature>, ProbeError> {
        if self.size.0 == 0 {
            return Ok(Vec::new());
        }
        let device = self.label();
        let file = open_to_read(&self.path)
            .map_err(|errno| ProbeError::NotReadable { device: device.clone(), errno })?;
        let mut found = probe(file.as_fd(), &device)?;
        if let Some(device) = self.device() {
            found.extend(probe_partitions(&device.block)?);
        }
        Ok(found)
    }

    pub(super) fn label(&self) -> String {
        match &self.subject {
            Subject::Device(device) => device.block.name.clone(),
            Subject::Image(_) => to_text(self.path.file_name().unwrap_or_default()),
        }
    }
}

/// These devices and those that they stand on, nearest first, each once.
fn all_below(nearest: Vec<BlockDevice>) -> Vec<BlockDevice> {
    let mut found: Vec<BlockDevice> = Vec::new();
    let mut waiting = nearest;
    while !waiting.is_empty() {
        let device = waiting.remove(0);
        if !found.contains(&device) {
            waiting.extend(stands_on(&device));
            found.push(device);
        }
    }
    found
}

/// The whole disks of those of these devices that stand on nothing else, each once.
fn lowest(devices: impl IntoIterator<Item = BlockDevice>) -> Vec<BlockDevice> {
    let mut disks: Vec<BlockDevice> = Vec::new();
    for block in devices {
        let whole = block.whole();
        if stands_on(&block).is_empty() && !disks.contains(&whole) {
            disks.push(whole);
        }
    }
    disks
}

/// What these disks hold together; `None` if that is nothing.
fn size_of(disks: &[BlockDevice]) -> Option<Bytes> {
    let sizes = disks.iter().filter_map(|disk| disk.number("size"));
    Some(Bytes(sizes.sum::<u64>().saturating_mul(SECTOR))).filter(|size| size.0 > 0)
}

/// When a file was made, in seconds since 1970; `None` where the filesystem does not keep it.
fn born(path: &Path) -> Option<String> {
    let status = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BTIME).ok()?;
    let time = status.stx_btime;
    let known = status.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| format!("{}.{:09}", time.tv_sec, time.tv_nsec))
}

/// What is directly below a device: its members (dm, md), the disk of a partition is not; for a
/// loop device, the devices of the filesystem that its file lies on.
fn stands_on(device: &BlockDevice) -> Vec<BlockDevice> {
    let Some(backing) = AttachedLoop::of(device) else { return device.below() };
    if let Some(below) = backing.below {
        return vec![below];
    }
    mount_of(&backing.path).map(|mount| devices_of(&mount)).unwrap_or_default()
}
