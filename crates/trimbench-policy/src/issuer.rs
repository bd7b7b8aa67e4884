//! The systems that send discards: who sends them, how many at once, in what pieces.
//!
//! An issuer is a row of [`Issuer::rule`]; the modelled filesystems, `delete-stall` and the
//! documents act by its fields. The numbers are those of the kernel sources and, where they can be
//! run here, of the running kernel: `docs/model/issuers.md` has them with their sources.

use trimbench_core::{Bytes, Nanos, named_enum};

named_enum! {
    /// A system that sends discards.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Issuer {
        /// ext4 mounted with `discard`, Linux 6.8 and later (and late releases of 5.10 to 6.1).
        Ext4 = "ext4",
        /// The same, Linux 5.15 to 6.7.
        Ext4Since5_15 = "ext4-5.15",
        /// The same, Linux 4.13 to 5.14.
        Ext4Since4_13 = "ext4-4.13",
        /// The same, Linux 2.6.33 to 4.12.
        Ext4Since2_6_33 = "ext4-2.6.33",
        /// ext4 without a journal, or with `data=writeback`, in every release.
        Ext4NoJournal = "ext4-no-journal",
        /// XFS mounted with `discard`.
        Xfs = "xfs",
        /// btrfs mounted with `discard=sync`.
        BtrfsSync = "btrfs-sync",
        /// btrfs mounted with `discard=async`, the default from Linux 6.2 on.
        BtrfsAsync = "btrfs-async",
        /// f2fs mounted with `discard`, its default: in the background.
        F2fs = "f2fs",
        /// blkdiscard(8) and the ioctl BLKDISCARD.
        Blkdiscard = "blkdiscard",
        /// fstrim(8) on ext4.
        FstrimExt4 = "fstrim-ext4",
        /// fstrim(8) on XFS, Linux 6.6 and later.
        FstrimXfs = "fstrim-xfs",
        /// fstrim(8) on btrfs.
        FstrimBtrfs = "fstrim-btrfs",
        /// `OpenZFS` with `autotrim=on`.
        ZfsAutotrim = "zfs-autotrim",
        /// The trim thread of ZFS in FreeBSD, as of 2013.
        Freebsd2013 = "freebsd-2013",
        /// The same as of 2017: longer waits, and shorter pieces.
        Freebsd2017 = "freebsd-2017",
    }
}

named_enum! {
    /// The online discard of ext4 by the first release that has it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Ext4Era {
        /// Until today.
        Since6_8 = "6.8",
        /// To 6.7.
        Since5_15 = "5.15",
        /// To 5.14.
        Since4_13 = "4.13",
        /// To 4.12.
        Since2_6_33 = "2.6.33",
    }
}

impl Ext4Era {
    /// Who discards.
    pub const fn issuer(self) -> Issuer {
        match self {
            Self::Since6_8 => Issuer::Ext4,
            Self::Since5_15 => Issuer::Ext4Since5_15,
            Self::Since4_13 => Issuer::Ext4Since4_13,
            Self::Since2_6_33 => Issuer::Ext4Since2_6_33,
        }
    }
}

/// Who sends the discards of a deletion, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The process that deletes, within the system call.
    Caller,
    /// The commit of the transaction that frees the space, before the space is free.
    Commit,
    /// Whoever ends the write of the log, for their submission; the space is free when all discards
    /// of the checkpoint are done.
    LogCompletion,
    /// A worker of the filesystem, when the space is already free.
    Worker,
    /// A program that trims all free space, or all of a device.
    Program,
    /// A thread of a pool.
    Pool,
}

/// How many ranges an issuer has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueDepth {
    /// So many, at least 1.
    Ranges(u32),
    /// As many as the block layer takes: all of a transaction, checkpoint or batch.
    All,
}

/// How an issuer works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuerRule {
    /// Who sends, and when.
    pub sender: Sender,
    /// Ranges under way. The pieces that the block layer cuts one range into count as one.
    pub depth: IssueDepth,
    /// The longest range; `None` where there is no bound.
    pub chunk: Option<Bytes>,
    /// The wait after each round of `depth` ranges.
    pub pause: Nanos,
    /// Whether ranges that are sent together are plugged, so that a device that takes several
    /// ranges a command gets them so.
    pub plugs: bool,
    /// Whether a range runs on to the end of the free space behind what was freed.
    pub runs_on: bool,
    /// What of the waiting discards is lost when the filesystem is unmounted or the pool exported.
    pub lost: &'static str,
    /// Whether the model of it was compared with a running kernel; else it follows the source.
    pub compared: bool,
    /// The releases, in words.
    pub releases: &'static str,
    /// What happens, in words.
    pub meaning: &'static str,
}

/// A block group of ext4: no range is longer.
const EXT4_GROUP: Bytes = Bytes::mib(128);

/// What most of them have in common: the worker of ext4.
const WORKER: IssuerRule = IssuerRule {
    sender: Sender::Worker,
    depth: IssueDepth::Ranges(1),
    chunk: Some(EXT4_GROUP),
    pause: Nanos::ZERO,
    plugs: false,
    runs_on: false,
    lost: "almost all",
    compared: false,
    releases: "5.15 to 6.7",
    meaning: "the space is free at once; a worker discards what is still free of each \
              extent, one after the other",
};
/// What programs have in common.
const PROGRAM: IssuerRule = IssuerRule {
    sender: Sender::Program,
    lost: "nothing",
    compared: true,
    releases: "all",
    ..WORKER
};

impl Issuer {
    /// How it works.
    pub const fn rule(self) -> IssuerRule {
        match self {
            Self::Ext4
            | Self::Ext4Since5_15
            | Self::Ext4Since4_13
            | Self::Ext4Since2_6_33
            | Self::Ext4NoJournal => self.of_ext4(),
            Self::Xfs | Self::BtrfsSync | Self::BtrfsAsync | Self::F2fs => self.of_filesystem(),
            Self::Blkdiscard | Self::FstrimExt4 | Self::FstrimXfs | Self::FstrimBtrfs => {
                self.of_program()
            }
            Self::ZfsAutotrim | Self::Freebsd2013 | Self::Freebsd2017 => self.of_pool(),
        }
    }

    const fn of_ext4(self) -> IssuerRule {
        match self {
            Self::Ext4 => IssuerRule {
                runs_on: true,
                compared: true,
                releases: "6.8 on (seen on 6.18)",
                meaning: "the same, from the freed extent's start to the end of the free space \
                          there",
                ..WORKER
            },
            Self::Ext4Since4_13 => IssuerRule {
                sender: Sender::Commit,
                depth: IssueDepth::All,
                lost: "nothing",
                releases: "4.13 to 5.14",
                meaning: "all discards of a transaction side by side within its commit, then its \
                          space is free",
                ..WORKER
            },
            Self::Ext4Since2_6_33 => IssuerRule {
                sender: Sender::Commit,
                lost: "nothing",
                releases: "2.6.33 to 4.12",
                meaning: "one discard after the other within the commit, then the space is free",
                ..WORKER
            },
            Self::Ext4NoJournal => IssuerRule {
                sender: Sender::Caller,
                lost: "nothing",
                compared: true,
                releases: "all, without a journal or with `data=writeback`",
                meaning: "the process that deletes waits for each discard",
                ..WORKER
            },
            _ => WORKER,
        }
    }

    const fn of_filesystem(self) -> IssuerRule {
        match self {
            Self::Xfs => IssuerRule {
                sender: Sender::LogCompletion,
                depth: IssueDepth::All,
                chunk: None,
                plugs: true,
                lost: "nothing",
                compared: true,
                releases: "all",
                meaning: "all discards of a checkpoint side by side, once its log is written; who \
                          waits for the log waits for their submission; the space is free when \
                          the last is done",
                ..WORKER
            },
            Self::BtrfsSync => IssuerRule {
                sender: Sender::Commit,
                chunk: Some(Bytes::gib(1)),
                lost: "nothing",
                compared: true,
                releases: "all (pieces of 1 GiB from 6.12 on)",
                meaning: "one discard after the other within the commit, after the superblock; a \
                          `sync` waits for them, an fsync does not",
                ..WORKER
            },
            Self::BtrfsAsync => IssuerRule {
                chunk: Some(Bytes::mib(64)),
                pause: Nanos::from_millis(1),
                lost: "all",
                compared: true,
                releases: "5.6 on (default from 6.2 on)",
                meaning: "the space is free at once; a worker discards it 10 s (a block group \
                          that became empty) or 120 s later, at most 1,000 times a second",
                ..WORKER
            },
            _ => IssuerRule {
                depth: IssueDepth::Ranges(8),
                chunk: None,
                pause: Nanos::from_millis(50),
                plugs: true,
                lost: "what is left after 5 s",
                releases: "all (by reading only)",
                meaning: "the space is free at once; a thread looks every 60 s, waits until \
                          nothing was asked for 5 s, and discards in rounds of eight, the longest \
                          first, with 50 ms between",
                ..WORKER
            },
        }
    }

    const fn of_program(self) -> IssuerRule {
        match self {
            Self::Blkdiscard => IssuerRule {
                depth: IssueDepth::All,
                chunk: None,
                meaning: "the whole range at once, in pieces of at most 4 GiB",
                ..PROGRAM
            },
            Self::FstrimExt4 => {
                IssuerRule { meaning: "one free extent after the other, group by group", ..PROGRAM }
            }
            Self::FstrimXfs => IssuerRule {
                depth: IssueDepth::All,
                chunk: None,
                plugs: true,
                releases: "6.6 on",
                meaning: "batches of at most 99 free extents, each batch side by side",
                ..PROGRAM
            },
            _ => IssuerRule {
                chunk: Some(Bytes::gib(1)),
                meaning: "one free extent after the other, then the unallocated space",
                ..PROGRAM
            },
        }
    }

    const fn of_pool(self) -> IssuerRule {
        match self {
            Self::ZfsAutotrim => IssuerRule {
                sender: Sender::Pool,
                depth: IssueDepth::Ranges(2),
                chunk: Some(Bytes::mib(128)),
                lost: "all",
                releases: "OpenZFS 0.8 on",
                meaning: "two at a time on each drive, drive after drive",
                ..WORKER
            },
            Self::Freebsd2013 => IssuerRule {
                sender: Sender::Pool,
                depth: IssueDepth::Ranges(64),
                chunk: None,
                lost: "all",
                releases: "FreeBSD 9.2 on",
                meaning: "64 at a time on each drive; a mass deletion all at once",
                ..WORKER
            },
            _ => IssuerRule {
                sender: Sender::Pool,
                depth: IssueDepth::Ranges(64),
                chunk: Some(Bytes::mib(32)),
                lost: "all",
                releases: "FreeBSD 11 and 12",
                meaning: "64 at a time on each drive, in passes",
                ..WORKER
            },
        }
    }
}

impl IssueDepth {
    /// How many ranges; `None` where there is no bound.
    pub const fn most(self) -> Option<u32> {
        match self {
            Self::Ranges(ranges) => Some(ranges),
            Self::All => None,
        }
    }
}

impl Sender {
    /// Who waits for the discards, in words.
    pub const fn waits(self) -> &'static str {
        match self {
            Self::Caller => "the process that deletes",
            Self::Commit => "whoever waits for the commit, or for space",
            Self::LogCompletion => "whoever waits for the log: for their submission",
            Self::Worker | Self::Pool => "nobody, except through the drive",
            Self::Program => "the program",
        }
    }
}

impl IssuerRule {
    /// Where a discard ends, in a freed extent that ends at `freed` and free space that ends at
    /// `free`.
    pub const fn end(self, freed: u64, free: u64) -> u64 {
        if self.runs_on || free < freed { free } else { freed }
    }
}
