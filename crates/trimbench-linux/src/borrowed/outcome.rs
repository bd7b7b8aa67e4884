//! What can become of a borrowed setting.

use std::fmt;
use std::path::PathBuf;

use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Errno};

/// Why a setting cannot be borrowed or changed. It is then as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BorrowError {
    /// Another process has borrowed it: wait until it has ended.
    #[error("another trimpace works on `{device}`{}", process.map_or(String::new(), of_process))]
    Held {
        /// The kernel's name of the disk.
        device: String,
        /// Its process id, where it is known.
        process: Option<u32>,
    },
    /// The directory of journals cannot be used. `EPERM`: others may enter it, or something in it
    /// is not ours; remove it.
    #[error(
        "cannot use `{}`, where borrowed settings are noted, so nothing is changed: {errno}",
        to_text(path)
    )]
    Lock {
        /// The directory, or a file in it.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The journal cannot be written, so that the setting could not be put back after a kill: make
    /// room, or have the folder mounted writable.
    #[error("cannot write `{}`, so the largest discard is not changed: {errno}", to_text(path))]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// A process that is gone left a journal that is torn or not ours: look at the setting, set it
    /// if need be, and remove the file.
    #[error(
        "`{}` notes a borrowed setting, but cannot be read: set `queue/discard_max_bytes` of that \
         disk yourself, then remove the file",
        to_text(path)
    )]
    Unreadable {
        /// The journal.
        path: PathBuf,
    },
    /// The disk takes no discards, or they are off (`discard_max_bytes` is 0).
    #[error("`{device}` takes no discards")]
    NoDiscards {
        /// The kernel's name of the disk.
        device: String,
    },
    /// The disk is gone, or the kernel does not tell its limit or its disk sequence, which needs
    /// Linux 5.15.
    #[error("sysfs does not tell `queue/discard_max_bytes` and `diskseq` of `{device}`")]
    Unknown {
        /// The kernel's name of the disk.
        device: String,
    },
    /// Another disk has taken the place of the one that the setting was borrowed of.
    #[error("`{device}` is another disk than before")]
    Replaced {
        /// The kernel's name of both.
        device: String,
    },
    /// Somebody else has set it meanwhile, and keeps it.
    #[error("somebody else has set `discard_max_bytes` of `{device}` to {found}")]
    Changed {
        /// The kernel's name of the disk.
        device: String,
        /// The value in force.
        found: Bytes,
    },
    /// The kernel does not take the value: `EACCES` without root.
    #[error("cannot write `{}`: {errno}", to_text(path))]
    Setting {
        /// The attribute of sysfs.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
}

/// What became of a borrowed setting in the end. Prints as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restored {
    /// It is what it was.
    PutBack {
        /// The kernel's name of the disk.
        device: String,
        /// The value in force.
        value: Bytes,
    },
    /// The kernel refuses what it was; it is the nearest value below that it takes.
    PutBackNearest {
        /// The kernel's name of the disk.
        device: String,
        /// What it was.
        original: Bytes,
        /// The value in force.
        written: Bytes,
    },
    /// Somebody else has set it since: left alone.
    Changed {
        /// The kernel's name of the disk.
        device: String,
        /// What it was before we changed it.
        original: Bytes,
        /// The value in force.
        found: Bytes,
    },
    /// There is no such disk any more.
    Gone {
        /// What the kernel called it.
        device: String,
    },
    /// Another disk has its numbers, or the disk has another medium: left alone.
    Replaced {
        /// The kernel's name of both.
        device: String,
    },
    /// The journal is of an earlier start of the kernel, which forgets such settings.
    OtherBoot {
        /// The kernel's name of the disk then.
        device: String,
    },
    /// The journal is torn or not ours (`EBADMSG`), or cannot be read: it stays, and nothing was
    /// written.
    Unreadable {
        /// The journal.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The kernel takes nothing near the original value: the journal stays.
    Failed {
        /// The kernel's name of the disk.
        device: String,
        /// What it was.
        original: Bytes,
        /// The reason.
        errno: Errno,
    },
}

impl Restored {
    /// Whether the setting may still be one of ours, so that somebody must look.
    pub fn needs_attention(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Failed { .. })
    }
}

impl fmt::Display for Restored {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutBack { device, value } => {
                write!(out, "`{device}`: the largest discard is {value} again")
            }
            Self::PutBackNearest { device, original, written } => write!(
                out,
                "`{device}`: the largest discard was {} bytes, which the kernel refuses; it is {} \
                 bytes now",
                original.0, written.0
            ),
            Self::Changed { device, original, found } => write!(
                out,
                "`{device}`: the largest discard is {found}, set by somebody else, and stays; it \
                 was {original} before"
            ),
            Self::Gone { device } => {
                write!(out, "`{device}`: the disk is gone, and nothing was written")
            }
            Self::Replaced { device } => {
                write!(out, "`{device}`: it is another disk than before, and nothing was written")
            }
            Self::OtherBoot { device } => write!(
                out,
                "`{device}`: its setting was noted before the last boot, and nothing was written"
            ),
            Self::Unreadable { path, errno } => write!(
                out,
                "`{}` cannot be trusted ({errno}), and nothing was written: set \
                 `queue/discard_max_bytes` of that disk yourself, then remove the file",
                to_text(path)
            ),
            Self::Failed { device, original, errno } => write!(
                out,
                "`{device}`: the largest discard was {} bytes, which cannot be written: {errno}",
                original.0
            ),
        }
    }
}

fn of_process(id: u32) -> String {
    format!(" (process {id})")
}
