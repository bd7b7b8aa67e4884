//! Why a mount is skipped, and why none can be chosen.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{Mount, MountError};
use trimbench_core::Errno;
use trimbench_core::text::{to_text, visible};

/// A mount of a list that is not trimmed. Prints as a line of `--verbose`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedMount {
    /// Where the list has it.
    pub mount_point: PathBuf,
    /// What the list says is mounted there.
    pub source: OsString,
    /// Why not.
    pub reason: SkipReason,
}

/// Why a mount of a list is not trimmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// Its type has no disk of its own.
    #[error("{filesystem} has no disk of its own")]
    Pseudo {
        /// The type.
        filesystem: String,
    },
    /// It is on another machine.
    #[error("{filesystem} is on another machine")]
    Network {
        /// The type.
        filesystem: String,
    },
    /// It is swap.
    #[error("it is swap")]
    Swap,
    /// It is read-only.
    #[error("it is mounted read-only")]
    ReadOnly,
    /// fstab says so.
    #[error("its option X-fstrim.notrim forbids it")]
    NoTrim,
    /// `--types` does not allow its type.
    #[error("`--types` leaves out {filesystem}")]
    Type {
        /// The type.
        filesystem: String,
    },
    /// What was mounted is no device.
    #[error("it is on no block device")]
    NoDevice,
    /// A line of fstab, and nothing is mounted there.
    #[error("nothing is mounted there")]
    NotMounted,
    /// Something else is mounted over it, so that its path does not lead to it.
    #[error("something else is mounted over it{}", by.as_deref().map_or(String::new(), at))]
    Hidden {
        /// Where, if it is not the same mount point.
        by: Option<PathBuf>,
    },
    /// Its path does not exist, as where something is mounted over a folder above it.
    #[error("its path does not exist; something may be mounted over a folder above it")]
    Unreachable,
    /// Something is mounted on a file.
    #[error("it is mounted on a file")]
    NoDirectory,
    /// Its directory may not be written to (`EROFS`) or opened.
    #[error("its directory cannot be used: {errno}")]
    Closed {
        /// The reason.
        errno: Errno,
    },
    /// None of its devices takes discards.
    #[error("{devices} takes no discards")]
    NoDiscards {
        /// The kernel's names of them.
        devices: String,
    },
    /// Its devices are read-only.
    #[error("{devices} is read-only")]
    ReadOnlyDevice {
        /// The kernel's names of them.
        devices: String,
    },
    /// An array or a btrfs without one of its devices: what it frees may still be needed to put it
    /// together again.
    #[error("{device} lacks a device; it is trimmed again once it is complete")]
    Degraded {
        /// The name of what is incomplete.
        device: String,
    },
    /// It is also mounted elsewhere, and trimmed there.
    #[error("it is the filesystem on `{}`", shown(mount_point))]
    Same {
        /// Where.
        mount_point: PathBuf,
    },
    /// It is on a loop device, and was not named.
    #[error("it is on the loop device {device}; name it to have it trimmed")]
    Loop {
        /// The kernel's name of it.
        device: String,
    },
    /// It is on a disk that can be taken out, and was not named.
    #[error("it is on the removable disk {device}; name it to have it trimmed")]
    Removable {
        /// The kernel's name of it.
        device: String,
    },
    /// A program serves it, and it was not named.
    #[error("it is of FUSE; name it to have it trimmed")]
    Fuse,
    /// A user mounted it, and it was not named.
    #[error("a user mounted it (`{option}`); name it to have it trimmed")]
    OfUser {
        /// The option of the mount that says so.
        option: String,
    },
}

/// Why nothing can be chosen, or why a mount that was to be trimmed cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// The mount table cannot be read: mount procfs on `/proc`.
    #[error(transparent)]
    Table(#[from] MountError),
    /// A list cannot be read.
    #[error("cannot read `{}`: {errno}", shown(path))]
    Unreadable {
        /// The list.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// None of the files is there and has a line.
    #[error("no filesystem is listed in {}", names(files))]
    NoList {
        /// As given.
        files: Vec<PathBuf>,
    },
    /// The named path cannot be examined or opened.
    #[error("cannot open `{}`: {errno}", shown(path))]
    Path {
        /// As given.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The named path is no directory.
    #[error("`{}`: not a directory", shown(path))]
    NoDirectory {
        /// As given.
        path: PathBuf,
    },
    /// The named directory is no mount point: name that of the filesystem that it is on.
    #[error(
        "`{}`: not a mount point (EINVAL){}", shown(path), on.as_deref().map_or(String::new(), lies)
    )]
    NoMountPoint {
        /// As given.
        path: PathBuf,
        /// Where the filesystem that it is on is mounted, if known.
        on: Option<PathBuf>,
    },
    /// The same as [`SkipReason::Degraded`], of one that was named.
    #[error(
        "`{}`: {device} lacks a device, and is not trimmed before it is complete",
        shown(mount_point)
    )]
    Degraded {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// The name of what is incomplete.
        device: String,
    },
    /// The path of a mount led to another one than the table had: somebody mounted or unmounted
    /// something meanwhile. Try again.
    #[error(
        "`{}` was exchanged while it was looked up: it was {}, and its path leads to {} now",
        shown(mount_point), described(Some(expected)), described(found.as_deref())
    )]
    Exchanged {
        /// Where.
        mount_point: PathBuf,
        /// As the table had it.
        expected: Box<Mount>,
        /// What its path leads to; `None` if the table has it no more.
        found: Option<Box<Mount>>,
    },
}

impl fmt::Display for SkippedMount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.to_string();
        write!(out, "{}: skipped: {}", shown(&self.mount_point), visible(&reason))
    }
}

/// The name for a person: what would do something to the terminal is escaped.
fn shown(name: impl AsRef<OsStr>) -> String {
    visible(&to_text(name)).into_owned()
}

fn at(path: &Path) -> String {
    format!(", at `{}`", shown(path))
}

fn lies(path: &Path) -> String {
    format!("; its filesystem is mounted on `{}`", shown(path))
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| format!("`{}`", shown(file))).collect();
    if names.is_empty() { "an empty list".to_owned() } else { names.join(", ") }
}

fn described(mount: Option<&Mount>) -> String {
    let Some(mount) = mount else { return "something that is not in the mount table".to_owned() };
    format!("`{}` ({}, mount {})", shown(&mount.source), mount.filesystem, mount.id)
}
