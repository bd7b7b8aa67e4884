//! The journal of a borrowed mount option: one JSON object.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trimbench_claim::mounts::Mount;
use trimbench_core::MountDiscard;
use trimbench_core::text::{from_text, to_text};

/// The version of the form below.
const VERSION: u32 = 1;

/// What a later process must know to put the option back. Options are as the kernel takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    version: u32,
    pub(super) boot_id: String,
    /// Major and minor number of the filesystem: of those that are mounted, no two have the same.
    pub(super) device: (u32, u32),
    pub(super) filesystem: String,
    /// What was mounted: `/dev/sdb1`.
    source: String,
    mount_point: String,
    /// Before the first change.
    original: String,
    /// When the journal was written.
    in_force: String,
    /// What is asked for once the journal is there.
    next: String,
}

impl Entry {
    /// Before the first change.
    pub(super) fn new(boot_id: String, mount: &Mount, now: MountDiscard) -> Self {
        let option = || now.option().to_owned();
        Self {
            version: VERSION,
            boot_id,
            device: mount.device,
            filesystem: mount.filesystem.clone(),
            source: to_text(Path::new(&mount.source)),
            mount_point: to_text(&mount.mount_point),
            original: option(),
            in_force: option(),
            next: option(),
        }
    }

    /// Before a change from `now` to `next`.
    pub(super) fn going(self, now: MountDiscard, next: MountDiscard) -> Self {
        Self { in_force: now.option().to_owned(), next: next.option().to_owned(), ..self }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers and texts are JSON")
    }

    /// `None` unless it is whole, and of this version.
    pub(super) fn from_json(content: &[u8]) -> Option<Self> {
        let entry: Self = serde_json::from_slice(content).ok()?;
        (entry.version == VERSION && way_of(&entry.original).is_some()).then_some(entry)
    }

    pub(super) fn original(&self) -> MountDiscard {
        way_of(&self.original).expect("it was read so")
    }

    pub(super) fn mount_point(&self) -> PathBuf {
        from_text(&self.mount_point).into()
    }

    /// Whether the option can be this without anybody else having set it.
    pub(super) fn is_ours(&self, way: MountDiscard) -> bool {
        [&self.original, &self.in_force, &self.next].into_iter().any(|own| own == way.option())
    }

    /// The filesystem among these: at its mount point if it is still there, else wherever it is.
    pub(super) fn find<'a>(&self, mounts: &'a [Mount]) -> Option<&'a Mount> {
        let same = |mount: &&Mount| {
            mount.device == self.device
                && mount.filesystem == self.filesystem
                && to_text(Path::new(&mount.source)) == self.source
        };
        let there = |mount: &&Mount| to_text(&mount.mount_point) == self.mount_point;
        let mut all = mounts.iter().filter(same);
        all.clone().find(there).or_else(|| all.next())
    }
}

fn way_of(option: &str) -> Option<MountDiscard> {
    let all = [MountDiscard::Off, MountDiscard::AtCommit, MountDiscard::Deferred];
    all.into_iter().find(|way| way.option() == option)
}
