//! The journal of a borrowed setting: one JSON object.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trimbench_claim::sysfs::{BlockDevice, attribute};

/// The version of the form below.
const VERSION: u32 = 1;

/// What a later process must know to put the setting back. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) version: u32,
    pub(super) boot_id: String,
    pub(super) disk: DiskIdentity,
    /// Before the first change.
    pub(super) original_bytes: u64,
    /// When the journal was written.
    pub(super) in_force_bytes: u64,
    /// What is written to the setting once the journal is there.
    pub(super) next_bytes: u64,
}

/// A disk that is not mistaken for another one that has taken its name or its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiskIdentity {
    /// As the kernel names it: `vda`.
    pub(super) name: String,
    major: u32,
    minor: u32,
    /// Counts up whenever a disk is added or its medium changes; unique in a boot.
    diskseq: u64,
}

impl Entry {
    /// Before the first change.
    pub(super) fn new(boot_id: String, disk: DiskIdentity, now: u64) -> Self {
        Self {
            version: VERSION,
            boot_id,
            disk,
            original_bytes: now,
            in_force_bytes: now,
            next_bytes: now,
        }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers and texts are JSON")
    }

    /// `None` unless it is whole, and of this version.
    pub(super) fn from_json(content: &[u8]) -> Option<Self> {
        let entry: Self = serde_json::from_slice(content).ok()?;
        (entry.version == VERSION && entry.original_bytes > 0).then_some(entry)
    }

    /// Whether the setting can have this value without anybody else having written it.
    pub(super) fn is_ours(&self, value: u64) -> bool {
        [self.original_bytes, self.in_force_bytes, self.next_bytes].contains(&value)
    }
}

impl DiskIdentity {
    /// `None` if the disk is gone, or the kernel is too old to number disks.
    pub(super) fn of(disk: &BlockDevice) -> Option<Self> {
        let (major, minor) = disk.numbers()?;
        Some(Self { name: disk.name.clone(), major, minor, diskseq: disk.number("diskseq")? })
    }

    /// The disk that has these numbers now.
    pub(super) fn find(&self) -> Option<BlockDevice> {
        BlockDevice::from_numbers(self.major, self.minor).filter(|device| !device.is_partition())
    }
}

/// Changes with each start of the kernel.
pub(crate) fn boot_id() -> Option<String> {
    attribute(Path::new("/proc/sys/kernel/random/boot_id"))
}
