//! Why a directory cannot serve as a target.

use std::path::PathBuf;

use trimbench_claim::mounts::MountError;
use trimbench_core::{Bytes, Errno};

use crate::mount_option::MountRestored;

/// Why a directory was refused, or could not be put back as it was, and what to do.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DirectoryError(#[from] pub(super) Problem);

/// The reasons. `path` is as given, where nothing else is said.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("`{}` does not exist: create it, or name another directory", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is not a directory: name one on the filesystem to measure", path.display())]
    NotADirectory { path: PathBuf },
    #[error(
        "cannot create files in `{}`: {errno}; choose a directory of yours or change its mode",
        path.display()
    )]
    NotWritable { path: PathBuf, errno: Errno },
    #[error(
        "the filesystem of `{}` has free space and no free inodes, which each file needs \
         (`df -i`); remove files that nobody needs, however small, or choose another",
        path.display()
    )]
    NoInodes { path: PathBuf },
    #[error(
        "the filesystem of `{}` is read-only: remount it with `-o rw` or choose another",
        path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error(
        "the filesystem of `{}` is nearly full: {free} free, of which {reserve} stay untouched{}; \
         make room or choose another",
        path.display(),
        for_others(*promised)
    )]
    NearlyFull { path: PathBuf, free: Bytes, reserve: Bytes, promised: Bytes },
    #[error("`{}` is on `{filesystem}`: {why}; choose a directory on a local disk", path.display())]
    UnsupportedFilesystem { path: PathBuf, filesystem: String, why: &'static str },
    #[error(
        "the device below `{}` keeps no discard counters: Linux 4.18 or later is needed",
        path.display()
    )]
    NoDiscardCounters { path: PathBuf },
    #[error(
        "cannot read `{}`, so whether discards were sent is unknown; let this program read it (as \
         by `podman run --security-opt unmask=/sys/dev/block`)",
        folder.display()
    )]
    Masked { folder: PathBuf },
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The kernel refused something that every supported system grants: look at limits
    /// (`ulimit -l`, `ulimit -n`, `ulimit -u`) and sandboxes (seccomp, `io_uring_disabled`).
    #[error(
        "cannot {operation}: {errno}; check limits and sandboxes \
         (`ulimit -a`, `sysctl kernel.io_uring_disabled`)"
    )]
    Kernel { operation: &'static str, errno: Errno },
    #[error("cannot remove `{}`: {errno}; remove it by hand", path.display())]
    Removal { path: PathBuf, errno: Errno },
    /// The mount is not as it was.
    #[error("{restored}")]
    NotRestored { restored: MountRestored },
}

fn for_others(promised: Bytes) -> String {
    match promised {
        Bytes(0) => String::new(),
        _ => format!(" and {promised} are promised to other runs under way there"),
    }
}

/// What is wrong with filesystems of this type; `None` if they can be measured.
pub(super) fn unsuitable(filesystem: &str) -> Option<&'static str> {
    Some(match filesystem {
        "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "f2fs" | "bcachefs" | "jfs" | "nilfs2"
        | "vfat" | "exfat" | "ntfs3" | "tmpfs" => return None,
        "overlay" | "aufs" | "ecryptfs" | "unionfs" => {
            "an overlay, whose deletions may free nothing"
        }
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "9p" | "afs" | "virtiofs" | "gfs2"
        | "ocfs2" | "lustre" | "glusterfs" | "vboxsf" => {
            "a network filesystem, whose discards are its server's"
        }
        _ if filesystem.starts_with("fuse") => "served by a program, which hides the disk",
        _ => "a type whose discards trimbench does not know",
    })
}
