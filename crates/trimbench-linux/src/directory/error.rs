//! Why a directory cannot serve as a target.

use std::path::PathBuf;

use trimbench_core::{Bytes, Errno};

use crate::mounts::MountError;

/// Why a directory was refused, or could not be put back as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// There is nothing of this name: make the directory first.
    #[error("`{}` does not exist: create it, or name another directory", path.display())]
    Missing {
        /// As given.
        path: PathBuf,
    },
    /// It is a file or a device: name the directory.
    #[error("`{}` is not a directory: name one on the filesystem to measure", path.display())]
    NotADirectory {
        /// As given.
        path: PathBuf,
    },
    /// We may not make files there.
    #[error(
        "cannot create files in `{}`: {errno}; choose a directory of yours or change its mode",
        path.display()
    )]
    NotWritable {
        /// As given.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The filesystem is mounted read-only.
    #[error(
        "the filesystem of `{}` is read-only: remount it with `-o rw` or choose another",
        path.display()
    )]
    ReadOnly {
        /// As given.
        path: PathBuf,
    },
    /// Too little room above the reserve that is never used.
    #[error(
        "the filesystem of `{}` is nearly full: {free} free, of which {reserve} stay untouched{}; \
         make room or choose another",
        path.display(),
        for_others(*promised)
    )]
    NearlyFull {
        /// As given.
        path: PathBuf,
        /// Free for unprivileged users.
        free: Bytes,
        /// Never used.
        reserve: Bytes,
        /// Promised to other runs in the same filesystem.
        promised: Bytes,
    },
    /// What is measured there would not be a local disk's filesystem.
    #[error("`{}` is on `{filesystem}`: {why}; choose a directory on a local disk", path.display())]
    UnsupportedFilesystem {
        /// As given.
        path: PathBuf,
        /// Its type.
        filesystem: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Its device keeps no counters of discards: Linux before 4.18.
    #[error(
        "the device below `{}` keeps no discard counters: Linux 4.18 or later is needed",
        path.display()
    )]
    NoDiscardCounters {
        /// As given.
        path: PathBuf,
    },
    /// The mount could not be determined.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The kernel refused something that every supported system grants: look at limits
    /// (`ulimit -l`, `ulimit -n`, `ulimit -u`) and sandboxes (seccomp, `io_uring_disabled`).
    #[error(
        "cannot {operation}: {errno}; check limits and sandboxes \
         (`ulimit -a`, `sysctl kernel.io_uring_disabled`)"
    )]
    Kernel {
        /// What was tried.
        operation: &'static str,
        /// The reason.
        errno: Errno,
    },
    /// Something of ours could not be removed: remove it by hand once the reason is gone.
    #[error("cannot remove `{}`: {errno}; remove it by hand", path.display())]
    Removal {
        /// What is left.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
}

/// What other runs were promised, as a part of a sentence.
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
