//! The filesystems that are modelled, and in what they differ.
//!
//! Page cache, allocator, names and files are shared. What is a filesystem's own: where metadata
//! lie ([`layout`](crate::layout)), what a commit writes and in which order, what an fsync waits
//! for, and who sends the discards (an [`Issuer`]).

use trimbench_core::{DrainRule, ForceDiscards, Nanos, named_enum};
use trimbench_policy::{Issuer, Sender};

use crate::extent::{Extent, FS_BLOCK};

named_enum! {
    /// A filesystem that is modelled.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FsKind {
        /// ext4.
        Ext4 = "ext4",
        /// XFS.
        Xfs = "xfs",
        /// btrfs with one device, data once and metadata twice (`single`, `DUP`).
        Btrfs = "btrfs",
        /// f2fs, after its source alone.
        F2fs = "f2fs",
    }
}

named_enum! {
    /// What ext4 writes to its journal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Journaling {
        /// Metadata; a commit waits for the data of new blocks (`data=ordered`).
        Ordered = "ordered",
        /// Metadata; no commit waits for data (`data=writeback`).
        Writeback = "writeback",
        /// Nothing: there is none (`mke2fs -O ^has_journal`).
        None = "none",
    }
}

/// A step of a commit; [`FsKind::phases`] has their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Ordered data are written.
    Data,
    /// Room is made in the log.
    Room,
    /// Metadata are logged, or written to new places, all but the record.
    Log,
    /// The device is flushed.
    Flush,
    /// The commit record or the superblock is written.
    Record,
    /// Freed extents are discarded.
    Discards,
    /// The rest of the freed space is free, and who waited goes on.
    End,
}

impl FsKind {
    /// Who discards online where nothing else is set.
    pub const fn issuer(self) -> Issuer {
        match self {
            Self::Ext4 => Issuer::Ext4,
            Self::Xfs => Issuer::Xfs,
            Self::Btrfs => Issuer::BtrfsAsync,
            Self::F2fs => Issuer::F2fs,
        }
    }

    /// The filesystem whose online discard this is.
    pub const fn of(issuer: Issuer) -> Option<Self> {
        match issuer {
            Issuer::Ext4
            | Issuer::Ext4Since5_15
            | Issuer::Ext4Since4_13
            | Issuer::Ext4Since2_6_33
            | Issuer::Ext4NoJournal => Some(Self::Ext4),
            Issuer::Xfs => Some(Self::Xfs),
            Issuer::BtrfsSync | Issuer::BtrfsAsync => Some(Self::Btrfs),
            Issuer::F2fs => Some(Self::F2fs),
            _ => None,
        }
    }

    /// The filesystem whose free space this program discards.
    pub const fn trimmed_by(issuer: Issuer) -> Option<Self> {
        match issuer {
            Issuer::FstrimExt4 => Some(Self::Ext4),
            Issuer::FstrimXfs => Some(Self::Xfs),
            Issuer::FstrimBtrfs => Some(Self::Btrfs),
            _ => None,
        }
    }

    /// A transaction commits at this age: `commit=` of ext4 and btrfs, the log worker of XFS,
    /// `cp_interval` of f2fs (`DEF_CP_INTERVAL`).
    pub const fn commit_interval(self) -> Nanos {
        match self {
            Self::Ext4 => Nanos::from_secs(5),
            Self::Xfs | Self::Btrfs => Nanos::from_secs(30),
            Self::F2fs => Nanos::from_secs(60),
        }
    }

    /// What makes it send discards, and how long they take to come.
    pub(crate) const fn drain(self) -> DrainRule {
        /// That of real ext4: discards follow the commit that a sync brings.
        const AFTER_SYNC: DrainRule = DrainRule {
            force: ForceDiscards::Sync,
            quiet: Nanos::from_secs(2),
            latest_start: Nanos::from_secs(1),
            timeout: Nanos::from_secs(3_600),
        };
        match self {
            Self::Ext4 | Self::Btrfs => AFTER_SYNC,
            Self::Xfs => DrainRule { force: ForceDiscards::FsyncDirtyFile, ..AFTER_SYNC },
            // Its thread may sleep for 60 s, and then waits until nothing was asked for 5 s.
            Self::F2fs => DrainRule {
                quiet: Nanos::from_secs(6),
                latest_start: Nanos::from_secs(66),
                ..AFTER_SYNC
            },
        }
    }

    /// What a commit of so many blocks of log does, in order.
    pub(crate) const fn phases(self, length: u64) -> &'static [Phase] {
        /// A buffer of the log of XFS (`XLOG_BIG_RECORD_BSIZE`), in blocks.
        const LOG_BUFFER: u64 = (32 << 10) / FS_BLOCK.0;
        use Phase::{Data, Discards, Flush, Log, Record, Room};
        match self {
            // There is no journal.
            _ if length == 0 => &[Discards],
            // fs/jbd2/commit.c; the record is a write between two flushes, as on a device
            // without FUA.
            Self::Ext4 => &[Data, Room, Log, Flush, Record, Flush, Discards],
            // Each write of the log that begins or ends a checkpoint is one between two flushes
            // (fs/xfs/xfs_log_cil.c, as seen on a device without FUA).
            Self::Xfs if length <= LOG_BUFFER => &[Room, Flush, Log, Flush, Discards],
            Self::Xfs => &[Room, Flush, Log, Flush, Record, Flush, Discards],
            // Tree blocks at new places, then the superblock (`btrfs_commit_transaction`).
            // f2fs: node blocks, NAT, SIT and summaries, then the last block of the checkpoint
            // (`do_checkpoint`); nothing waits for its discards.
            Self::Btrfs | Self::F2fs => &[Log, Flush, Record, Flush, Discards],
        }
    }

    /// No freed extent crosses a multiple of so many blocks: a block group; `None` where there is
    /// no such border.
    pub(crate) const fn border(self, group_fs_blocks: u64) -> Option<u64> {
        match self {
            Self::Ext4 => Some(group_fs_blocks),
            Self::Xfs | Self::F2fs => None,
            Self::Btrfs => Some(BTRFS_GROUP),
        }
    }

    /// Extents that need no block of their own.
    pub(crate) const fn extents_in_inode(self) -> usize {
        match self {
            Self::Ext4 => 4,
            // Of 16 bytes each in an inode of 512 (fs/xfs/libxfs/xfs_format.h).
            Self::Xfs => 21,
            // They are items of a tree, or in node blocks, which are charged by the commit.
            Self::Btrfs | Self::F2fs => usize::MAX,
        }
    }

    /// Blocks that a commit of so many changed metadata blocks writes to the log: journal blocks
    /// of ext4; about 52 bytes for each change of an item
    /// of XFS, 420 for a deletion (as seen on Linux 6.18); tree blocks of 16 KiB, one for two
    /// of the model's blocks and six for the roots, twice, of btrfs (assumed); of f2fs a block for
    /// each of the model's, and five for the summaries and the ends of the checkpoint (assumed).
    pub(crate) const fn log_length(self, metadata: u64, changes: u64) -> u64 {
        /// Metadata blocks that one descriptor block of ext4 names.
        const TAGS: u64 = 254;
        match self {
            Self::Ext4 => metadata + metadata.div_ceil(TAGS) + 1,
            Self::Xfs => (changes * 52).div_ceil(FS_BLOCK.0) + 1,
            Self::Btrfs => tree_blocks(metadata) * TREE_BLOCK + 1,
            Self::F2fs => metadata + 5,
        }
    }

    /// Tree blocks that a commit of so many changed metadata blocks replaces.
    pub(crate) const fn replaced(self, metadata: u64) -> u64 {
        match self {
            Self::Ext4 | Self::Xfs | Self::F2fs => 0,
            Self::Btrfs => tree_blocks(metadata),
        }
    }

    /// Whether what a commit wrote is in its place, so that nothing is written a second time.
    pub(crate) const fn writes_in_place(self) -> bool {
        matches!(self, Self::Btrfs | Self::F2fs)
    }
}

/// A tree block of btrfs, in filesystem blocks.
pub(crate) const TREE_BLOCK: u64 = (16 << 10) / FS_BLOCK.0;

/// Tree blocks, both copies.
const fn tree_blocks(metadata: u64) -> u64 {
    (metadata.div_ceil(2) + 6) * 2
}

/// A data block group of btrfs, in filesystem blocks.
pub(crate) const BTRFS_GROUP: u64 = (1 << 30) / FS_BLOCK.0;

/// A segment of f2fs, in filesystem blocks.
pub(crate) const SEGMENT: u64 = (2 << 20) / FS_BLOCK.0;

/// Who sends the discards, if anyone.
pub(crate) fn sender(discard: Option<Issuer>) -> Option<Sender> {
    discard.map(|issuer| issuer.rule().sender)
}

/// The allocation groups of an XFS: four, as mkfs.xfs makes them below 4 TiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocationGroups {
    total: u64,
}

impl AllocationGroups {
    /// How many there are.
    pub(crate) const COUNT: u64 = 4;

    pub(crate) const fn new(total: u64) -> Self {
        Self { total }
    }

    /// The blocks of one, if there are so many.
    pub(crate) fn get(self, number: u64) -> Option<Extent> {
        let size = self.total.div_ceil(Self::COUNT);
        let start = number * size;
        let end = (start + size).min(self.total);
        (number < Self::COUNT && start < end).then(|| Extent::between(start, end))
    }
}
