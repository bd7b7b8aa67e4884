//! When the discards of a deletion are over, for each filesystem: [`DRAIN_RULES`].
//!
//! `docs/reference/drain-rules.md` is generated from the table; `tests/linux.rs` measures each of
//! its rows again. Measured on Linux 6.18.44 with 250 ticks a second, on loop devices over sparse
//! images on ext4, with files written past the page cache.

use std::path::Path;

use trimbench_claim::mounts::{Mount, mount_of};
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{DrainRule, ForceDiscards, MountDiscard, Nanos};

#[cfg(test)]
mod tests;

/// What this mount does about freed space. ext4 leaves an option out of the mount table that is in
/// its superblock (`tune2fs -o discard`), so its own table is asked before.
pub fn mount_discard(mount: &Mount) -> MountDiscard {
    let own = ext4_options(mount);
    let has = |option: &str| match &own {
        Some(own) => own.iter().any(|candidate| candidate == option),
        None => mount.has_option(option),
    };
    if has("discard=async") {
        MountDiscard::Deferred
    } else if has("discard") || has("discard=sync") {
        MountDiscard::AtCommit
    } else {
        MountDiscard::Off
    }
}

/// All options of an ext4 that is mounted, those of its superblock too, from `/proc/fs/ext4`;
/// `None` of other filesystems, or where the kernel does not show it.
pub(crate) fn ext4_options(mount: &Mount) -> Option<Vec<String>> {
    if !matches!(mount.filesystem.as_str(), "ext4" | "ext3" | "ext2") {
        return None;
    }
    let (major, minor) = mount.device;
    let disk = BlockDevice::from_numbers(major, minor)?;
    let table = std::fs::read_to_string(format!("/proc/fs/ext4/{}/options", disk.name)).ok()?;
    Some(table.lines().map(str::to_owned).collect())
}

/// A row of [`DRAIN_RULES`]: the rule of one filesystem, and where it comes from.
#[derive(Debug)]
#[non_exhaustive]
pub struct FilesystemDrain {
    /// Its types, as mounts name them; empty for all that have no row of their own.
    pub types: &'static [&'static str],
    /// How it is mounted; `None` for every way.
    pub mount: Option<MountDiscard>,
    /// The mount option that makes it discard, with which the rule was measured.
    pub option: &'static str,
    /// What to do after the deletion.
    pub force: ForceDiscards,
    /// The discards may begin this long after that.
    pub latest_start: Nanos,
    /// Why the rule is so: sentences of the page.
    pub why: &'static str,
    /// What was measured: rows of the page's table, without the filesystem.
    pub measured: &'static [&'static str],
}

/// Every rule. The first row that fits applies; the last one fits every filesystem.
pub const DRAIN_RULES: [FilesystemDrain; 5] = [
    FilesystemDrain {
        types: &["ext4", "ext3", "ext2"],
        mount: None,
        option: "discard",
        force: ForceDiscards::Sync,
        latest_start: Nanos::from_secs(1),
        why: "ext4 passes the extents that a commit freed to a worker (`ext4_discard_work`, since \
              Linux 5.15), which sends them one after the other. A sync commits. It discards \
              whole free extents, not only the freed part: 1242 MiB for 1024 MiB.",
        measured: &["4 GiB | 1024 MiB | sync, 9 ms | 9 ms at the latest | 151 ms | 1242 MiB in 10"],
    },
    FilesystemDrain {
        types: &["xfs"],
        mount: None,
        option: "discard",
        force: ForceDiscards::FsyncDirtyFile,
        latest_start: Nanos::from_secs(1),
        why: "XFS discards when the log record of the deletion is on disk. A sync of the \
              filesystem leaves that to a timer of 30 s; an fsync of a dirty file writes the log. \
              But a worker frees an unlinked file's blocks up to one tick (1 to 10 ms) *after* \
              the unlink, and an fsync before that forces a log in which they are not freed yet: \
              then no discard comes for up to 30 s. `DirectoryTarget` therefore waits before the \
              first fsync after an unlink: as root by `XFS_IOC_FREE_EOFBLOCKS` with a minimum \
              file size that no file has, which ends in the kernel's own wait; otherwise by \
              `statfs`, which starts the worker at once, and 20 ms. Truncating and punching free \
              their blocks before they return.",
        measured: &[
            "4 GiB | 1024 MiB | sync alone | 23.5 s | 23.5 s | 1024 MiB in 2",
            "4 GiB | 128 MiB | fsync of a dirty file, 20 ms after the unlink | 41 ms | 41 ms | \
             128 MiB",
            "4 GiB | 128 MiB | the same, 0 to 3 ms after the unlink (8 trials) | not within 3 s | \
             – | 0",
            "4 GiB | 128 MiB | the same, after waiting for inactivation | 21 ms | 21 ms | 128 MiB",
        ],
    },
    FilesystemDrain {
        types: &["btrfs"],
        mount: Some(MountDiscard::Deferred),
        option: "discard=async",
        force: ForceDiscards::Sync,
        latest_start: Nanos::from_secs(180),
        why: "The default of btrfs on devices that discard. It puts block groups with free space \
              on a list and discards them from a worker: empty groups after 10 s, others after \
              120 s (`BTRFS_DISCARD_UNUSED_DELAY`, `BTRFS_DISCARD_DELAY` in fs/btrfs/discard.c), \
              at most 1000 discards a second. The delays cannot be set. Free pieces below 32 KiB \
              are never discarded, so `discard_pending` reaches 0 only if nothing overwrites \
              files meanwhile. It rises with the commit and counts whole groups, so it may exceed \
              the freed bytes; before the sync it says nothing about the deletion.\n\n  \
              A deletion's discards come after 10 s only if nothing else is in its block groups. \
              A probe file that is written beside the victim, or a filesystem of a few GiB (whose \
              block groups are a tenth of it), keeps groups in use: then it takes 150 s. A window \
              that has to contain the discards is therefore 180 s long, and the stall to look for \
              is at its end. For shorter runs mount with `discard=sync`; this measures something \
              else (the commit waits for the discards), so say so.",
        measured: &[
            "4 GiB | 1024 MiB, groups empty | sync, 8 ms | 10.3 s | 10.4 s | 1256 MiB in 22",
            "1 GiB | 128 MiB, groups empty | sync, 4 ms | 10.3 s | 10.3 s | 232 MiB in 5",
            "8 GiB | 512 MiB, 4 MiB beside it kept | sync, 6 ms | 10.1 s (8 MiB) | 146 s | 512 \
             MiB in 9",
            "2 GiB | 256 MiB, 4 MiB beside it kept | sync, 4 ms | 10.3 s (216 MiB) | 149 s | 256 \
             MiB in 6",
        ],
    },
    FilesystemDrain {
        types: &["btrfs"],
        mount: None,
        option: "discard=sync",
        force: ForceDiscards::Sync,
        latest_start: Nanos::from_secs(1),
        why: "As with `discard` alone, btrfs discards within the commit. With checksums (its \
              default) `O_DIRECT` writes of btrfs go through the page cache and are waited for \
              (measured: 64 MiB written directly dirtied 16,385 pages of 4 KiB; 64 on ext4). This \
              does not hide a stall, but each write costs a copy.",
        measured: &["4 GiB | 1024 MiB | sync, 156 ms | before the sync returned | 157 ms | 1026 \
             MiB in 16"],
    },
    FilesystemDrain {
        types: &[],
        mount: None,
        option: "discard",
        force: ForceDiscards::Sync,
        latest_start: Nanos::from_secs(35),
        why: "The longest commit interval in use is 30 s.",
        measured: &[],
    },
];

impl FilesystemDrain {
    /// The rule for methods.
    pub fn rule(&self) -> DrainRule {
        DrainRule {
            force: self.force,
            quiet: Nanos::from_secs(2),
            latest_start: self.latest_start,
            timeout: Nanos::from_secs(3_600),
        }
    }
}

/// The rule for what is deleted below a path, and a name for its filesystem; `None` where deletions
/// send no discards, or the mount is not known.
pub fn drain_of(path: &Path) -> Option<(DrainRule, String)> {
    let mount = mount_of(path).ok()?;
    let way = mount_discard(&mount);
    let rule = drain_rule(&mount.filesystem, way);
    let option = match way {
        MountDiscard::Off => return None,
        MountDiscard::AtCommit => "discard",
        MountDiscard::Deferred => "discard=async",
    };
    Some((rule, format!("{} mounted with `{option}`", mount.filesystem)))
}

/// The rule for a filesystem of this type (`ext4`) mounted like this.
pub fn drain_rule(filesystem: &str, mount: MountDiscard) -> DrainRule {
    let fits = |row: &&FilesystemDrain| {
        let is_type = row.types.is_empty() || row.types.contains(&filesystem);
        is_type && row.mount.is_none_or(|wanted| wanted == mount)
    };
    DRAIN_RULES.iter().find(fits).expect("the last row fits every filesystem").rule()
}
