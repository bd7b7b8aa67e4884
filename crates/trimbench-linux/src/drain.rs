//! When the discards of a deletion are over, for each filesystem.
//!
//! Every rule was measured on loop devices, Linux 6.18.44, files written past the page cache: see
//! `docs/reference/drain-rules.md`; `tests/linux.rs` measures them again.

use trimbench_core::{DrainRule, ForceDiscards, Nanos};

use crate::mounts::Mount;

#[cfg(test)]
mod tests;

/// How a filesystem is mounted with regard to discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountDiscard {
    /// Freed space is not discarded; only FITRIM does.
    Off,
    /// Freed space is discarded when the transaction that freed it commits.
    AtCommit,
    /// btrfs `discard=async`: a worker discards free space of block groups some time later.
    Deferred,
}

impl MountDiscard {
    /// What the options of this mount ask for.
    pub fn of(mount: &Mount) -> Self {
        if mount.has_option("discard=async") {
            Self::Deferred
        } else if mount.has_option("discard") || mount.has_option("discard=sync") {
            Self::AtCommit
        } else {
            Self::Off
        }
    }
}

/// The rule for a filesystem of this type (`ext4`) mounted like this.
///
/// - **ext4**: freed blocks are discarded by a worker right after the commit, which a sync brings.
///   Measured: first discard at most 20 ms after the sync, the last of 1 GiB after 150 ms.
/// - **XFS**: freed blocks are discarded when the log is written, which only an fsync of a dirty
///   file forces; after a sync alone they waited 23 s. Measured: 21 ms after that fsync. An
///   unlinked file's blocks are freed up to one jiffy (1 to 10 ms) after the unlink, and an fsync
///   before that misses them: in 8 of 8 trials up to 3 ms after the unlink, in 1 of 2 after 5 ms.
///   [`crate::DirectoryTarget`] therefore waits for it before the fsync.
/// - **btrfs, `discard=async`**: block groups that became empty wait 10 s, others 120 s
///   (`BTRFS_DISCARD_UNUSED_DELAY` and `BTRFS_DISCARD_DELAY` in fs/btrfs/discard.c). Measured: 10.2
///   s after the sync until the first discard, 0.3 s until the last; with live data in the group
///   146 and 149 s. Free pieces below 32 KiB are never discarded, so that `discard_pending` may
///   never reach 0: the end is when it no longer falls and no discard comes.
/// - **btrfs, `discard`**: within the commit. Measured: all done when the sync returned.
/// - Others: as ext4, but given 35 s to begin: the longest commit interval in use is 30 s.
pub fn drain_rule(filesystem: &str, mount: MountDiscard) -> DrainRule {
    let second = Nanos::from_secs(1);
    let (force, latest_start) = match (filesystem, mount) {
        ("ext2" | "ext3" | "ext4", _) | ("btrfs", MountDiscard::Off | MountDiscard::AtCommit) => {
            (ForceDiscards::Sync, second)
        }
        ("xfs", _) => (ForceDiscards::FsyncDirtyFile, second),
        ("btrfs", MountDiscard::Deferred) => (ForceDiscards::Sync, Nanos::from_secs(180)),
        _ => (ForceDiscards::Sync, Nanos::from_secs(35)),
    };
    DrainRule { force, quiet: Nanos::from_secs(2), latest_start, timeout: Nanos::from_secs(3_600) }
}
