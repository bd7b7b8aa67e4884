//! Who sends which discards: the running kernel's filesystems on a loop device whose discards take
//! a known time, and the modelled ones on a model of that device, doing the same.
//!
//! The kernel's requests are seen at the block layer's tracepoints, the model's where its device
//! gets them. Depth is what is issued and not completed.

mod compared;
mod kernel;
mod model;

use std::collections::{HashMap, VecDeque};

use anyhow::{Result, ensure};
use trimbench_core::{Bytes, Nanos};
use trimbench_fs::{FsKind, Journaling};
use trimbench_policy::Issuer;

use crate::tracepoints::{Kind, Trace, TraceEvent};

pub use compared::{compare, compare_fsync};

/// One thing that a filesystem, or a program on a device, is made to do.
#[derive(Clone, Copy, Debug)]
pub struct DiscardCase {
    /// Its name.
    pub name: &'static str,
    /// Who discards.
    pub issuer: Issuer,
    /// Of ext4.
    pub journaling: Journaling,
    /// Size of the device.
    pub capacity: Bytes,
    /// Files that are made, one after the other, each durable.
    pub files: u32,
    /// Their size.
    pub size: Bytes,
    /// What is done then.
    pub action: DiscardAction,
    /// Whether write-back throttling is on.
    pub throttled: bool,
    /// The longest discard that the device takes (`discard_max_bytes`); `None` for its own.
    pub discard_max: Option<Bytes>,
}

/// What is done once the files are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardAction {
    /// Every second file is deleted, and the deletions committed.
    DeleteAlternate,
    /// All files are deleted, and the deletions committed.
    DeleteAll,
    /// Every second file is deleted, and the filesystem unmounted at once.
    Unmount,
    /// Every second file was deleted without discards; the free space is trimmed.
    Trim,
    /// There is no filesystem: the device is discarded as a whole.
    Device,
}

/// What the device was sent.
#[derive(Clone, Debug, Default, PartialEq)]
struct SeenRequests {
    /// When each was issued and completed, in nanoseconds, and its bytes.
    requests: Vec<(u64, u64, u64)>,
    /// Who issued most of them, by the name of the task; of a model its issuer.
    sender: String,
}

impl SeenRequests {
    /// The discards that a trace has recorded, and the reads, writes and flushes.
    fn of_trace(trace: &Trace) -> Result<[Self; 2]> {
        let (mut events, lost) = trace.recorded()?;
        ensure!(lost == 0, "{lost} events of the trace were lost");
        events.sort_by_key(|event| event.at);
        let parts: (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.is_discard);
        Ok([parts.0, parts.1].map(Self::of_events))
    }

    fn of_events(events: Vec<TraceEvent>) -> Self {
        let mut open: HashMap<(u64, u64), VecDeque<(u64, String)>> = HashMap::new();
        let (mut requests, mut senders) = (Vec::new(), HashMap::<String, usize>::new());
        for event in events {
            let place = (event.sector, event.sectors);
            if event.kind == Kind::Issue {
                open.entry(place).or_default().push_back((event.at, event.task));
            } else if let Some((from, task)) = open.get_mut(&place).and_then(VecDeque::pop_front) {
                requests.push((from, event.at, event.sectors * 512));
                *senders.entry(task).or_default() += 1;
            }
        }
        requests.sort_unstable();
        let sender = senders.into_iter().max_by_key(|(_, count)| *count);
        let sender = sender.map_or_else(String::new, |(task, _)| task);
        Self { requests, sender }
    }

    fn count(&self) -> u64 {
        self.requests.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.requests.iter().map(|(.., bytes)| bytes).sum()
    }

    /// The most that were under way at once.
    fn deepest(&self) -> u64 {
        let mut depth = 0_i64;
        let deepest = self.changes().into_iter().map(|(_, change)| {
            depth += change;
            depth
        });
        deepest.max().unwrap_or(0).unsigned_abs()
    }

    /// The mean number under way, from the first issue to the last completion.
    fn mean_depth(&self) -> f64 {
        let under_way: u64 = self.requests.iter().map(|(from, to, _)| to - from).sum();
        under_way as f64 / (self.span().0 as f64).max(1.0)
    }

    /// The median time of those that nothing else was under way beside; `None` without any.
    fn alone(&self) -> Option<Nanos> {
        let beside = |at: usize| {
            let (from, to, _) = self.requests[at];
            let others = self.requests.iter().enumerate().filter(|(other, _)| *other != at);
            others.into_iter().any(|(_, (begin, end, _))| *begin < to && from < *end)
        };
        let alone = (0..self.requests.len()).filter(|at| !beside(*at));
        let time = |at: usize| self.requests[at].1 - self.requests[at].0;
        let mut times: Vec<u64> = alone.map(time).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().map(Nanos)
    }

    /// What a request takes on a device that does one after the other: the mean time from one
    /// completion to the next where several are under way, else the median.
    fn service(&self) -> Nanos {
        if self.deepest() > 1 {
            return Nanos(self.span().0 / self.count());
        }
        let mut times: Vec<u64> = self.requests.iter().map(|(from, to, _)| to - from).collect();
        times.sort_unstable();
        Nanos(times.get(times.len() / 2).copied().unwrap_or(0))
    }

    fn span(&self) -> Nanos {
        let first = self.requests.iter().map(|(from, ..)| *from).min().unwrap_or(0);
        let last = self.requests.iter().map(|(_, to, _)| *to).max().unwrap_or(0);
        Nanos(last - first)
    }

    /// Issues and completions in the order of time, completions first.
    fn changes(&self) -> Vec<(u64, i64)> {
        let issues = self.requests.iter().map(|(from, ..)| (*from, 1));
        let completions = self.requests.iter().map(|(_, to, _)| (*to, -1));
        let mut changes: Vec<_> = issues.chain(completions).collect();
        changes.sort_unstable();
        changes
    }
}

impl DiscardCase {
    /// The filesystem; `None` for none.
    fn kind(&self) -> Option<FsKind> {
        match self.issuer {
            Issuer::FstrimExt4 => Some(FsKind::Ext4),
            Issuer::FstrimXfs => Some(FsKind::Xfs),
            Issuer::FstrimBtrfs => Some(FsKind::Btrfs),
            online => FsKind::of(online),
        }
    }

    /// The files that are deleted.
    fn deleted(&self) -> impl Iterator<Item = u32> {
        let step = if self.action == DiscardAction::DeleteAll { 1 } else { 2 };
        (0..self.files).step_by(step)
    }
}

const BASE: DiscardCase = DiscardCase {
    name: "",
    issuer: Issuer::Ext4,
    journaling: Journaling::Ordered,
    capacity: Bytes::gib(1),
    files: 400,
    size: Bytes(512 << 10),
    action: DiscardAction::DeleteAlternate,
    throttled: true,
    discard_max: None,
};
const TRIM: DiscardCase = DiscardCase { action: DiscardAction::Trim, ..BASE };
const BTRFS: DiscardCase =
    DiscardCase { issuer: Issuer::BtrfsSync, capacity: Bytes::gib(12), ..BASE };
const BLKDISCARD: DiscardCase = DiscardCase {
    issuer: Issuer::Blkdiscard,
    action: DiscardAction::Device,
    files: 0,
    capacity: Bytes::mib(256),
    discard_max: Some(Bytes::mib(1)),
    ..BASE
};

/// All cases.
pub const DISCARD_CASES: &[DiscardCase] = &[
    DiscardCase { name: "ext4", ..BASE },
    DiscardCase { name: "ext4-wbt-off", throttled: false, ..BASE },
    DiscardCase { name: "ext4-unmount", action: DiscardAction::Unmount, ..BASE },
    DiscardCase {
        name: "ext4-writeback",
        issuer: Issuer::Ext4NoJournal,
        journaling: Journaling::Writeback,
        ..BASE
    },
    DiscardCase {
        name: "ext4-no-journal",
        issuer: Issuer::Ext4NoJournal,
        journaling: Journaling::None,
        ..BASE
    },
    DiscardCase { name: "xfs", issuer: Issuer::Xfs, ..BASE },
    DiscardCase { name: "xfs-wbt-off", issuer: Issuer::Xfs, throttled: false, ..BASE },
    DiscardCase {
        name: "xfs-unmount",
        issuer: Issuer::Xfs,
        action: DiscardAction::Unmount,
        ..BASE
    },
    DiscardCase { name: "btrfs-sync", ..BTRFS },
    DiscardCase { name: "btrfs-sync-wbt-off", throttled: false, ..BTRFS },
    DiscardCase {
        name: "btrfs-async",
        issuer: Issuer::BtrfsAsync,
        action: DiscardAction::DeleteAll,
        files: 48,
        size: Bytes::mib(32),
        ..BTRFS
    },
    DiscardCase {
        name: "btrfs-async-unmount",
        issuer: Issuer::BtrfsAsync,
        action: DiscardAction::Unmount,
        ..BTRFS
    },
    DiscardCase { name: "fstrim-ext4", issuer: Issuer::FstrimExt4, ..TRIM },
    DiscardCase {
        name: "fstrim-ext4-1mib",
        issuer: Issuer::FstrimExt4,
        discard_max: Some(Bytes::mib(1)),
        ..TRIM
    },
    DiscardCase {
        name: "fstrim-ext4-1mib-wbt-off",
        issuer: Issuer::FstrimExt4,
        discard_max: Some(Bytes::mib(1)),
        throttled: false,
        ..TRIM
    },
    DiscardCase { name: "fstrim-xfs", issuer: Issuer::FstrimXfs, ..TRIM },
    DiscardCase { name: "fstrim-xfs-wbt-off", issuer: Issuer::FstrimXfs, throttled: false, ..TRIM },
    DiscardCase {
        name: "fstrim-btrfs",
        issuer: Issuer::FstrimBtrfs,
        action: DiscardAction::Trim,
        ..BTRFS
    },
    DiscardCase { name: "blkdiscard-1mib", ..BLKDISCARD },
    DiscardCase { name: "blkdiscard-1mib-wbt-off", throttled: false, ..BLKDISCARD },
    DiscardCase {
        name: "blkdiscard-whole",
        capacity: Bytes::gib(10),
        discard_max: None,
        throttled: false,
        ..BLKDISCARD
    },
];

impl FsyncCase {
    /// Of the device: for btrfs so large that its block groups are of 1 GiB.
    fn capacity(&self) -> Bytes {
        if self.kind == FsKind::Btrfs { Bytes::gib(12) } else { Bytes::gib(4) }
    }
}

/// An fsync of a new file beside the discards of a mass deletion.
#[derive(Clone, Copy, Debug)]
pub struct FsyncCase {
    /// Its name.
    pub name: &'static str,
    /// Who discards; `None` for nobody.
    pub issuer: Option<Issuer>,
    /// The filesystem.
    pub kind: FsKind,
    /// Files that are deleted, each between two that stay.
    pub files: u32,
    /// Their size.
    pub size: Bytes,
    /// Whether write-back throttling is on.
    pub throttled: bool,
}

const LONG: FsyncCase = FsyncCase {
    name: "",
    issuer: None,
    kind: FsKind::Ext4,
    files: 100,
    size: Bytes::mib(8),
    throttled: true,
};
const SHORT: FsyncCase = FsyncCase { files: 3_000, size: Bytes(64 << 10), ..LONG };
const XFS: Option<Issuer> = Some(Issuer::Xfs);

/// The fsync beside mass deletions of few long files and of many short ones.
pub const FSYNC_CASES: &[FsyncCase] = &[
    FsyncCase { name: "ext4-long", issuer: Some(Issuer::Ext4), ..LONG },
    FsyncCase { name: "ext4-short", issuer: Some(Issuer::Ext4), ..SHORT },
    FsyncCase { name: "xfs-long", kind: FsKind::Xfs, issuer: XFS, ..LONG },
    FsyncCase {
        name: "xfs-long-wbt-off",
        kind: FsKind::Xfs,
        issuer: XFS,
        throttled: false,
        ..LONG
    },
    FsyncCase { name: "xfs-short", kind: FsKind::Xfs, issuer: XFS, ..SHORT },
    FsyncCase {
        name: "xfs-short-wbt-off",
        kind: FsKind::Xfs,
        issuer: XFS,
        throttled: false,
        ..SHORT
    },
    FsyncCase { name: "xfs-nodiscard", kind: FsKind::Xfs, ..LONG },
    FsyncCase {
        name: "btrfs-sync-long",
        kind: FsKind::Btrfs,
        issuer: Some(Issuer::BtrfsSync),
        ..LONG
    },
    FsyncCase {
        name: "btrfs-async-long",
        kind: FsKind::Btrfs,
        issuer: Some(Issuer::BtrfsAsync),
        ..LONG
    },
    FsyncCase {
        name: "btrfs-sync-short",
        kind: FsKind::Btrfs,
        issuer: Some(Issuer::BtrfsSync),
        ..SHORT
    },
];
