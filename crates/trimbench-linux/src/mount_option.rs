//! How a mounted filesystem discards what deletions free (`discard`, `nodiscard`), changed for a
//! while by remounts and put back, also after a kill.
//!
//! Before each change a journal is written to the directory of [`registry`]: what the option was,
//! what it is, and what it is going to be, of which filesystem and in which boot. After a kill
//! [`restore_abandoned_mounts`] reads it. It remounts only the same filesystem in the same boot,
//! and only if the option in force is one of the journal: what somebody else has set stays. A
//! process that cannot write the journal changes nothing.
//!
//! A remount (`fspick`, Linux 5.2) names the one option that it changes. ext4 takes `lazytime` for
//! cleared unless it is named, so it is named where it is on (`__ext4_remount`, fs/ext4/super.c).
//! After each remount the options are read again: the filesystem must say what was asked for, and
//! all others must be as they were.
//!
//! [`registry`]: trimbench_claim::registry

mod entry;
mod outcome;

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::mount::{FsPickFlags, fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string};
use trimbench_claim::errno_of;
use trimbench_claim::mounts::{Mount, mount_of, own_mounts};
use trimbench_claim::registry::{JournalError, RegistryJournal, RegistryKind, folder};
use trimbench_core::{Errno, MountDiscard};

use self::entry::Entry;
pub use self::outcome::{MountOptionError, MountRestored};
use crate::borrowed::boot_id;
use crate::drain::{ext4_options, mount_discard};

#[cfg(test)]
mod tests;

/// The option by which mounts say how they discard, in all its forms.
const FAMILY: [&str; 4] = ["discard", "nodiscard", "discard=sync", "discard=async"];
/// What the kernel says of a remount that it refuses is no longer.
const MESSAGE_MAX: usize = 512;

/// The ways that a remount switches a filesystem of this type between.
///
/// # Errors
/// Why there are none, and what to do.
pub fn switchable_ways(filesystem: &str) -> Result<&'static [MountDiscard], &'static str> {
    use MountDiscard::{AtCommit, Deferred, Off};
    match filesystem {
        "ext4" | "ext3" | "ext2" => Ok(&[Off, AtCommit]),
        "btrfs" => Ok(&[Off, AtCommit, Deferred]),
        "xfs" => Err("XFS takes the option at its mount only: a remount reports success and \
             changes nothing. Measure a filesystem that trimbench makes and mounts (`xfs:PATH`)"),
        "f2fs" => Err("a remount of f2fs sets every option that it does not name to its default"),
        _ => Err("only ext4 and btrfs are known to take the option by a remount"),
    }
}

/// The option of a mounted filesystem, which is ours to change until this is dropped. Then it is
/// what it was before.
#[derive(Debug)]
pub struct BorrowedMountOption {
    mount: Mount,
    /// Where the filesystem is mounted, whatever the path comes to mean.
    root: OwnedFd,
    journal: RegistryJournal,
    /// What the journal says once there is one.
    entry: Entry,
    /// All other options, which stay.
    others: BTreeSet<String>,
    changed: bool,
    /// What happened to the journal that a killed process had left.
    recovered: Option<MountRestored>,
    settled: bool,
}

impl BorrowedMountOption {
    /// Takes the option of the filesystem that `path` lies on; changes nothing yet. What a killed
    /// process left is put back first.
    ///
    /// # Errors
    /// [`MountOptionError`]: `Held` if another process has it, `Fixed` if a remount cannot change
    /// it.
    pub fn take(path: &Path) -> Result<Self, MountOptionError> {
        Self::take_in(&folder(), path)
    }

    fn take_in(folder: &Path, path: &Path) -> Result<Self, MountOptionError> {
        let mount = mount_of(path)?;
        if let Err(why) = switchable_ways(&mount.filesystem) {
            let filesystem = mount.filesystem;
            return Err(MountOptionError::Fixed { filesystem, why });
        }
        let name = thing(mount.device);
        let journal = lock(folder, &name, &mount)?;
        let recovered = settle(&journal, &name);
        match &recovered {
            Some(MountRestored::Unreadable { path, .. }) => {
                return Err(MountOptionError::Unreadable { path: path.clone() });
            }
            Some(MountRestored::Failed { reason, .. }) => {
                return Err(MountOptionError::refused(&mount, reason.clone()));
            }
            _ => {}
        }
        // It may have been changed just now.
        let mount = mount_of(path)?;
        let root = open_root(&mount)?;
        let boot = boot_id().ok_or(MountOptionError::NoBootId)?;
        let entry = Entry::new(boot, &mount, mount_discard(&mount));
        let others = others(&mount);
        Ok(Self { mount, root, journal, entry, others, changed: false, recovered, settled: false })
    }

    /// What it was before.
    pub fn original(&self) -> MountDiscard {
        self.entry.original()
    }

    /// What [`Self::take`] did about the journal of a process that was killed; `None` if there was
    /// none.
    pub fn recovered(&self) -> Option<&MountRestored> {
        self.recovered.as_ref()
    }

    /// Has the filesystem discard in this way. One that is in force already is not set.
    ///
    /// # Errors
    /// [`MountOptionError`]: the option is then as it was, or is put back when this is dropped.
    pub fn set(&mut self, way: MountDiscard) -> Result<(), MountOptionError> {
        let found = self.found()?;
        let now = mount_discard(&found);
        if !self.entry.is_ours(now) {
            return Err(MountOptionError::changed(&found, now));
        }
        if now == way {
            return Ok(());
        }
        let entry = self.entry.clone().going(now, way);
        let noted = self.journal.write(&entry.to_json());
        noted.map_err(|errno| MountOptionError::Journal { path: self.journal.path(), errno })?;
        (self.entry, self.changed) = (entry, true);
        remount(&self.root, &found, way)
            .map_err(|reason| MountOptionError::refused(&found, reason))?;
        let after = self.found()?;
        if mount_discard(&after) != way {
            return Err(MountOptionError::not_taken(&after, way));
        }
        let others = others(&after);
        if others != self.others {
            let differing = self.others.symmetric_difference(&others).cloned().collect();
            return Err(MountOptionError::others(&after, differing));
        }
        Ok(())
    }

    /// Puts the option back, as dropping this does, and says what became of it.
    #[must_use = "it says what could not be put back"]
    pub fn restore(mut self) -> MountRestored {
        self.settled = true;
        self.end()
    }

    fn end(&self) -> MountRestored {
        if self.changed {
            return put_back(&self.journal, &self.entry);
        }
        let mount_point = self.mount.mount_point.clone();
        MountRestored::PutBack { mount_point, way: self.original() }
    }

    /// The mount as the table shows it now.
    fn found(&self) -> Result<Mount, MountOptionError> {
        let mounts = own_mounts()?;
        let mut same = mounts.into_iter().filter(|mount| mount.id == self.mount.id);
        let same = same.find(|mount| mount.device == self.mount.device);
        let mount_point = || self.mount.mount_point.clone();
        same.ok_or_else(|| MountOptionError::Gone { mount_point: mount_point() })
    }
}

impl Drop for BorrowedMountOption {
    fn drop(&mut self) {
        if !self.settled {
            // What fails stays in the journal, and the next start says it.
            let _ = self.end();
        }
    }
}

/// Puts back what processes left that were killed, as far as that is safe; what was done or not
/// done for each journal. Options that living processes have borrowed are left alone and not
/// listed.
///
/// # Errors
/// `Lock` if others may enter the directory of journals, or it cannot be read.
pub fn restore_abandoned_mounts() -> Result<Vec<MountRestored>, MountOptionError> {
    restore_abandoned_in(&folder())
}

fn restore_abandoned_in(folder: &Path) -> Result<Vec<MountRestored>, MountOptionError> {
    let unusable = |path, errno| MountRestored::Unreadable { path, errno };
    RegistryJournal::settle_abandoned(folder, RegistryKind::Mount, settle, unusable)
        .map_err(|errno| MountOptionError::Lock { path: folder.to_owned(), errno })
}

/// What journals call a filesystem: its device numbers, those of one that is mounted.
fn thing((major, minor): (u32, u32)) -> String {
    format!("{major}:{minor}")
}

fn lock(folder: &Path, name: &str, mount: &Mount) -> Result<RegistryJournal, MountOptionError> {
    let mount_point = || mount.mount_point.clone();
    RegistryJournal::take_in(folder, RegistryKind::Mount, name).map_err(|error| match error {
        JournalError::Held { process } => {
            MountOptionError::Held { mount_point: mount_point(), process }
        }
        JournalError::Lock { path, errno } => MountOptionError::Lock { path, errno },
        _ => MountOptionError::Lock { path: folder.to_owned(), errno: Errno::EIO },
    })
}

/// Acts on the journal of a process that is gone; `None` if there is no journal.
fn settle(journal: &RegistryJournal, name: &str) -> Option<MountRestored> {
    let parse = |text: &[u8]| Entry::from_json(text).filter(|entry| thing(entry.device) == name);
    match journal.entry(parse) {
        Ok(entry) => entry.map(|entry| put_back(journal, &entry)),
        Err(errno) => Some(MountRestored::Unreadable { path: journal.path(), errno }),
    }
}

/// Puts the original option back where that is safe, and removes the journal once there is nothing
/// left to do.
fn put_back(journal: &RegistryJournal, entry: &Entry) -> MountRestored {
    let outcome = restored(entry);
    if !matches!(outcome, MountRestored::Failed { .. }) {
        // If it stays, the next start finds the option that it finds now, and says the same.
        let _ = journal.remove();
    }
    outcome
}

fn restored(entry: &Entry) -> MountRestored {
    let (mount_point, way) = (entry.mount_point(), entry.original());
    let failed = |reason: String| MountRestored::Failed {
        mount_point: entry.mount_point(),
        filesystem: entry.filesystem.clone(),
        way,
        reason,
    };
    match boot_id() {
        Some(boot) if boot == entry.boot_id => {}
        Some(_) => return MountRestored::OtherBoot { mount_point },
        None => return failed("this start of the kernel has no number".to_owned()),
    }
    let mounts = match own_mounts() {
        Ok(mounts) => mounts,
        Err(error) => return failed(error.to_string()),
    };
    let Some(mount) = entry.find(&mounts) else { return MountRestored::Gone { mount_point } };
    let now = mount_discard(mount);
    if now == way {
        return MountRestored::PutBack { mount_point, way };
    }
    if !entry.is_ours(now) {
        return MountRestored::Changed { mount_point, way, found: now };
    }
    let remounted = open_root(mount)
        .map_err(|error| error.to_string())
        .and_then(|root| remount(&root, mount, way));
    if let Err(reason) = remounted {
        return failed(reason);
    }
    let after = own_mounts().ok();
    match after.as_deref().and_then(|mounts| entry.find(mounts)).map(mount_discard) {
        Some(now) if now == way => MountRestored::PutBack { mount_point, way },
        _ => failed("the kernel reports success, and the option is as before".to_owned()),
    }
}

/// The directory that a filesystem is mounted on, as this mount and no other that lies on it.
fn open_root(mount: &Mount) -> Result<OwnedFd, MountOptionError> {
    let path = &mount.mount_point;
    let failed = |errno| MountOptionError::refused(mount, errno_of(errno).to_string());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    let status = rustix::fs::statx(&root, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    if status.map_err(failed)?.stx_mnt_id == mount.id {
        return Ok(root);
    }
    let reason = "another filesystem is mounted over it".to_owned();
    Err(MountOptionError::refused(mount, reason))
}

/// Asks the kernel for this one option. The error is what it says.
fn remount(root: &OwnedFd, mount: &Mount, way: MountDiscard) -> Result<(), String> {
    let said = |errno: rustix::io::Errno| errno_of(errno).to_string();
    let flags = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
    let context = rustix::mount::fspick(root, "", flags).map_err(|errno| match errno {
        rustix::io::Errno::NOSYS => "remounting one option takes Linux 5.2".to_owned(),
        rustix::io::Errno::PERM => format!("{} (a remount takes root)", said(errno)),
        errno => said(errno),
    })?;
    let asked = || {
        if mount.has_option("lazytime") {
            fsconfig_set_flag(context.as_fd(), "lazytime")?;
        }
        match way {
            MountDiscard::Deferred => fsconfig_set_string(context.as_fd(), "discard", "async")?,
            _ => fsconfig_set_flag(context.as_fd(), way.option())?,
        }
        fsconfig_reconfigure(context.as_fd())
    };
    asked().map_err(|errno| {
        let message = message_of(&context).map(|message| format!(" ({message})"));
        said(errno) + &message.unwrap_or_default()
    })
}

/// What the kernel has to say about a remount that it refused: `e ext4: ...`.
fn message_of(context: &OwnedFd) -> Option<String> {
    let mut text = vec![0; MESSAGE_MAX];
    let length = rustix::io::read(context, &mut text).ok()?;
    text.truncate(length);
    let text = String::from_utf8_lossy(&text);
    let words = text.trim().split_once(' ').map_or("", |(_, words)| words);
    (!words.is_empty()).then(|| words.to_owned())
}

/// All options but the one that is switched.
fn others(mount: &Mount) -> BTreeSet<String> {
    let own = ext4_options(mount).unwrap_or_default();
    let all = mount.options.split(',').map(str::to_owned).chain(own);
    all.filter(|option| !FAMILY.contains(&option.as_str())).collect()
}
