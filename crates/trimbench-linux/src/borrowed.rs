//! The largest discard that the kernel sends to a disk (`queue/discard_max_bytes`), changed for a
//! while and put back, also after a kill.
//!
//! Before each change a journal is written to the directory of [`registry`]: what the setting was,
//! what it is, and what it is going to be, of which disk and in which boot. After a kill
//! [`restore_abandoned`] reads it. It writes only to a disk with the same numbers and the same disk
//! sequence in the same boot, and only over a value that is one of the journal: what somebody else
//! has set stays. A process that cannot write the journal changes nothing.
//!
//! The kernel takes multiples of the granularity only, and not more than it can count. So the
//! default of a loop device, 4294966784, cannot be written back; the nearest value that can be is
//! 4294963200 (Linux 6.18). Each write waits until the disk's queue is empty.
//!
//! Needs Linux 5.15, the first that numbers disks (`diskseq`).
//!
//! [`registry`]: trimbench_claim::registry

mod entry;
mod outcome;

use std::fs;
use std::path::{Path, PathBuf};

use trimbench_claim::errno_of;
use trimbench_claim::registry::{JournalError, RegistryJournal, RegistryKind, folder};
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{Bytes, Errno};

pub(crate) use self::entry::boot_id;
use self::entry::{DiskIdentity, Entry};
pub use self::outcome::{BorrowError, Restored};

#[cfg(test)]
mod tests;

/// The setting of the disk.
const SETTING: &str = "queue/discard_max_bytes";
const GRANULARITY: &str = "queue/discard_granularity";
const HARDWARE: &str = "queue/discard_max_hw_bytes";
/// The most that some kernels take, bytes.
const MOST: u64 = u32::MAX as u64;

/// `queue/discard_max_bytes` of a whole disk, which is ours to change until this is dropped. Then
/// it is what it was before.
#[derive(Debug)]
pub struct BorrowedSetting {
    disk: BlockDevice,
    journal: RegistryJournal,
    /// What the journal says once there is one.
    entry: Entry,
    /// Whether the setting was ever written.
    changed: bool,
    /// What happened to the journal that a killed process had left.
    recovered: Option<Restored>,
    settled: bool,
}

impl BorrowedSetting {
    /// Takes the setting of this disk (of the whole disk if it is a partition); changes nothing
    /// yet. What a killed process left is put back first.
    ///
    /// # Errors
    /// [`BorrowError`]: `Held` if another process has it.
    pub fn take(device: &BlockDevice) -> Result<Self, BorrowError> {
        Self::take_in(&folder(), device)
    }

    fn take_in(folder: &Path, device: &BlockDevice) -> Result<Self, BorrowError> {
        let disk = device.whole();
        let journal = lock(folder, &disk.name)?;
        let recovered = settle(&journal, &disk.name);
        match &recovered {
            Some(Restored::Unreadable { path, .. }) => {
                return Err(BorrowError::Unreadable { path: path.clone() });
            }
            Some(Restored::Failed { errno, .. }) => return Err(refused(&disk, *errno)),
            _ => {}
        }
        let unknown = || BorrowError::Unknown { device: disk.name.clone() };
        let now = disk.number(SETTING).ok_or_else(unknown)?;
        if now == 0 || disk.number(GRANULARITY).unwrap_or(0) == 0 {
            return Err(BorrowError::NoDiscards { device: disk.name });
        }
        let identity = DiskIdentity::of(&disk).ok_or_else(unknown)?;
        let entry = Entry::new(boot_id().ok_or_else(unknown)?, identity, now);
        Ok(Self { disk, journal, entry, changed: false, recovered, settled: false })
    }

    /// What the setting was before.
    pub fn original(&self) -> Bytes {
        Bytes(self.entry.original_bytes)
    }

    /// What it is now, as far as we set it.
    pub fn in_force(&self) -> Bytes {
        Bytes(self.entry.in_force_bytes)
    }

    /// What [`Self::take`] did about the journal of a process that was killed; `None` if there was
    /// none.
    pub fn recovered(&self) -> Option<&Restored> {
        self.recovered.as_ref()
    }

    /// Sets the largest discard: `wanted` rounded down to a multiple of the granularity, at least
    /// one granularity, at most what the hardware takes. Returns what is in force then. A value
    /// that is in force already is not written.
    ///
    /// # Errors
    /// [`BorrowError`]: the setting is then as it was.
    pub fn set(&mut self, wanted: Bytes) -> Result<Bytes, BorrowError> {
        let now = self.checked()?;
        let granularity = self.disk.number(GRANULARITY).unwrap_or(0);
        if granularity == 0 {
            return Err(BorrowError::NoDiscards { device: self.disk.name.clone() });
        }
        let hardware = self.disk.number(HARDWARE).filter(|bytes| *bytes > 0);
        let most = hardware.unwrap_or(u64::MAX).min(MOST.max(self.entry.original_bytes));
        let multiple = |bytes: u64| bytes / granularity * granularity;
        let next = multiple(wanted.0.min(most)).max(granularity);
        if next == now {
            return Ok(Bytes(now));
        }
        let entry = Entry { in_force_bytes: now, next_bytes: next, ..self.entry.clone() };
        let noted = self.journal.write(&entry.to_json());
        noted.map_err(|errno| BorrowError::Journal { path: self.journal.path(), errno })?;
        (self.entry, self.changed) = (entry, true);
        write(&self.disk, next).map_err(|errno| refused(&self.disk, errno))?;
        // More than was written is what somebody else has written since: not ours.
        let read_back = self.disk.number(SETTING).filter(|found| *found <= next);
        let in_force = read_back.unwrap_or(next);
        self.entry.in_force_bytes = in_force;
        Ok(Bytes(in_force))
    }

    /// Puts the setting back, as dropping this does, and says what became of it.
    #[must_use = "it says what could not be put back"]
    pub fn restore(mut self) -> Restored {
        self.settled = true;
        self.end()
    }

    fn end(&self) -> Restored {
        if self.changed {
            return put_back(&self.journal, &self.disk.name, &self.entry);
        }
        Restored::PutBack { device: self.disk.name.clone(), value: self.original() }
    }

    /// The value in force, if the disk is still the same and the value one of ours.
    fn checked(&self) -> Result<u64, BorrowError> {
        let device = || self.disk.name.clone();
        if DiskIdentity::of(&self.disk).as_ref() != Some(&self.entry.disk) {
            return Err(BorrowError::Replaced { device: device() });
        }
        match self.disk.number(SETTING) {
            Some(now) if self.entry.is_ours(now) => Ok(now),
            Some(now) => Err(BorrowError::Changed { device: device(), found: Bytes(now) }),
            None => Err(BorrowError::Unknown { device: device() }),
        }
    }
}

impl Drop for BorrowedSetting {
    fn drop(&mut self) {
        if !self.settled {
            // What fails stays in the journal, and the next start says it.
            let _ = self.end();
        }
    }
}

/// Puts back what processes left that were killed, as far as that is safe; what was done or not
/// done for each journal, in the order of the disks' names. Settings that living processes have
/// borrowed are left alone and not listed.
///
/// # Errors
/// `Lock` if others may enter the directory of journals, or it cannot be read.
pub fn restore_abandoned() -> Result<Vec<Restored>, BorrowError> {
    restore_abandoned_in(&folder())
}

fn restore_abandoned_in(folder: &Path) -> Result<Vec<Restored>, BorrowError> {
    let unusable = |path, errno| Restored::Unreadable { path, errno };
    RegistryJournal::settle_abandoned(folder, RegistryKind::Setting, settle, unusable)
        .map_err(|errno| BorrowError::Lock { path: folder.to_owned(), errno })
}

fn lock(folder: &Path, disk: &str) -> Result<RegistryJournal, BorrowError> {
    RegistryJournal::take_in(folder, RegistryKind::Setting, disk).map_err(|error| match error {
        JournalError::Held { process } => BorrowError::Held { device: disk.to_owned(), process },
        JournalError::Lock { path, errno } => BorrowError::Lock { path, errno },
        _ => BorrowError::Lock { path: folder.to_owned(), errno: Errno::EIO },
    })
}

/// Acts on the journal of a process that is gone; `None` if there is no journal.
fn settle(journal: &RegistryJournal, disk: &str) -> Option<Restored> {
    let parse = |text: &[u8]| Entry::from_json(text).filter(|entry| entry.disk.name == disk);
    match journal.entry(parse) {
        Ok(entry) => entry.map(|entry| put_back(journal, disk, &entry)),
        Err(errno) => Some(Restored::Unreadable { path: journal.path(), errno }),
    }
}

/// Writes the original value back where that is safe, and removes the journal once there is nothing
/// left to do.
fn put_back(journal: &RegistryJournal, name: &str, entry: &Entry) -> Restored {
    let outcome = restored(journal, name, entry);
    if !matches!(outcome, Restored::Failed { .. }) {
        // If it stays, the next start finds the value that it finds now, and says the same.
        let _ = journal.remove();
    }
    outcome
}

fn restored(journal: &RegistryJournal, name: &str, entry: &Entry) -> Restored {
    let (device, original) = (name.to_owned(), Bytes(entry.original_bytes));
    match boot_id() {
        Some(boot) if boot == entry.boot_id => {}
        Some(_) => return Restored::OtherBoot { device },
        None => return Restored::Failed { device, original, errno: Errno(libc::ENODATA) },
    }
    let Some(disk) = entry.disk.find() else { return Restored::Gone { device } };
    if DiskIdentity::of(&disk).as_ref() != Some(&entry.disk) {
        return Restored::Replaced { device };
    }
    match disk.number(SETTING) {
        None => return Restored::Gone { device },
        Some(now) if now == original.0 => return Restored::PutBack { device, value: original },
        Some(now) if !entry.is_ours(now) => {
            return Restored::Changed { device, original, found: Bytes(now) };
        }
        Some(_) => {}
    }
    let mut last = Errno(libc::EINVAL);
    for value in candidates(entry.original_bytes, disk.number(GRANULARITY).unwrap_or(0)) {
        if value != original.0 {
            // So that a kill right after the write does not look like the value of somebody else.
            let _ = journal.write(&Entry { next_bytes: value, ..entry.clone() }.to_json());
        }
        match write(&disk, value) {
            Ok(()) if disk.number(SETTING) == Some(original.0) => {
                return Restored::PutBack { device, value: original };
            }
            Ok(()) => {
                let written = Bytes(disk.number(SETTING).unwrap_or(value));
                return Restored::PutBackNearest { device, original, written };
            }
            Err(errno) => last = errno,
        }
        if last != Errno(libc::EINVAL) {
            break;
        }
    }
    Restored::Failed { device, original, errno: last }
}

/// What to write to have `original` back, the best first: itself, else the largest values below it
/// that kernels take.
fn candidates(original: u64, granularity: u64) -> Vec<u64> {
    let mut all = vec![original];
    for bound in [original, original.min(MOST)] {
        let multiple = bound - bound.checked_rem(granularity).unwrap_or(bound);
        if multiple > 0 && !all.contains(&multiple) {
            all.push(multiple);
        }
    }
    all
}

fn write(disk: &BlockDevice, bytes: u64) -> Result<(), Errno> {
    fs::write(setting_path(disk), bytes.to_string()).map_err(errno_of)
}

fn setting_path(disk: &BlockDevice) -> PathBuf {
    disk.disk().join(SETTING)
}

fn refused(disk: &BlockDevice, errno: Errno) -> BorrowError {
    BorrowError::Setting { path: setting_path(disk), errno }
}
