//! Which names confirm that a target may be destroyed.
//!
//! A kernel name (`/dev/sdb`) means another disk after the next reboot, and one in a history of
//! commands is a trap. Names that count follow the thing itself: the by-id link of a device, the
//! path of an image file, the backing file of a loop device.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::loops::FileId;
use super::refusal::Refusal;
use crate::errno::errno_of;
use crate::sysfs::{BlockDevice, names_in};

#[cfg(test)]
mod tests;

/// Where udev keeps names made of serial numbers.
pub(super) const BY_ID: &str = "/dev/disk/by-id";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A block device with by-id links, one of which must be given.
    Linked { numbers: (u32, u32), links: Vec<PathBuf> },
    /// A block device that has none: its own node, which may not be a symbolic link.
    Node { numbers: (u32, u32), node: PathBuf },
    /// A regular file, by its canonical path: an image, or what a loop device stands on.
    File { file: FileId, path: PathBuf, device: Option<(u32, u32)> },
}

impl Meaning {
    /// The names that count, the one to recommend first.
    pub(super) fn names(&self) -> Vec<PathBuf> {
        match self {
            Self::Linked { links, .. } => links.clone(),
            Self::Node { node, .. } => vec![node.clone()],
            Self::File { path, .. } => vec![path.clone()],
        }
    }

    /// Whether `given`, as it was given, is a name that counts and leads here at this moment.
    fn is_named_by(&self, given: &Path) -> bool {
        match self {
            Self::Linked { numbers, links } => {
                links.iter().any(|link| link == given) && numbers_of(given) == Some(*numbers)
            }
            Self::Node { numbers, node } => {
                node == given && !is_link(given) && numbers_of(given) == Some(*numbers)
            }
            Self::File { file, .. } => {
                let canonical = fs::canonicalize(given);
                // Equal to the byte: `Path` would hide a `.` or a doubled slash only.
                canonical.is_ok_and(|path| path == given) && file_of(given) == Some(*file)
            }
        }
    }

    /// Whether `given` leads here at all, by whatever name.
    fn is_reached_by(&self, given: &Path) -> bool {
        match self {
            Self::Linked { numbers, .. } | Self::Node { numbers, .. } => {
                numbers_of(given) == Some(*numbers)
            }
            Self::File { file, device, .. } => {
                file_of(given) == Some(*file) || (device.is_some() && numbers_of(given) == *device)
            }
        }
    }
}

/// Refuses unless one of `given` names the target `path`. Names of other targets may be among them.
pub(super) fn confirm(path: &Path, meaning: &Meaning, given: &[PathBuf]) -> Result<(), Refusal> {
    if given.iter().any(|name| meaning.is_named_by(name)) {
        return Ok(());
    }
    let path = path.to_owned();
    let names = meaning.names();
    let Some(first) = given.first() else { return Err(Refusal::NotNamed { path, names }) };
    if let Some(weak) = given.iter().find(|name| meaning.is_reached_by(name)) {
        return Err(Refusal::WeakName { path, given: weak.clone(), names });
    }
    for name in given {
        if let Err(error) = fs::metadata(name) {
            let errno = errno_of(error);
            return Err(Refusal::NoSuchName { path, given: name.clone(), errno, names });
        }
    }
    let leads_to = fs::canonicalize(first).unwrap_or_else(|_| first.clone());
    Err(Refusal::WrongName { path, given: first.clone(), leads_to, names })
}

/// The by-id links that lead to a device, the most telling first: those with model and serial
/// number before those of bare identifiers (`wwn-`, `nvme-eui.`), then by name. Links that udev
/// makes of what the device carries are left out: they go when it is overwritten.
pub(super) fn links_to(numbers: (u32, u32)) -> Vec<PathBuf> {
    let folder = Path::new(BY_ID);
    let mut links: Vec<PathBuf> = names_in(folder).iter().map(|name| folder.join(name)).collect();
    links.retain(|link| !is_of_content(link) && numbers_of(link) == Some(numbers));
    links.sort_by_key(|link| (is_bare_identifier(link), link.clone()));
    links
}

/// Whether udev made the link of a signature on the device: that of a physical volume of LVM.
fn is_of_content(link: &Path) -> bool {
    link.file_name().unwrap_or_default().to_string_lossy().starts_with("lvm-pv-uuid-")
}

fn is_bare_identifier(link: &Path) -> bool {
    let name = link.file_name().unwrap_or_default().to_string_lossy();
    ["wwn-", "nvme-eui.", "nvme-nvme.", "nvme-uuid.", "scsi-3", "dm-uuid-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn numbers_of(path: &Path) -> Option<(u32, u32)> {
    BlockDevice::from_node(path)?.numbers()
}

fn file_of(path: &Path) -> Option<FileId> {
    let data = fs::metadata(path).ok()?;
    data.is_file().then(|| (data.dev(), data.ino()))
}

fn is_link(path: &Path) -> bool {
    let data: io::Result<fs::Metadata> = fs::symlink_metadata(path);
    data.is_ok_and(|data| data.is_symlink())
}
