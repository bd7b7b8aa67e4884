//! Mounted filesystems and swap: who sends discards from here, and on what it stands.

use std::path::{Path, PathBuf};

use trimbench_claim::mounts::Mount;
use trimbench_core::text::to_text;

use super::{Walk, bare, sending};
use crate::layer::{Handling, Layer, LayerKind};
use crate::mount_table::{devices_of, of_source};
use crate::traps;
use crate::tree::SystemFact;

/// Filesystems that keep their files in memory, or have none.
const WITHOUT_DRIVE: [&str; 17] = [
    "tmpfs",
    "ramfs",
    "devtmpfs",
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "bpf",
    "mqueue",
    "hugetlbfs",
    "configfs",
    "pstore",
    "efivarfs",
];
/// Filesystems that are written once, as an image, and never free a block. UDF is one where it is
/// mounted read-only.
const NEVER_FREES: [&str; 5] = ["squashfs", "erofs", "iso9660", "cramfs", "romfs"];
/// Filesystems of a server.
const OF_SERVER: [&str; 10] =
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "afs", "lustre", "virtiofs"];

/// The layer of a mounted filesystem, and those below it.
pub(super) fn layer(walk: &Walk<'_>, mount: &Mount, depth: usize) -> Layer {
    let place = mount.mount_point.display().to_string();
    let kind = mount.filesystem.as_str();
    let titled = |layer: Layer| Layer { title: kind.to_owned(), ..layer };
    let of_kind = |kind, handling| titled(bare(kind, &place, handling));
    if depth > super::MAX_DEPTH {
        let why = "the layers stand on each other without end".to_owned();
        return of_kind(LayerKind::Filesystem, Handling::Unknown { why });
    }
    if WITHOUT_DRIVE.contains(&kind) {
        return of_kind(LayerKind::Filesystem, Handling::HasNoDrive);
    }
    if NEVER_FREES.contains(&kind) || kind == "udf" && walk.system.mounts.is_read_only(mount) {
        let layer = of_kind(LayerKind::Filesystem, Handling::HasNoDrive);
        let why = format!("it is a read-only {kind}, which never frees blocks");
        return Layer { nothing_to_trim: Some(why), ..layer };
    }
    if OF_SERVER.contains(&kind) {
        let why = format!("its files are on a server (`{}`): ask there", to_text(&mount.source));
        return of_kind(LayerKind::Filesystem, Handling::Unknown { why });
    }
    match kind {
        "overlay" => overlay(walk, mount, depth),
        "zfs" => titled(pool(walk, mount, depth)),
        _ => titled(plain(walk, mount, depth)),
    }
}

/// A filesystem on block devices.
fn plain(walk: &Walk<'_>, mount: &Mount, depth: usize) -> Layer {
    let place = mount.mount_point.display().to_string();
    let devices = devices_of(walk.system.tree, mount);
    if devices.is_empty() {
        let handling = Handling::Unknown { why: why_no_device(walk, mount) };
        return bare(LayerKind::Filesystem, &place, handling);
    }
    let below: Vec<Layer> = devices.iter().map(|it| walk.device(it, depth + 1)).collect();
    let handling = sending::handling(walk, mount, &below);
    let mut layer = bare(LayerKind::Filesystem, &place, handling);
    layer.traps = traps::of_filesystem(walk.system, mount, &layer, &below);
    Layer { below, ..layer }
}

/// Why nothing is seen below a filesystem.
fn why_no_device(walk: &Walk<'_>, mount: &Mount) -> String {
    let source = to_text(&mount.source);
    let kind = &mount.filesystem;
    let blocks = walk.system.tree.names("/sys/class/block");
    match blocks {
        SystemFact::Unreadable(obstacle) => obstacle.words(),
        SystemFact::Absent => {
            "`/sys/class/block` is not there: without sysfs no layer can be seen".into()
        }
        SystemFact::Known(_) if kind.starts_with("fuse") => format!(
            "`{kind}` is a program that serves the files (`{source}`): only it knows what is below"
        ),
        SystemFact::Known(_) => match mount.device {
            (0, _) => format!("the kernel names no device of it (`{source}`)"),
            (major, minor) => format!(
                "`/sys/dev/block/{major}:{minor}` of its device `{source}` is hidden, as in a \
                 container: ask on the host"
            ),
        },
    }
}

/// An overlay writes to its upper directory, and deletes there.
fn overlay(walk: &Walk<'_>, mount: &Mount, depth: usize) -> Layer {
    let place = mount.mount_point.display().to_string();
    let titled = |handling, below| Layer {
        title: "overlay".to_owned(),
        below,
        ..bare(LayerKind::Overlay, &place, handling)
    };
    let upper = mount.options.split(',').find_map(|option| option.strip_prefix("upperdir="));
    let Some(upper) = upper else {
        let why = "it has no upper directory: nothing is written or deleted in it".to_owned();
        return titled(Handling::Unknown { why }, Vec::new());
    };
    let upper = PathBuf::from(trimbench_claim::mounts::unescape(upper));
    if upper.is_relative() {
        let why = format!(
            "it was mounted with a relative upper directory (`{}`), and the kernel does not show \
             relative to what: ask about that directory itself",
            upper.display()
        );
        return titled(Handling::Unknown { why }, Vec::new());
    }
    // From within a container the host's directories are not visible.
    let is_visible = walk.system.tree.exists(&upper);
    let lower = walk.system.mounts.of_path(&upper);
    let lower = lower.filter(|it| is_visible && it.mount_point != mount.mount_point);
    if let Some(lower) = lower {
        return titled(Handling::Passes, vec![layer(walk, lower, depth + 1)]);
    }
    let why = format!(
        "its upper directory `{}` cannot be seen from here, as in a container: ask on the host, \
         as root",
        upper.display()
    );
    titled(Handling::Unknown { why }, Vec::new())
}

/// A dataset of ZFS: its pool trims, by a property of its own.
fn pool(walk: &Walk<'_>, mount: &Mount, depth: usize) -> Layer {
    let place = mount.mount_point.display().to_string();
    let source = to_text(&mount.source);
    let pool = source.split('/').next().unwrap_or_default().to_owned();
    let listed = walk.system.tree.printed("zpool", &["list", "-vHP", &pool]);
    let Some(listed) = listed.as_known() else {
        let why = match &listed {
            SystemFact::Unreadable(obstacle) => obstacle.words(),
            _ => "`zpool`, which knows the drives of its pool, is not installed".to_owned(),
        };
        return bare(LayerKind::Filesystem, &place, Handling::Unknown { why });
    };
    let words = listed.split_ascii_whitespace().filter(|word| word.starts_with("/dev/"));
    let below: Vec<Layer> = words
        .filter_map(|word| of_source(walk.system.tree, word))
        .map(|device| walk.device(&device, depth + 1))
        .collect();
    let autotrim =
        walk.system.tree.printed("zpool", &["get", "-H", "-o", "value", "autotrim", &pool]).known();
    let handling = sending::of_pool(walk, &pool, autotrim.as_deref(), &below);
    Layer { below, ..bare(LayerKind::Filesystem, &place, handling) }
}

/// The swap areas in use, and the layers below each.
pub(crate) fn swap_layers(walk: &Walk<'_>) -> Vec<Layer> {
    let areas = walk.system.tree.text("/proc/swaps").known().unwrap_or_default();
    let paths = areas.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    let of_path = |path: &str| {
        let path = trimbench_claim::mounts::unescape(path);
        let below = match of_source(walk.system.tree, &path.to_string_lossy()) {
            Some(device) => walk.of_device(&device),
            None => walk.of_mount(walk.system.mounts.of_path(Path::new(&path))?),
        };
        let name = path.to_string_lossy().into_owned();
        let entry = walk.system.senders.fstab.of_swap(walk.system.tree, &name);
        let traps = entry.and_then(|entry| traps::of_swap(&name, entry)).into_iter().collect();
        let layer = bare(LayerKind::Swap, &name, sending::of_swap(entry));
        Some(Layer { below: vec![below], traps, ..layer })
    };
    paths.filter_map(of_path).collect()
}
