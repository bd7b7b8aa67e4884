//! What the kernel counts of a disk: `/sys/block/NAME/stat`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::fs::{major, minor};
use serde::{Deserialize, Serialize};

/// Bytes of a sector, as the kernel counts them.
const SECTOR: u64 = 512;

/// The folder of a disk in sysfs.
#[derive(Clone, Debug)]
pub(super) struct Disk(PathBuf);

/// What was counted of a disk so far, or in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DiskCounts {
    /// Bytes written.
    pub(super) written: u64,
    /// Discards that have ended.
    pub(super) discards: u64,
    /// Their bytes.
    pub(super) discarded: u64,
}

impl Disk {
    /// That of a device node: `/dev/loop0`.
    pub(super) fn of_node(node: &str) -> Self {
        Self(Path::new("/sys/block").join(node.trim_start_matches("/dev/")))
    }

    /// The one that a file or folder lies on; `None` where its filesystem is not on one disk, as
    /// the kernel numbers them.
    pub(super) fn below(path: &Path) -> Result<Option<Self>> {
        let device = fs::metadata(path)?.dev();
        let link = format!("/sys/dev/block/{}:{}", major(device), minor(device));
        let Ok(folder) = fs::canonicalize(link) else { return Ok(None) };
        let is_partition = folder.join("partition").exists();
        let disk = if is_partition { folder.parent().map(Path::to_owned) } else { Some(folder) };
        Ok(disk.map(Self))
    }

    /// What was counted so far.
    pub(super) fn counts(&self) -> Result<DiskCounts> {
        let numbers = self.numbers("stat")?;
        let number = |field: usize| numbers.get(field).copied().context("the kernel counts less");
        Ok(DiskCounts {
            written: SECTOR * number(6)?,
            discards: number(11)?,
            discarded: SECTOR * number(13)?,
        })
    }

    /// How many writes and discards are under way.
    pub(super) fn under_way(&self) -> Result<u64> {
        self.numbers("inflight")?.get(1).copied().context("the kernel counts less")
    }

    /// A number of its queue: `discard_granularity`.
    pub(super) fn queue(&self, attribute: &str) -> Result<u64> {
        let numbers = self.numbers(&format!("queue/{attribute}"))?;
        numbers.first().copied().context("the attribute is empty")
    }

    /// Where that number is.
    pub(super) fn queue_path(&self, attribute: &str) -> PathBuf {
        self.0.join("queue").join(attribute)
    }

    fn numbers(&self, file: &str) -> Result<Vec<u64>> {
        let path = self.0.join(file);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("read {}", path.display()))?;
        text.split_whitespace().map(|word| word.parse().context("no number")).collect()
    }
}

impl DiskCounts {
    /// What was counted since.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            written: self.written - earlier.written,
            discards: self.discards - earlier.discards,
            discarded: self.discarded - earlier.discarded,
        }
    }
}
