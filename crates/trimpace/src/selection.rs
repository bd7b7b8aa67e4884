//! Which mounts `--all`, `--fstab`, `--listed-in` and a named directory mean, as fstrim(8) of
//! util-linux 2.38 to 2.42 understands them.
//!
//! As there: a list is read backwards; of several lines for one mount point the last counts;
//! pseudo and network filesystems, swap, read-only ones, those with the option `X-fstrim.notrim`
//! and those that `--types` does not allow are skipped, then those without a block device, those
//! that their path does not lead to, and those on devices without discards or that are read-only;
//! of several mounts of one filesystem the first that is left counts.
//!
//! # Differences from fstrim
//!
//! - `--all` skips what its user most likely does not mean, unless it is named: filesystems on loop
//!   devices and on removable disks (also below device mapper), those of FUSE, and those that users
//!   mounted (`user=` or `uhelper=` in utab). So does a list in the form of mountinfo.
//! - `--all` respects `X-fstrim.notrim` in `/etc/fstab`, too; for fstrim only `--fstab` does.
//! - One filesystem is one device number, not one name of a device: subvolumes of btrfs, bind
//!   mounts, and mounts by other names of the device count once.
//! - A filesystem on several devices is trimmed if any of them takes discards.
//! - An md array or a btrfs that lacks a device is not trimmed, even if it is named.
//! - Type and options count of what fstab says and of what is mounted there; `--types` looks at the
//!   latter only. fstrim looks at fstab only, where a type may be `auto`.
//! - A named directory that is no mount point is an error; fstrim trims the filesystem that it is
//!   on.
//!
//! # Safety
//!
//! A directory is looked up once, without following a link in its last part, and held. It is
//! opened, through what is held, only if it is the root of the very mount that the table has (by
//! the mount's number and the device). Other mount namespaces are never looked into: lists are only
//! names.

mod facts;
mod kinds;
mod lists;
mod reason;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use trimbench_claim::errno_of;
use trimbench_claim::mounts::Mount;
use trimbench_core::Errno;

use self::facts::{DeviceFacts, HeldDirectory, RunningSystem, SystemFacts};
use self::kinds::{allows, is_fuse, is_network, is_pseudo};
use self::lists::{Listed, MountList, UserMount, is_fstab, parse_list, parse_utab};
pub use self::reason::{SelectionError, SkipReason, SkippedMount};

#[cfg(test)]
mod tests;

const FSTAB: &str = "/etc/fstab";
const UTAB: &str = "/run/mount/utab";
const OWN_TABLE: &str = "/proc/self/mountinfo";
const NO_TRIM: &str = "X-fstrim.notrim";

/// Which mounts are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichMounts {
    /// `--all`.
    All,
    /// `--fstab`.
    Fstab,
    /// `--listed-in`: the first of these files that has a line.
    ListedIn(Vec<PathBuf>),
    /// The one that is mounted on this directory.
    Named(PathBuf),
}

/// A mount to be trimmed.
#[derive(Debug)]
pub struct ChosenMount {
    /// As the mount table has it.
    pub mount: Mount,
    /// Its root directory, open for reading.
    pub directory: OwnedFd,
}

/// What was chosen, and what was not.
#[derive(Debug, Default)]
pub struct Selection {
    /// In the order in which they are to be trimmed.
    pub chosen: Vec<ChosenMount>,
    /// With the reason, in the same order.
    pub skipped: Vec<SkippedMount>,
    /// Mounts of a list that changed while they were looked at: each is a failure.
    pub failed: Vec<SelectionError>,
}

impl WhichMounts {
    /// The list of `--listed-in`: paths between colons.
    pub fn listed_in(list: &OsStr) -> Self {
        let paths = list.as_bytes().split(|byte| *byte == b':').filter(|path| !path.is_empty());
        Self::ListedIn(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }
}

/// The mounts that are asked for and may be trimmed. `types` is the list of `--types`; it does not
/// concern a named mount.
///
/// # Errors
/// [`SelectionError`]: no mount table or no list can be read, or the named directory is no mount
/// point that can be opened.
pub fn select(which: &WhichMounts, types: Option<&str>) -> Result<Selection, SelectionError> {
    select_of(&RunningSystem, which, types)
}

/// The mount points for which `/etc/fstab` has `X-fstrim.notrim`.
///
/// # Errors
/// If the file is there and cannot be read.
pub fn no_trim() -> Result<Vec<PathBuf>, SelectionError> {
    no_trim_of(&RunningSystem)
}

/// What the rules look at.
struct Chooser<'a> {
    system: &'a dyn SystemFacts,
    mounts: Vec<Mount>,
    types: Option<&'a str>,
    /// The list is the kernel's: nobody chose what is in it.
    unasked: bool,
    /// Mount points with `X-fstrim.notrim` in fstab.
    no_trim: Vec<PathBuf>,
    users: Vec<UserMount>,
}

fn select_of(
    system: &dyn SystemFacts,
    which: &WhichMounts,
    types: Option<&str>,
) -> Result<Selection, SelectionError> {
    let list = match which {
        WhichMounts::Named(path) => return named(system, path),
        WhichMounts::All => first_list(system, &[PathBuf::from(OWN_TABLE)])?,
        WhichMounts::Fstab => first_list(system, &[PathBuf::from(FSTAB)])?,
        WhichMounts::ListedIn(files) => first_list(system, files)?,
    };
    let chooser = Chooser {
        system,
        mounts: system.mounts()?,
        types,
        unasked: list.is_mountinfo,
        no_trim: if list.is_mountinfo { no_trim_of(system)? } else { Vec::new() },
        users: if list.is_mountinfo { users(system)? } else { Vec::new() },
    };
    Ok(chooser.choose(&list.lines))
}

/// The first of these files that has a line.
fn first_list(system: &dyn SystemFacts, files: &[PathBuf]) -> Result<MountList, SelectionError> {
    for path in files {
        let read = system.file(path).map_err(|error| unreadable(path, error));
        let Some(content) = read? else { continue };
        let mut list = parse_list(&content);
        if list.lines.is_empty() {
            continue;
        }
        let has_root = list.lines.iter().any(|line| line.mount_point == Path::new("/"));
        if is_fstab(path) && !has_root {
            list.lines.push(Listed {
                source: "/".into(),
                mount_point: "/".into(),
                filesystem: "auto".to_owned(),
                options: String::new(),
            });
        }
        return Ok(list);
    }
    Err(SelectionError::NoList { files: files.to_vec() })
}

fn no_trim_of(system: &dyn SystemFacts) -> Result<Vec<PathBuf>, SelectionError> {
    let path = Path::new(FSTAB);
    let content = system.file(path).map_err(|error| unreadable(path, error))?.unwrap_or_default();
    let lines = parse_list(&content).lines.into_iter();
    let marked = lines.filter(|line| line.has_option(NO_TRIM));
    Ok(marked.map(|line| line.mount_point).collect())
}

fn users(system: &dyn SystemFacts) -> Result<Vec<UserMount>, SelectionError> {
    let path = Path::new(UTAB);
    let content = system.file(path).map_err(|error| unreadable(path, error))?;
    Ok(parse_utab(&content.unwrap_or_default()))
}

fn unreadable(path: &Path, error: std::io::Error) -> SelectionError {
    SelectionError::Unreadable { path: path.to_owned(), errno: errno_of(error) }
}

/// The mount on a directory that the user named: whatever it is, it was asked for.
fn named(system: &dyn SystemFacts, path: &Path) -> Result<Selection, SelectionError> {
    let failed = |errno: Errno| match errno {
        Errno(libc::ENOTDIR) => SelectionError::NoDirectory { path: path.to_owned() },
        errno => SelectionError::Path { path: path.to_owned(), errno },
    };
    let real = system.real_path(path).map_err(failed)?;
    let mounts = system.mounts()?;
    let held = system.hold(&real).map_err(failed)?;
    let there: Vec<&Mount> = mounts.iter().filter(|mount| mount.mount_point == real).collect();
    let Some(last) = there.last() else {
        let on = mounts.iter().find(|mount| mount.id == held.mount);
        let on = on.map(|mount| mount.mount_point.clone());
        return Err(SelectionError::NoMountPoint { path: path.to_owned(), on });
    };
    let Some(mount) = there.iter().find(|mount| is_held(&held, mount)) else {
        return Err(exchanged(last, &held, &system.mounts()?));
    };
    if let Some(device) = degraded(&system.devices(mount)) {
        return Err(SelectionError::Degraded { mount_point: path.to_owned(), device });
    }
    let directory = system.open_named(&held).map_err(failed)?;
    let chosen = vec![ChosenMount { mount: (*mount).clone(), directory }];
    Ok(Selection { chosen, ..Selection::default() })
}

/// Whether what is held is the root of this mount.
fn is_held(held: &HeldDirectory, mount: &Mount) -> bool {
    // Filesystems without a single device (btrfs) show numbers of subvolumes instead of their own.
    let same_device = mount.device.0 == 0 || held.device == mount.device;
    held.is_root && held.mount == mount.id && same_device
}

fn exchanged(expected: &Mount, held: &HeldDirectory, now: &[Mount]) -> SelectionError {
    SelectionError::Exchanged {
        mount_point: expected.mount_point.clone(),
        expected: Box::new(expected.clone()),
        found: now.iter().find(|mount| mount.id == held.mount).cloned().map(Box::new),
    }
}

impl Chooser<'_> {
    fn choose(&self, lines: &[Listed]) -> Selection {
        let mut selection = Selection::default();
        for (index, listed) in lines.iter().enumerate().rev() {
            match self.examine(listed, &lines[index + 1..]) {
                Ok(chosen) => selection.chosen.push(chosen),
                Err(Refusal::Skip(reason)) => {
                    let mount_point = listed.mount_point.clone();
                    let source = listed.source.clone();
                    selection.skipped.push(SkippedMount { mount_point, source, reason });
                }
                Err(Refusal::Fail(error)) => selection.failed.push(error),
            }
        }
        each_once(&mut selection);
        selection
    }

    fn examine(&self, listed: &Listed, later: &[Listed]) -> Result<ChosenMount, Refusal> {
        unwanted(&listed.filesystem, |option| listed.has_option(option))?;
        if later.iter().any(|other| other.mount_point == listed.mount_point) {
            return skip(SkipReason::Hidden { by: None });
        }
        let mount = self.mounted(listed)?;
        unwanted(&mount.filesystem, |option| mount.has_option(option))?;
        if self.types.is_some_and(|types| !allows(types, &mount.filesystem)) {
            return skip(SkipReason::Type { filesystem: mount.filesystem.clone() });
        }
        if !mount.source.as_bytes().starts_with(b"/") {
            return skip(SkipReason::NoDevice);
        }
        if self.no_trim.contains(&mount.mount_point) {
            return skip(SkipReason::NoTrim);
        }
        self.unasked(&mount)?;
        self.devices(&mount)?;
        let held = self.held(&mount)?;
        let opened = self.system.open(&held);
        let directory = opened.map_err(|errno| Refusal::Skip(SkipReason::Closed { errno }))?;
        Ok(ChosenMount { mount, directory })
    }

    /// What is mounted where this line says.
    fn mounted(&self, listed: &Listed) -> Result<Mount, Refusal> {
        let at = |path: &Path| self.mounts.iter().rfind(|mount| mount.mount_point == path).cloned();
        if let Some(mount) = at(&listed.mount_point) {
            return Ok(mount);
        }
        // A link in a path of fstab.
        let real = self.system.real_path(&listed.mount_point).ok();
        real.and_then(|path| at(&path)).ok_or(Refusal::Skip(SkipReason::NotMounted))
    }

    /// What nobody means who says "all".
    fn unasked(&self, mount: &Mount) -> Result<(), Refusal> {
        if !self.unasked {
            return Ok(());
        }
        if is_fuse(&mount.filesystem) {
            return skip(SkipReason::Fuse);
        }
        let user = self.users.iter().find(|user| user.mount_point == mount.mount_point);
        if let Some(user) = user {
            return skip(SkipReason::OfUser { option: user.option.clone() });
        }
        let devices = self.system.devices(mount);
        if let Some(device) = devices.iter().find_map(|device| device.looped.clone()) {
            return skip(SkipReason::Loop { device });
        }
        match devices.iter().find_map(|device| device.removable.clone()) {
            Some(device) => skip(SkipReason::Removable { device }),
            None => Ok(()),
        }
    }

    fn devices(&self, mount: &Mount) -> Result<(), Refusal> {
        let devices = self.system.devices(mount);
        let names = || {
            let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
            names.join(", ")
        };
        // As fstrim: a device that nobody knows is tried.
        let takes = devices.iter().any(|device| device.granularity != Some(0));
        if !devices.is_empty() && !takes {
            return skip(SkipReason::NoDiscards { devices: names() });
        }
        if !devices.is_empty() && devices.iter().all(|device| device.is_read_only) {
            return skip(SkipReason::ReadOnlyDevice { devices: names() });
        }
        degraded(&devices).map_or(Ok(()), |device| skip(SkipReason::Degraded { device }))
    }

    /// The directory that the path of this mount leads to, if it is its root.
    fn held(&self, mount: &Mount) -> Result<HeldDirectory, Refusal> {
        let held = match self.system.hold(&mount.mount_point) {
            Ok(held) => held,
            Err(Errno(libc::ENOTDIR)) => return skip(SkipReason::NoDirectory),
            Err(Errno(libc::ENOENT)) => return skip(SkipReason::Unreachable),
            Err(errno) => return skip(SkipReason::Closed { errno }),
        };
        if is_held(&held, mount) {
            return Ok(held);
        }
        // Either it was so all the time, and something is mounted over a folder above; or somebody
        // has just changed it.
        let now = self.system.mounts().map_err(|error| Refusal::Fail(error.into()))?;
        let over = self.mounts.iter().find(|mount| mount.id == held.mount);
        match over {
            Some(over) if now.contains(mount) && now.contains(over) => {
                skip(SkipReason::Hidden { by: Some(over.mount_point.clone()) })
            }
            _ => Err(Refusal::Fail(exchanged(mount, &held, &now))),
        }
    }
}

/// Why a mount is not chosen.
enum Refusal {
    Skip(SkipReason),
    Fail(SelectionError),
}

/// What of these lacks a device.
fn degraded(devices: &[DeviceFacts]) -> Option<String> {
    devices.iter().find_map(|device| device.degraded.clone())
}

fn skip<T>(reason: SkipReason) -> Result<T, Refusal> {
    Err(Refusal::Skip(reason))
}

/// Rules that look at type and options only.
fn unwanted(filesystem: &str, has_option: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    let filesystem = || filesystem.to_owned();
    match filesystem().as_str() {
        "swap" => skip(SkipReason::Swap),
        kind if is_pseudo(kind) && !is_fuse(kind) => {
            skip(SkipReason::Pseudo { filesystem: filesystem() })
        }
        kind if is_network(kind) => skip(SkipReason::Network { filesystem: filesystem() }),
        kind if is_pseudo(kind) => skip(SkipReason::Fuse),
        // The latter is what ext4 since Linux 6.15 says after an error.
        _ if has_option("ro") || has_option("emergency_ro") => skip(SkipReason::ReadOnly),
        _ if has_option(NO_TRIM) => skip(SkipReason::NoTrim),
        _ => Ok(()),
    }
}

/// Moves all but the first mount of each filesystem, in the order of the list, to the skipped ones.
fn each_once(selection: &mut Selection) {
    let all = std::mem::take(&mut selection.chosen);
    let mut kept: Vec<ChosenMount> = Vec::new();
    // The list was read backwards.
    for chosen in all.into_iter().rev() {
        match kept.iter().find(|other| other.mount.device == chosen.mount.device) {
            None => kept.push(chosen),
            Some(other) => selection.skipped.push(SkippedMount {
                mount_point: chosen.mount.mount_point,
                source: chosen.mount.source,
                reason: SkipReason::Same { mount_point: other.mount.mount_point.clone() },
            }),
        }
    }
    kept.reverse();
    selection.chosen = kept;
}
