//! A block device in a [`SystemTree`]: its attributes, its counters, what stands below it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::tree::{SystemFact, SystemTree};

/// Bytes of a sector in sysfs, whatever the logical block is.
const SECTOR: u64 = 512;

/// A block device that the tree shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceNode {
    /// As the kernel names it: `sda1`.
    pub(crate) name: String,
    /// Its folder in the tree, without links.
    own: PathBuf,
    /// Its disk's folder: the same unless this is a partition.
    disk: PathBuf,
}

/// Which discards a device accepts, by its request queue. Documentation/ABI/stable/sysfs-block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiscardLimits {
    /// The most bytes of one discard; 0: it accepts none. `None`: not to be seen.
    pub max_bytes: Option<u64>,
    /// The same without what somebody has set in `discard_max_bytes`.
    pub max_hardware_bytes: Option<u64>,
    /// Discards of less than this may do nothing.
    pub granularity_bytes: Option<u64>,
    /// How far the device's start is from a boundary of the granularity.
    pub alignment_bytes: Option<u64>,
    /// Ranges of one request.
    pub max_ranges: Option<u64>,
}

/// Discards that a device has completed since it appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiscardCount {
    /// Requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of their times, ms.
    pub time_ms: u64,
}

impl DeviceNode {
    /// The device of this name.
    pub(crate) fn named(tree: &SystemTree, name: &str) -> Option<Self> {
        // The folder of all devices is none of them, nor is what is above it.
        if matches!(name, "" | "." | "..") {
            return None;
        }
        // Slashes of kernel names are exclamation marks in sysfs: `cciss!c0d0`.
        let name = name.replace('/', "!");
        let own = ["/sys/class/block", "/sys/block"]
            .iter()
            .find_map(|folder| tree.canonical(Path::new(folder).join(&name)))?;
        let is_partition = tree.exists(own.join("partition"));
        let disk = if is_partition { own.parent()?.to_owned() } else { own.clone() };
        Some(Self { name: own.file_name()?.to_str()?.to_owned(), own, disk })
    }

    /// The device of these numbers.
    pub(crate) fn numbered(tree: &SystemTree, (major, minor): (u32, u32)) -> Option<Self> {
        let link = tree.canonical(format!("/sys/dev/block/{major}:{minor}"));
        if let Some(name) = link.as_deref().and_then(Path::file_name) {
            return Self::named(tree, name.to_str()?);
        }
        let numbers = format!("{major}:{minor}");
        let names = tree.names_or_none("/sys/class/block");
        let is_it = |name: &&String| {
            let dev = tree.text(Path::new("/sys/class/block").join(name).join("dev"));
            dev.known().is_some_and(|text| text == numbers)
        };
        Self::named(tree, names.iter().find(is_it)?)
    }

    /// Whether it is a part of a disk.
    pub(crate) fn is_partition(&self) -> bool {
        self.own != self.disk
    }

    /// The name of its disk.
    pub(crate) fn disk_name(&self) -> &str {
        self.disk.file_name().and_then(|name| name.to_str()).unwrap_or(&self.name)
    }

    /// Its disk's folder.
    pub(crate) fn disk_folder(&self) -> &Path {
        &self.disk
    }

    /// An attribute of its disk (`queue/scheduler`).
    pub(crate) fn attribute(&self, tree: &SystemTree, name: &str) -> SystemFact<String> {
        tree.text(self.disk.join(name))
    }

    /// An attribute of its disk that is a number.
    pub(crate) fn number(&self, tree: &SystemTree, name: &str) -> SystemFact<u64> {
        tree.number(self.disk.join(name))
    }

    /// Where a partition begins on its disk, in bytes; `None` of a disk.
    pub(crate) fn start_bytes(&self, tree: &SystemTree) -> Option<u64> {
        tree.number(self.own.join("start")).known()?.checked_mul(SECTOR)
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self, tree: &SystemTree) -> Option<u64> {
        tree.number(self.own.join("size")).known()?.checked_mul(SECTOR)
    }

    /// Devices that it stands on.
    pub(crate) fn below(&self, tree: &SystemTree) -> Vec<Self> {
        let names = tree.names_or_none(self.disk.join("slaves"));
        names.iter().filter_map(|name| Self::named(tree, name)).collect()
    }

    /// Whether several devices stand on it.
    pub(crate) fn is_shared(&self, tree: &SystemTree) -> bool {
        tree.names_or_none(self.own.join("holders")).len() > 1
    }

    /// Which discards it accepts.
    pub(crate) fn limits(&self, tree: &SystemTree) -> DiscardLimits {
        let number = |name: &str| self.number(tree, name).known();
        DiscardLimits {
            max_bytes: number("queue/discard_max_bytes"),
            max_hardware_bytes: number("queue/discard_max_hw_bytes"),
            granularity_bytes: number("queue/discard_granularity"),
            alignment_bytes: tree.number(self.own.join("discard_alignment")).known(),
            max_ranges: number("queue/max_discard_segments"),
        }
    }

    /// The discards that it has completed; `None` where the kernel keeps no count (before 4.18).
    pub(crate) fn discarded(&self, tree: &SystemTree) -> Option<DiscardCount> {
        let line = tree.text(self.own.join("stat")).known()?;
        let fields: Vec<u64> =
            line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [requests, _merged, sectors, time_ms] = *fields.get(11..15)? else { return None };
        Some(DiscardCount { requests, bytes: sectors.checked_mul(SECTOR)?, time_ms })
    }
}

impl DiscardLimits {
    /// Whether it accepts discards; `None`: not to be seen.
    pub fn accepts(&self) -> Option<bool> {
        self.max_bytes.map(|bytes| bytes > 0)
    }

    /// Whether it would accept them, had nobody switched them off by `discard_max_bytes`.
    pub fn is_switched_off(&self) -> bool {
        self.max_bytes == Some(0) && self.max_hardware_bytes.is_some_and(|bytes| bytes > 0)
    }
}
