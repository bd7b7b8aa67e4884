//! Users of a device or image, directly or through other devices on top of it.
//!
//! For a device, everything that shows the same bytes is inspected: its partitions (or the disk
//! that it is a partition of), devices on top of them (dm, md, loop), and other paths to the same
//! disk (equal WWID). Users that are not visible (other pid namespaces, the kernel's own
//! references) are left to the kernel when the target is opened: `O_EXCL`, or a lease.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trimbench_core::text::shell_path;

use super::loops::{AttachedLoop, FileId, attached_loops};
use super::openers::{Opener, Wanted, openers};
use super::refusal::Refusal;
use crate::errno::errno_of;
use crate::mounts::{AllMounts, Unseen, all_mounts, read_table, unescape};
use crate::sysfs::{BlockDevice, btrfs_with, disks};

#[cfg(test)]
mod tests;

/// One use, of the target or of what shows the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A mounted filesystem.
    Mounted { device: String, at: PathBuf, filesystem: String, process: Option<u32> },
    /// A device of a btrfs filesystem that is mounted, wherever.
    Member { device: String, filesystem: String },
    /// A device or file that the machine swaps on.
    Swap { path: PathBuf },
    /// A device that another stands on.
    Held { device: String, holder: String },
    /// A file or device that a loop device shows.
    Attached { device: String, by: String },
    /// A file or device that a process has open.
    Open { path: PathBuf, process: u32, command: String, writes: bool, is_file: bool },
}

/// All uses that can be seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// In the order of how much they explain.
    pub(super) list: Vec<Use>,
    /// Processes whose mounts may not be read.
    pub(super) unreadable: usize,
    /// What would tell of more, and cannot be read.
    pub(super) unseen: Option<Unseen>,
}

impl Use {
    /// Whether it forbids to write. Programs that merely read a block device (udev, multipathd,
    /// smartd) are left alone; an image is expected to be closed.
    pub(super) fn forbids(&self) -> bool {
        !matches!(self, Self::Open { writes: false, is_file: false, .. })
    }

    /// What a refusal says of it.
    pub(super) fn explanation(&self) -> String {
        match self {
            Self::Mounted { device, at, process, .. } => {
                let note = match process {
                    None if at.as_os_str() == "/" => ", the running system's root".to_owned(),
                    None => String::new(),
                    Some(process) => format!(" in the mount namespace of process {process}"),
                };
                format!("`{device}` is mounted at `{}`{note}", at.display())
            }
            Self::Member { device, filesystem } => format!(
                "`{device}` belongs to the btrfs filesystem {filesystem}, which is mounted \
                 somewhere"
            ),
            Self::Swap { path } => format!("the machine swaps on `{}`", path.display()),
            Self::Attached { device, by } => {
                format!("`{device}` is attached to the loop device `{by}`")
            }
            Self::Open { path, process, command, writes, .. } => {
                let how = if *writes { " for writing" } else { "" };
                format!("process {process} (`{command}`) has `{}` open{how}", path.display())
            }
            Self::Held { .. } => self.to_string(),
        }
    }

    /// What to do about it.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Mounted { at, process: Some(process), .. } => format!(
                "if its content may be destroyed: `nsenter --target {process} --mount umount {}`",
                shell_path(at)
            ),
            Self::Mounted { at, .. } if at.as_os_str() == "/" => {
                "choose another device: this one holds the running system".to_owned()
            }
            Self::Mounted { at, .. } => {
                format!("if its content may be destroyed: `umount {}`", shell_path(at))
            }
            Self::Member { .. } => {
                "unmount the filesystem; `btrfs filesystem show` lists its devices".to_owned()
            }
            Self::Swap { path } => {
                format!("if the swap is not needed: `swapoff {}`", shell_path(path))
            }
            Self::Held { holder, .. } => {
                format!("see `lsblk -s /dev/{holder}`, and stop that first")
            }
            Self::Attached { by, .. } => {
                format!("if nothing needs the loop device: `losetup --detach /dev/{by}`")
            }
            Self::Open { process, .. } => format!("end process {process} first"),
        }
    }
}

impl std::fmt::Display for Use {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mounted { device, at, filesystem, process } => {
                write!(formatter, "`{device}` is mounted at `{}` ({filesystem})", at.display())?;
                process.map_or(Ok(()), |process| {
                    write!(formatter, " in the mount namespace of process {process}")
                })
            }
            Self::Member { device, filesystem } => {
                write!(formatter, "`{device}` belongs to the mounted btrfs {filesystem}")
            }
            Self::Swap { path } => write!(formatter, "swap on `{}`", path.display()),
            Self::Held { device, holder } => {
                write!(formatter, "`{holder}` uses `{device}`")
            }
            Self::Attached { device, by } => {
                write!(formatter, "`{device}` is attached to `{by}`")
            }
            Self::Open { path, process, command, writes, .. } => {
                let how = if *writes { "for writing" } else { "for reading" };
                let path = path.display();
                write!(formatter, "`{path}` is open {how} by process {process} (`{command}`)")
            }
        }
    }
}

/// What uses the block device `target`, whose backing file, if it is a loop device, is `backing`.
pub(super) fn of_device(
    target: &BlockDevice,
    backing: Option<&AttachedLoop>,
) -> Result<Uses, Refusal> {
    let loops = attached_loops();
    let mut list = Vec::new();
    let related = related(target, &loops, &mut list)?;
    let file = backing.and_then(|backing| backing.file);
    let others = loops.iter().filter(|other| other.name != target.disk_name());
    list.extend(file.into_iter().flat_map(|file| attached_to(file, others.clone())));
    collect(Uses { list, unseen: unseen(&loops), unreadable: 0 }, &related, file)
}

/// Who uses the block device, in words: mounts in any namespace, devices on top of it, swap, and
/// processes that have it open, but this one. What cannot be seen is said last.
pub fn users_of(node: &Path) -> Vec<String> {
    let Some(device) = BlockDevice::from_node(node) else {
        return vec![format!("that cannot be seen: `{}` is not in sysfs", node.display())];
    };
    match of_device(&device, None) {
        Ok(uses) => {
            let mut users: Vec<String> = uses.list.iter().map(ToString::to_string).collect();
            if let Some(Unseen { path, errno }) = uses.unseen {
                users.push(format!("others may: `{}` cannot be read ({errno})", path.display()));
            }
            users
        }
        Err(refusal) => vec![format!("that cannot be seen: {refusal}")],
    }
}

/// What uses the regular file `file`.
pub(super) fn of_file(file: FileId) -> Result<Uses, Refusal> {
    let loops = attached_loops();
    let list = attached_to(file, loops.iter());
    collect(Uses { list, unseen: unseen(&loops), unreadable: 0 }, &[], Some(file))
}

/// The first loop device of which it is not known what is attached to it, or why none is known.
fn unseen(loops: &[AttachedLoop]) -> Option<Unseen> {
    let disks = Path::new("/sys/block");
    if let Err(error) = fs::read_dir(disks) {
        let errno = errno_of(error);
        return Some(Unseen { path: disks.to_owned(), errno });
    }
    loops.iter().find_map(|one| {
        let path = Path::new("/dev").join(&one.name);
        one.unknown.map(|errno| Unseen { path, errno })
    })
}

fn attached_to<'a>(file: FileId, loops: impl Iterator<Item = &'a AttachedLoop>) -> Vec<Use> {
    let same = loops.filter(|other| other.file == Some(file));
    let attached = |other: &AttachedLoop| Use::Attached {
        device: other.path.display().to_string(),
        by: other.name.clone(),
    };
    same.map(attached).collect()
}

/// Everything that shows bytes of `target`; what stands on something is also noted as a use.
fn related(
    target: &BlockDevice,
    loops: &[AttachedLoop],
    uses: &mut Vec<Use>,
) -> Result<Vec<BlockDevice>, Refusal> {
    let mut related = Vec::new();
    let mut waiting = same_bytes(target);
    while let Some(device) = waiting.pop() {
        if related.contains(&device) {
            continue;
        }
        let holders = device.holders().map_err(|error| Refusal::Unknown {
            path: target.node(),
            source_file: PathBuf::from(format!("/sys/class/block/{}/holders", device.name)),
            errno: errno_of(error),
        })?;
        for holder in holders {
            waiting.extend(
                BlockDevice::from_name(&holder)
                    .map(|above| with_partitions(&above))
                    .into_iter()
                    .flatten(),
            );
            uses.push(Use::Held { device: device.name.clone(), holder });
        }
        for above in loops.iter().filter(|above| above.below.as_ref() == Some(&device)) {
            let by = above.name.clone();
            waiting.extend(
                BlockDevice::from_name(&by).into_iter().flat_map(|device| with_partitions(&device)),
            );
            uses.push(Use::Attached { device: device.name.clone(), by });
        }
        related.push(device);
    }
    Ok(related)
}

/// The device itself, its partitions or its disk, and other paths to the same disk.
fn same_bytes(target: &BlockDevice) -> Vec<BlockDevice> {
    let disk = target.whole();
    let identity = wwid(&disk);
    let is_twin =
        |other: &BlockDevice| *other != disk && identity.is_some() && wwid(other) == identity;
    let mut found = Vec::new();
    for path in std::iter::once(disk.clone()).chain(disks().into_iter().filter(is_twin)) {
        if target.is_partition() {
            let number = target.own_attribute("partition");
            let same = |part: &BlockDevice| part.own_attribute("partition") == number;
            found.extend(path.partitions().into_iter().filter(same));
            found.push(path);
        } else {
            found.extend(with_partitions(&path));
        }
    }
    found
}

fn with_partitions(device: &BlockDevice) -> Vec<BlockDevice> {
    let mut all = device.partitions();
    all.push(device.clone());
    all
}

/// The world-wide identifier of a disk; `None` where it has none.
pub(super) fn wwid(disk: &BlockDevice) -> Option<String> {
    disk.attribute("wwid").or_else(|| disk.attribute("device/wwid"))
}

/// Adds mounts, swap and processes to what is known already, and puts the most telling first.
fn collect(known: Uses, related: &[BlockDevice], file: Option<FileId>) -> Result<Uses, Refusal> {
    let all = all_mounts()?;
    let mut list = mounted(&all, related);
    let (swaps, no_swaps) = swapped(related, file);
    list.extend(swaps);
    list.extend(known.list);
    let devices = related.iter().filter_map(BlockDevice::numbers).collect();
    let wanted = Wanted { devices, files: file.into_iter().collect() };
    let openers = openers(&wanted);
    list.extend(openers.list.into_iter().map(opened));
    list.dedup();
    let unseen = known.unseen.or(no_swaps).or(openers.unseen).or(all.unseen);
    Ok(Uses { list, unreadable: all.unreadable, unseen })
}

fn opened(opener: Opener) -> Use {
    let Opener { process, command, path, writes, is_file } = opener;
    Use::Open { path, process, command, writes, is_file }
}

fn mounted(all: &AllMounts, related: &[BlockDevice]) -> Vec<Use> {
    let mut found = Vec::new();
    for seen in &all.mounts {
        let mount = &seen.mount;
        // Filesystems over several devices have no device number; their source names one of them.
        let by_name =
            || BlockDevice::from_node(Path::new(&mount.source)).and_then(|it| it.numbers());
        let numbers = if mount.device.0 == 0 { by_name() } else { Some(mount.device) };
        let Some(numbers) = numbers else { continue };
        let device = related.iter().find(|device| device.numbers() == Some(numbers));
        found.extend(device.map(|device| Use::Mounted {
            device: device.name.clone(),
            at: mount.mount_point.clone(),
            filesystem: mount.filesystem.clone(),
            process: seen.process,
        }));
    }
    for device in related {
        let names = |other: &Use| match other {
            Use::Mounted { device: mounted, .. } => *mounted == device.name,
            _ => false,
        };
        if !found.iter().any(names) {
            let member = |filesystem| Use::Member { device: device.name.clone(), filesystem };
            found.extend(btrfs_with(&device.name).into_iter().map(member));
        }
    }
    found
}

/// From `/proc/swaps`, which is absent where the kernel cannot swap; why it cannot be read.
fn swapped(related: &[BlockDevice], file: Option<FileId>) -> (Vec<Use>, Option<Unseen>) {
    let swaps = Path::new("/proc/swaps");
    let (table, unseen) = match read_table(swaps) {
        Ok(table) => (table, None),
        Err(error) => (String::new(), Unseen::of(swaps, &error)),
    };
    let paths = table.lines().skip(1).filter_map(|line| line.split([' ', '\t']).next());
    let paths = paths.map(|path| PathBuf::from(unescape(path)));
    let is_ours = |path: &PathBuf| match BlockDevice::from_node(path) {
        Some(device) => related.contains(&device),
        None => {
            fs::metadata(path).ok().map(|data| (data.dev(), data.ino())) == file && file.is_some()
        }
    };
    (paths.filter(is_ours).map(|path| Use::Swap { path }).collect(), unseen)
}
