//! What can become of a borrowed mount option.

use std::fmt;
use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{Mount, MountError};
use trimbench_core::text::{shell_word, to_text};
use trimbench_core::{Errno, MountDiscard};

/// Why the option cannot be borrowed or changed. It is then as it was, or is put back when the
/// borrowing ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountOptionError {
    /// A remount does not change it on this type of filesystem.
    #[error("`{filesystem}` cannot be switched: {why}")]
    Fixed {
        /// The type.
        filesystem: String,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Another process has borrowed it: wait until it has ended.
    #[error(
        "another trimbench switches `{}`{}",
        to_text(mount_point),
        process.map_or(String::new(), of_process)
    )]
    Held {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// Its process id, where it is known.
        process: Option<u32>,
    },
    /// The directory of journals cannot be used. `EPERM`: others may enter it, or something in it
    /// is not ours; remove it.
    #[error(
        "cannot use `{}`, where borrowed options are noted, so nothing is changed: {errno}",
        to_text(path)
    )]
    Lock {
        /// The directory, or a file in it.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The journal cannot be written, so that the option could not be put back after a kill: make
    /// room, or have the folder mounted writable.
    #[error("cannot write `{}`, so the mount is not changed: {errno}", to_text(path))]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// A process that is gone left a journal that is torn or not ours: look at the mount, remount
    /// it if need be, and remove the file.
    #[error(
        "`{}` notes a borrowed mount option, but cannot be read: look at the options of that \
         filesystem (`findmnt`), then remove the file",
        to_text(path)
    )]
    Unreadable {
        /// The journal.
        path: PathBuf,
    },
    /// `/proc/sys/kernel/random/boot_id` cannot be read: mount procfs on `/proc`.
    #[error("`/proc/sys/kernel/random/boot_id` cannot be read, so nothing is changed")]
    NoBootId,
    /// The mount is not known.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// It is not mounted any more.
    #[error("`{}` is not mounted any more", to_text(mount_point))]
    Gone {
        /// Where it was.
        mount_point: PathBuf,
    },
    /// Somebody else has changed it meanwhile, and keeps it.
    #[error("somebody else has remounted `{}` with `{}`", to_text(mount_point), found.option())]
    Changed {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// What is in force.
        found: MountDiscard,
    },
    /// The kernel does not remount it: `EPERM` without root.
    #[error("cannot remount `{}`: {reason}", to_text(mount_point))]
    Refused {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// What the kernel says.
        reason: String,
    },
    /// The kernel reports success, and the option is not in force.
    #[error(
        "the remount of `{}` with `{}` reports success and changes nothing",
        to_text(mount_point),
        wanted.option()
    )]
    NotTaken {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// What was asked for.
        wanted: MountDiscard,
    },
    /// The remount changed more than was asked for, or somebody else did.
    #[error(
        "options of `{}` changed that were to stay: {}; look at them with `findmnt`",
        to_text(mount_point),
        differing.join(", ")
    )]
    Others {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// Those that came or went.
        differing: Vec<String>,
    },
}

impl MountOptionError {
    pub(super) fn refused(mount: &Mount, reason: String) -> Self {
        Self::Refused { mount_point: mount.mount_point.clone(), reason }
    }

    pub(super) fn changed(mount: &Mount, found: MountDiscard) -> Self {
        Self::Changed { mount_point: mount.mount_point.clone(), found }
    }

    pub(super) fn not_taken(mount: &Mount, wanted: MountDiscard) -> Self {
        Self::NotTaken { mount_point: mount.mount_point.clone(), wanted }
    }

    pub(super) fn others(mount: &Mount, differing: Vec<String>) -> Self {
        Self::Others { mount_point: mount.mount_point.clone(), differing }
    }
}

/// What became of a borrowed mount option in the end. Prints as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountRestored {
    /// It is what it was.
    PutBack {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// What is in force.
        way: MountDiscard,
    },
    /// Somebody else has changed it since: left alone.
    Changed {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// What it was before we changed it.
        way: MountDiscard,
        /// What is in force.
        found: MountDiscard,
    },
    /// It is not mounted any more.
    Gone {
        /// Where it was.
        mount_point: PathBuf,
    },
    /// The journal is of an earlier start of the kernel, which forgets such options.
    OtherBoot {
        /// Where it was mounted then.
        mount_point: PathBuf,
    },
    /// The journal is torn or not ours (`EBADMSG`), or cannot be read: it stays, and nothing was
    /// changed.
    Unreadable {
        /// The journal.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The kernel does not take it back: the journal stays.
    Failed {
        /// Where it is mounted.
        mount_point: PathBuf,
        /// Its type.
        filesystem: String,
        /// What it was.
        way: MountDiscard,
        /// What the kernel says.
        reason: String,
    },
}

impl MountRestored {
    /// Whether the option may still be one of ours, so that somebody must look.
    pub fn needs_attention(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Failed { .. })
    }
}

impl fmt::Display for MountRestored {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutBack { mount_point, way } => {
                write!(out, "`{}` is mounted with `{}` again", to_text(mount_point), way.option())
            }
            Self::Changed { mount_point, way, found } => write!(
                out,
                "`{}` is mounted with `{}`, set by somebody else, and stays so; it was `{}` before",
                to_text(mount_point),
                found.option(),
                way.option()
            ),
            Self::Gone { mount_point } => {
                write!(out, "`{}` is not mounted any more", to_text(mount_point))
            }
            Self::OtherBoot { mount_point } => write!(
                out,
                "`{}`: its option was noted before the last boot, and nothing was changed",
                to_text(mount_point)
            ),
            Self::Unreadable { path, errno } => write!(
                out,
                "`{}` cannot be trusted ({errno}), and nothing was changed: look at the options of \
                 that filesystem (`findmnt`), then remove the file",
                to_text(path)
            ),
            Self::Failed { mount_point, filesystem, way, reason } => write!(
                out,
                "`{}` is NOT mounted as before: {reason}; type `{}`",
                to_text(mount_point),
                line(filesystem, mount_point, *way)
            ),
        }
    }
}

/// What a user types to mount it so.
fn line(filesystem: &str, mount_point: &Path, way: MountDiscard) -> String {
    let option = match (filesystem, way) {
        ("btrfs", MountDiscard::AtCommit) => "discard=sync",
        _ => way.option(),
    };
    format!("mount -o remount,{option} {}", shell_word(mount_point.as_os_str()))
}

fn of_process(id: u32) -> String {
    format!(" (process {id})")
}
