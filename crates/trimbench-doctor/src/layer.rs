//! The layers between a filesystem and its drives, as a tree: what each accepts, and what it does
//! with a discard.

use serde::Serialize;
use trimbench_results::advice::LineToType;

use crate::device::{DiscardCount, DiscardLimits};
use crate::trap::Trap;

/// One layer, and those below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// What it is.
    pub kind: LayerKind,
    /// A mount point, or a device as the kernel names it.
    pub name: String,
    /// For people: the model of a drive, the name of a mapping, the level of a RAID.
    pub title: String,
    /// Which discards it accepts; `None` where it has no request queue.
    pub limits: Option<DiscardLimits>,
    /// What it does with them.
    pub handling: Handling,
    /// Discards that it has completed since it appeared; `None` where nobody counts them.
    pub discarded: Option<DiscardCount>,
    /// Whether others than the layer above stand on it.
    pub is_shared: bool,
    /// What of it could not be read, and why.
    pub unread: Vec<String>,
    /// What is worth knowing of it with regard to TRIM.
    pub traps: Vec<Trap>,
    /// Why nothing of it is ever trimmed, as a clause, although it is on a drive; `None` if
    /// something may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_to_trim: Option<String>,
    /// The layers that it stands on: none below a drive, several below a RAID.
    pub below: Vec<Layer>,
}

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A mounted filesystem.
    Filesystem,
    /// A union of directories of other filesystems.
    Overlay,
    /// Space to which the kernel swaps memory out.
    Swap,
    /// Encryption by device mapper.
    DmCrypt,
    /// Parts of devices joined, in a row or striped.
    DmLinear,
    /// A volume of a thin pool.
    DmThin,
    /// The pool of thin volumes.
    DmThinPool,
    /// A slow device with a fast one before it.
    DmCache,
    /// A snapshot, or the origin of one.
    DmSnapshot,
    /// Deduplication and compression.
    DmVdo,
    /// Several ways to one drive.
    DmMultipath,
    /// RAID by device mapper, as LVM makes it.
    DmRaid,
    /// Another target of device mapper.
    DmOther,
    /// RAID by md.
    Md,
    /// A file posing as a disk.
    Loop,
    /// A cache before a device.
    Bcache,
    /// A part of a disk.
    Partition,
    /// The lowest device that this machine sees.
    Drive,
}

/// What a layer does with a discard.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "does", rename_all = "kebab-case")]
pub enum Handling {
    /// Something sends discards from here.
    Sends {
        /// Who: mount options, a timer, a job.
        by: Vec<String>,
    },
    /// It passes them to what is below, whole or in pieces.
    Passes,
    /// It frees blocks of its own, and what is below learns of it by that: a hole in a file.
    Frees {
        /// What becomes of it below.
        note: &'static str,
    },
    /// It drops them.
    Drops {
        /// A stable id.
        cause: &'static str,
        /// Why, as a clause: "it was opened without `allow-discards`".
        why: String,
        /// What mends it.
        lines: Vec<LineToType>,
    },
    /// It is a drive, and accepts them.
    Accepts,
    /// It accepts them, and is not the drive: what is behind it cannot be seen from here.
    Hides {
        /// What it is: "a virtual disk of the hypervisor".
        what: String,
        /// Where to look or what to set on the other side.
        lines: Vec<LineToType>,
    },
    /// It cannot be told.
    Unknown {
        /// Why, as a clause.
        why: String,
    },
    /// There is no drive below: memory, or files of the kernel.
    HasNoDrive,
}

impl LayerKind {
    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Overlay => "overlay",
            Self::Swap => "swap",
            Self::DmCrypt => "dm-crypt",
            Self::DmLinear => "dm-linear",
            Self::DmThin => "dm-thin",
            Self::DmThinPool => "thin pool",
            Self::DmCache => "dm-cache",
            Self::DmSnapshot => "dm-snapshot",
            Self::DmVdo => "VDO",
            Self::DmMultipath => "multipath",
            Self::DmRaid => "dm-raid",
            Self::DmOther => "device mapper",
            Self::Md => "md RAID",
            Self::Loop => "loop device",
            Self::Bcache => "bcache",
            Self::Partition => "partition",
            Self::Drive => "drive",
        }
    }
}

impl Layer {
    /// All layers, this one first, each before those below it.
    pub fn all(&self) -> Vec<&Self> {
        let below = self.below.iter().flat_map(Self::all);
        [self].into_iter().chain(below).collect()
    }

    /// Whether a loop device is among it and what is below: further down, files hide the drive.
    pub(crate) fn stands_on_file(&self) -> bool {
        self.all().iter().any(|it| it.kind == LayerKind::Loop)
    }

    /// Whether its queue accepts discards, or nobody knows.
    pub(crate) fn may_accept(&self) -> bool {
        self.limits.as_ref().and_then(DiscardLimits::accepts) != Some(false)
    }

    /// For people, in a sentence: ``dm-crypt `data` (dm-0)``.
    pub fn words(&self) -> String {
        match self.kind {
            LayerKind::Filesystem | LayerKind::Overlay => {
                format!("the {} on `{}`", self.title, self.name)
            }
            LayerKind::Drive => self.name.clone(),
            kind if self.title.is_empty() => format!("{} `{}`", kind.label(), self.name),
            kind => format!("{} `{}` ({})", kind.label(), self.title, self.name),
        }
    }
}
