//! The mounts of a [`SystemTree`]: which one a path lies on, and which devices are below it.

use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{Mount, parse_mountinfo, table_of};

use crate::device::DeviceNode;
use crate::tree::{SystemFact, SystemTree};

/// The mounts, in the order of the kernel: a later one may cover an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct MountTable {
    mounts: Vec<Mount>,
}

impl MountTable {
    pub(crate) fn of(tree: &SystemTree) -> SystemFact<Self> {
        let table = tree.bytes(Path::new("/proc/self/mountinfo"));
        table.and_then(|bytes| Some(Self { mounts: parse_mountinfo(&table_of(&bytes)) }))
    }

    pub(crate) fn all(&self) -> &[Mount] {
        &self.mounts
    }

    /// The mount that a path without links lies on: the last of those with the longest place.
    pub(crate) fn of_path(&self, path: &Path) -> Option<&Mount> {
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
        above.max_by_key(|mount| mount.mount_point.components().count())
    }

    /// All mounts of the same filesystem.
    pub(crate) fn same_filesystem<'a>(
        &'a self,
        mount: &'a Mount,
    ) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |it| it.device == mount.device)
    }

    /// Whether a filesystem can be written to by none of its mounts.
    pub(crate) fn is_read_only(&self, mount: &Mount) -> bool {
        self.same_filesystem(mount).all(|it| it.has_option("ro"))
    }
}

/// The devices of a mounted filesystem.
pub(crate) fn devices_of(tree: &SystemTree, mount: &Mount) -> Vec<DeviceNode> {
    if let Some(folder) = btrfs_folder(tree, mount) {
        let names = tree.names_or_none(folder.join("devices"));
        return names.iter().filter_map(|name| DeviceNode::named(tree, name)).collect();
    }
    if mount.device.0 != 0
        && let Some(device) = DeviceNode::numbered(tree, mount.device)
    {
        return vec![device];
    }
    // bcachefs: several, with colons between them.
    let source = mount.source.to_string_lossy();
    source.split(':').filter_map(|source| of_source(tree, source)).collect()
}

/// The device of a path like `/dev/sda1` or `/dev/mapper/data`.
pub(crate) fn of_source(tree: &SystemTree, source: &str) -> Option<DeviceNode> {
    let path = Path::new(source);
    path.strip_prefix("/dev").ok()?;
    let node = tree.canonical(path).unwrap_or_else(|| path.to_owned());
    let name = node.strip_prefix("/dev").ok()?.to_str()?;
    DeviceNode::named(tree, name).or_else(|| mapped(tree, path))
}

/// A device of device mapper by the name of its mapping: a recorded tree may have no `/dev`.
fn mapped(tree: &SystemTree, path: &Path) -> Option<DeviceNode> {
    let wanted = path.strip_prefix("/dev/mapper").ok()?.to_str()?;
    let names = tree.names_or_none("/sys/class/block");
    names.iter().filter(|name| name.starts_with("dm-")).find_map(|name| {
        let device = DeviceNode::named(tree, name)?;
        let mapping = device.attribute(tree, "dm/name").known()?;
        (mapping == wanted).then_some(device)
    })
}

/// The folder of a mounted btrfs.
pub(crate) fn btrfs_folder(tree: &SystemTree, mount: &Mount) -> Option<PathBuf> {
    if mount.filesystem != "btrfs" {
        return None;
    }
    let source = of_source(tree, &mount.source.to_string_lossy())?;
    let all = Path::new("/sys/fs/btrfs");
    let names = tree.names_or_none(all);
    let has_it = |name: &&String| tree.exists(all.join(name).join("devices").join(&source.name));
    names.iter().find(has_it).map(|name| all.join(name))
}
