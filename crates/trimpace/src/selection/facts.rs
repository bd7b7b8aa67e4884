//! What the choice depends on, as the running system has it. Tests have another.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, StatxAttributes, StatxFlags, accessat, statx};
use trimbench_claim::errno_of;
use trimbench_claim::mounts::{Mount, MountError, own_mounts};
use trimbench_claim::opening;
use trimbench_claim::sysfs::{BlockDevice, attribute, btrfs_folder, devices_of, names_in};
use trimbench_core::Errno;
use trimbench_core::text::{to_text, visible};

use crate::stack::find_below;

/// Major number of loop devices.
const LOOP: u32 = 7;

/// A device that a filesystem is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceFacts {
    /// The kernel's name of it.
    pub(super) name: String,
    /// Of its disk, bytes; 0 if it takes no discards, `None` if it does not say.
    pub(super) granularity: Option<u64>,
    pub(super) is_read_only: bool,
    /// It, or one below it, can be taken out: the name of that one.
    pub(super) removable: Option<String>,
    /// It, or one below it, is a loop device: the name of that one.
    pub(super) looped: Option<String>,
    /// It, or one below it, is an array that lacks a member, or the filesystem lacks a device: the
    /// name of what is incomplete.
    pub(super) degraded: Option<String>,
}

/// A directory that is held open, and where the kernel says that it is.
#[derive(Debug)]
pub(super) struct HeldDirectory {
    /// Opened only to be held (`O_PATH`).
    pub(super) hold: OwnedFd,
    pub(super) mount: u64,
    /// Of the filesystem; for btrfs, of the subvolume.
    pub(super) device: (u32, u32),
    /// It is where the mount begins, as far as the kernel says.
    pub(super) is_root: bool,
}

/// What the choice depends on.
pub(super) trait SystemFacts {
    /// Our mounts now.
    fn mounts(&self) -> Result<Vec<Mount>, MountError>;
    /// The content of a plain file; `None` if there is none.
    fn file(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// The path without symbolic links.
    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno>;
    /// The devices that a filesystem is on; empty if they are not known.
    fn devices(&self, mount: &Mount) -> Vec<DeviceFacts>;
    /// Holds the directory of exactly this name.
    fn hold(&self, path: &Path) -> Result<HeldDirectory, Errno>;
    /// Opens what is held for reading; `EROFS` or `EACCES` if it may not be written to.
    fn open(&self, held: &HeldDirectory) -> Result<OwnedFd, Errno>;
    /// The same, whether or not it may be written to.
    fn open_named(&self, held: &HeldDirectory) -> Result<OwnedFd, Errno>;
}

/// The running system.
#[derive(Debug)]
pub(super) struct RunningSystem;

impl SystemFacts for RunningSystem {
    fn mounts(&self) -> Result<Vec<Mount>, MountError> {
        own_mounts()
    }

    fn file(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match fs::metadata(path) {
            Ok(found) if found.is_file() => fs::read(path).map(Some),
            Ok(_) => Ok(None),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        fs::canonicalize(path).map_err(errno_of)
    }

    fn devices(&self, mount: &Mount) -> Vec<DeviceFacts> {
        let mut all: Vec<DeviceFacts> = devices_of(mount).iter().map(facts_of).collect();
        if btrfs_lacks_a_device(mount) {
            let source = visible(&to_text(&mount.source)).into_owned();
            for device in &mut all {
                device.degraded = Some(source.clone());
            }
        }
        all
    }

    fn hold(&self, path: &Path) -> Result<HeldDirectory, Errno> {
        let flags = opening::HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let hold = rustix::fs::open(path, flags, Mode::empty()).map_err(errno_of)?;
        let wanted = StatxFlags::MNT_ID | StatxFlags::BASIC_STATS;
        let status = statx(&hold, "", AtFlags::EMPTY_PATH, wanted).map_err(errno_of)?;
        let knows_roots = status.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
        let is_root = status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        Ok(HeldDirectory {
            hold,
            mount: status.stx_mnt_id,
            device: (status.stx_dev_major, status.stx_dev_minor),
            is_root: is_root || !knows_roots,
        })
    }

    fn open(&self, held: &HeldDirectory) -> Result<OwnedFd, Errno> {
        // As fstrim: other errors, such as that of an immutable directory, say nothing about it.
        match accessat(&held.hold, ".", Access::WRITE_OK, AtFlags::empty()).map_err(errno_of) {
            Err(errno @ Errno(libc::EROFS | libc::EACCES)) => Err(errno),
            _ => self.open_named(held),
        }
    }

    fn open_named(&self, held: &HeldDirectory) -> Result<OwnedFd, Errno> {
        // "." is what is held, whatever is mounted over it meanwhile.
        rustix::fs::openat(&held.hold, ".", opening::DIRECTORY, Mode::empty()).map_err(errno_of)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn facts_of(device: &BlockDevice) -> DeviceFacts {
    DeviceFacts {
        name: device.name.clone(),
        granularity: device.number("queue/discard_granularity"),
        is_read_only: device.own_number("ro") == Some(1),
        removable: first(device, |device| device.number("removable") == Some(1)),
        looped: first(device, |device| {
            device.whole().numbers().is_some_and(|(major, _)| major == LOOP)
        }),
        degraded: first(device, |device| {
            device.number("md/degraded").is_some_and(|missing| missing > 0)
        }),
    }
}

/// Whether a btrfs was mounted without one of its devices.
fn btrfs_lacks_a_device(mount: &Mount) -> bool {
    let Some(folder) = btrfs_folder(mount).map(|folder| folder.join("devinfo")) else {
        return false;
    };
    let is_missing = |name: &String| {
        attribute(&folder.join(name).join("missing")).is_some_and(|missing| missing == "1")
    };
    names_in(&folder).iter().any(is_missing)
}

/// The name of the first of a device and those below it of which `is` holds.
fn first(device: &BlockDevice, is: impl Fn(&BlockDevice) -> bool) -> Option<String> {
    find_below(device, &|device| is(device).then(|| device.name.clone()))
}
