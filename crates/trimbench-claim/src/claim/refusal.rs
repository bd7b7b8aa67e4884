//! Why a target may not be destroyed: each reason names the thing, and says what to do.

use std::path::PathBuf;

use trimbench_core::Errno;
use trimbench_core::text::{shell_path, shell_word};

use super::denial::Denial;
use super::signatures::{ProbeError, Signature};
use super::uses::Use;
use crate::mounts::MountError;

#[cfg(test)]
mod tests;

/// Why a target was refused. Nothing was written to it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ClaimError(#[from] pub(crate) Refusal);

/// The reasons. `path` is the target, where nothing else is said.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("`{}` does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("cannot reach `{}`: {errno}", path.display())]
    Unreachable { path: PathBuf, errno: Errno },
    #[error("`{}` is a {what}, which is neither a block device nor an image file", path.display())]
    WrongType { path: PathBuf, what: &'static str },
    /// A regular file of a filesystem that stores none (`/proc`, `/sys`).
    #[error("`{}` is a file of `{filesystem}`, which is not stored on a disk", path.display())]
    NotStored { path: PathBuf, filesystem: String },
    /// It has no bytes: a detached loop device, a slot without a medium, an empty file.
    #[error("`{}` has a size of 0: {why}", path.display())]
    Empty { path: PathBuf, why: &'static str },
    #[error("`{}` is gone: {errno}", path.display())]
    Gone { path: PathBuf, errno: Errno },
    #[error("`{}` is read-only: {why}", path.display())]
    ReadOnly { path: PathBuf, why: ReadOnly },
    #[error("`{}` is a zoned device ({model})", path.display())]
    Zoned { path: PathBuf, model: String },
    #[error("`{}` has {links} names (hard links), and all of them would be destroyed",
        path.display())]
    HardLinked { path: PathBuf, links: u64 },
    /// The file lies on a filesystem whose files are others' below: two inodes, one file.
    #[error("`{}` lies on `{filesystem}`, and the file below it may be in use under another \
        inode", path.display())]
    Indirect { path: PathBuf, filesystem: String },
    /// It, a part of it, or something that shows the same bytes is used.
    #[error("`{}` is in use: {}", path.display(), by.explanation())]
    Used { path: PathBuf, by: Use },
    /// The kernel says that another has it for itself, and nothing that can be seen explains it.
    #[error("`{}` is in use: something has it open exclusively (EBUSY)", path.display())]
    Busy { path: PathBuf },
    /// Another holds a lock on the file: a virtual machine, another run.
    #[error("`{}` is in use: something holds a lock on it", path.display())]
    Locked { path: PathBuf },
    /// The kernel says that another has the file open, and no process can be seen that has.
    #[error("`{}` is in use: the kernel counts another opening of it, by itself or by a process \
        that is not visible from here", path.display())]
    InUse { path: PathBuf },
    /// A loop device over a block device: another name for something that has one.
    #[error("`{}` is a loop device over the block device `{}`", path.display(), below.display())]
    LoopOverDevice { path: PathBuf, below: PathBuf },
    /// The backing file of the loop device has no name any more, or another file bears it.
    #[error("`{}` is a loop device whose backing file `{}` was removed or replaced",
        path.display(), backing.display())]
    BackingGone { path: PathBuf, backing: PathBuf },
    #[error("`{}` would be destroyed, and `--destroy` does not name it", path.display())]
    NotNamed { path: PathBuf, names: Vec<PathBuf> },
    /// It was named, but by a name that may mean another device tomorrow.
    #[error("`--destroy {}` reaches the target `{}`, but by a name that may mean something else \
        tomorrow", given.display(), path.display())]
    WeakName { path: PathBuf, given: PathBuf, names: Vec<PathBuf> },
    #[error("`--destroy {}` names `{}`, which is not the target `{}`", given.display(),
        leads_to.display(), path.display())]
    WrongName { path: PathBuf, given: PathBuf, leads_to: PathBuf, names: Vec<PathBuf> },
    #[error("`--destroy {}` names nothing: {errno}; the target is `{}`", given.display(),
        path.display())]
    NoSuchName { path: PathBuf, given: PathBuf, errno: Errno, names: Vec<PathBuf> },
    /// It carries data that announce themselves.
    #[error("`{}` carries a signature of `{}` at {} of `{}`{}", path.display(), found.kind,
        found.offset, found.device, labelled(found.label.as_deref()))]
    Signature { path: PathBuf, found: Signature },
    #[error("cannot check `{}` for signatures: {error}", path.display())]
    Probe { path: PathBuf, error: ProbeError },
    #[error("`{}` has changed since it was inspected: {change}", path.display())]
    Changed { path: PathBuf, change: String },
    #[error("cannot open `{}` for writing: {errno}; {denial}", path.display())]
    Denied { path: PathBuf, errno: Errno, denial: Denial },
    #[error("cannot open `{}` for writing: {errno}", path.display())]
    NotOpened { path: PathBuf, errno: Errno },
    /// A fact that the decision needs cannot be read.
    #[error("cannot make sure that `{}` is unused: `{}` cannot be read: {errno}", path.display(),
        source_file.display())]
    Unknown { path: PathBuf, source_file: PathBuf, errno: Errno },
    #[error(transparent)]
    Mount(#[from] MountError),
}

/// What makes a target read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOnly {
    /// The kernel's flag of the device (`blockdev --getro`) or of its disk.
    Device,
    /// No one may write the file by its mode; root could, and is not meant to.
    Mode,
    Mount,
}

impl std::fmt::Display for ReadOnly {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Device => "the kernel's flag of the device is set",
            Self::Mode => "its mode permits nobody to write",
            Self::Mount => "its filesystem is mounted read-only",
        })
    }
}

impl ClaimError {
    /// A stable name in kebab-case, by which `docs/reference/safety.md` explains it.
    pub fn id(&self) -> &'static str {
        self.0.id()
    }

    /// Whether the target was disconnected, and is not known to be changed.
    pub fn is_gone(&self) -> bool {
        self.id() == "gone"
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        self.0.hint()
    }
}

impl Refusal {
    pub(super) const fn id(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Unreachable { .. } => "unreachable",
            Self::WrongType { .. } => "wrong-type",
            Self::NotStored { .. } => "not-stored",
            Self::Empty { .. } => "empty",
            Self::Gone { .. } => "gone",
            Self::ReadOnly { .. } => "read-only",
            Self::Zoned { .. } => "zoned",
            Self::HardLinked { .. } => "hard-linked",
            Self::Indirect { .. } => "indirect",
            Self::Used { by, .. } => match by {
                Use::Mounted { .. } => "mounted",
                Use::Member { .. } => "member",
                Use::Swap { .. } => "swap",
                Use::Held { .. } => "held",
                Use::Attached { .. } => "attached",
                Use::Open { .. } => "open",
            },
            Self::Busy { .. } => "busy",
            Self::Locked { .. } => "locked",
            Self::InUse { .. } => "in-use",
            Self::LoopOverDevice { .. } => "loop-over-device",
            Self::BackingGone { .. } => "backing-gone",
            Self::NotNamed { .. } => "not-named",
            Self::WeakName { .. } => "weak-name",
            Self::WrongName { .. } => "wrong-name",
            Self::NoSuchName { .. } => "no-such-name",
            Self::Signature { .. } => "signature",
            Self::Probe { .. } => "probe",
            Self::Changed { .. } => "changed",
            Self::Denied { .. } => "denied",
            Self::NotOpened { .. } => "not-opened",
            Self::Unknown { .. } | Self::Mount(_) => "unknown",
        }
    }

    pub(super) fn hint(&self) -> String {
        match self {
            Self::NotNamed { names, .. }
            | Self::WeakName { names, .. }
            | Self::WrongName { names, .. }
            | Self::NoSuchName { names, .. } => naming_hint(names),
            Self::Used { by, .. } => by.hint(),
            Self::Signature { found, .. } => {
                let kind = shell_word(&found.kind);
                format!("if it may be destroyed, add `--overwrite-signature {kind}`")
            }
            Self::LoopOverDevice { below, .. } => {
                format!("name `{}` itself, and detach the loop device", below.display())
            }
            _ => self.plain_hint().to_owned(),
        }
    }

    const fn plain_hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "`ls -l /dev/disk/by-id` lists the disks",
            Self::WrongType { .. } | Self::NotStored { .. } => {
                "name a block device, an image file, or a directory for methods that destroy \
                 nothing"
            }
            Self::Empty { .. } => {
                "attach an image (`losetup --find --show IMAGE`), insert the \
                medium, or give the file a size (`truncate --size 8G IMAGE`)"
            }
            Self::ReadOnly { why, .. } => match why {
                ReadOnly::Device => "`blockdev --setrw DEVICE` if that was not on purpose",
                ReadOnly::Mode => "`chmod u+w IMAGE` if that was not on purpose",
                ReadOnly::Mount => "remount it with `-o rw`, or choose another place",
            },
            Self::Zoned { .. } => "trimbench measures devices that may be written anywhere",
            Self::HardLinked { .. } => "work on a copy: `cp --sparse=always IMAGE COPY`",
            Self::Indirect { .. } => {
                "put the image on ext4, XFS, btrfs or tmpfs; if nothing else uses the file below, \
                 add `--sole-user`"
            }
            Self::Busy { .. } => {
                "look at `lsblk`, `dmsetup ls`, `/proc/mdstat`, `zpool status`, \
                and at containers and virtual machines"
            }
            Self::Locked { .. } | Self::InUse { .. } => {
                "look at `lslocks`, `lsof`, `losetup \
                --list`, and at containers and virtual machines"
            }
            Self::BackingGone { .. } => "detach it, and attach an image that has a name",
            Self::Probe { error: ProbeError::Unreadable { .. }, .. } => {
                "the unreadable part may belong to a filesystem on a failing disk: save its data \
                 first (`ddrescue`); if nothing on it matters, overwrite these bytes and try again"
            }
            Self::Probe { .. } => {
                "install util-linux (`wipefs`), or see the reason above; a target that cannot be \
                 examined is not overwritten"
            }
            Self::Changed { .. } | Self::Gone { .. } => "check the device, then start again",
            Self::Denied { .. } | Self::Unreachable { .. } | Self::NotOpened { .. } => {
                "see the \
                reason above; destructive methods need write access to the device"
            }
            _ => {
                "run as root (an image may also be overwritten by its owner), with /proc and /sys \
                 mounted, /proc without `hidepid` and `subset`"
            }
        }
    }
}

fn labelled(label: Option<&str>) -> String {
    label.map(|label| format!(", label `{label}`")).unwrap_or_default()
}

fn naming_hint(names: &[PathBuf]) -> String {
    match names {
        [] => "it has no name that could be confirmed".to_owned(),
        [name, ..] => {
            format!("if everything on it may be destroyed, add `--destroy {}`", shell_path(name))
        }
    }
}
