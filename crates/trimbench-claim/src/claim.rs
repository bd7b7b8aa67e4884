//! The safety gate: the only place that opens a block device or an image file for writing.
//!
//! [`Inspection::of`] inspects without touching; [`Inspection::claim`] refuses, or opens. The
//! order: type, users, name, then exclusive opening, all of these again on the opened descriptor,
//! and last signatures. [`Guard::check`] repeats all but the last immediately before the first
//! write.
//!
//! Two assumptions are never made: that a name means the same twice (identity is device number and
//! disk sequence, or device and inode of a file), and that this process sees every user of a target
//! (the kernel is asked for exclusive use: `O_EXCL`, or a lease). `/proc` and `/sys` only explain;
//! the kernel decides. A fact that cannot be read leads to a refusal.
//!
//! `docs/reference/safety.md` has the rules as a table, and what cannot be detected.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat};
use trimbench_core::{Bytes, Errno};

use crate::errno::errno_of;
use crate::ioctl::{disk_sequence, is_open_elsewhere, is_read_only, lock_whole, loop_status};
use crate::mounts::mount_of;
use crate::opening;
use crate::sysfs::{SECTOR, numbers_of};

mod areas;
mod denial;
mod inspection;
mod loops;
mod naming;
mod openers;
mod refusal;
mod signatures;
#[cfg(test)]
mod tests;
mod uses;
mod witness;

pub use inspection::Inspection;
pub use refusal::ClaimError;
pub(crate) use uses::Use;
pub use uses::users_of;
pub(crate) use witness::{Offence, Witness};

use denial::Denial;
use inspection::{Device, Image, Subject};
use refusal::{ReadOnly, Refusal};
use signatures::{ProbeError, Signature, probe, probe_partitions};

/// How often a target that is busy, or whose users cannot be seen, is tried again, and after what
/// pause: for half a second.
const BUSY_TRIES: u32 = 10;
const BUSY_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// What the user agreed to: what may be lost, or changed for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// The paths given with `--destroy`, as they were given. Those of other targets may be among
    /// them.
    pub destroy: Vec<PathBuf>,
    /// The types given with `--overwrite-signature`, as `wipefs` calls them.
    pub signatures: Vec<String>,
    /// That nothing else uses the file that an image on FUSE, overlayfs and the like is below
    /// (`--sole-user`): nobody but the user can know.
    pub sole_user: bool,
    /// That a mounted filesystem is remounted to discard otherwise, and back (`--switch-mount`).
    pub switch_mount: bool,
    /// The line for a shell that may be run as the load (`--command`). Never taken from a record or
    /// a job file, which may come from anybody.
    pub command: Option<String>,
}

/// A target that may be destroyed, open for that and kept from others.
#[derive(Debug)]
pub struct Claim {
    file: OwnedFd,
    guard: Guard,
}

/// Keeps the target for us, and can tell whether it is still what was claimed. Keep it for as long
/// as the target is written.
#[derive(Debug)]
pub struct Guard {
    /// The same opening as the claim's: its `O_EXCL` and its locks hold while either is open.
    file: OwnedFd,
    /// The file below a loop device, locked as well.
    backing: Option<OwnedFd>,
    inspection: Inspection,
    consent: Consent,
    /// `None` where the kernel has no watches left.
    witness: Option<Witness>,
}

impl Inspection {
    /// Why it may not be destroyed, so far as that can be told without opening it for writing;
    /// `Ok` if [`claim`](Self::claim) will probably be granted. For dry runs.
    pub fn refusal(&self, consent: &Consent) -> Result<(), ClaimError> {
        self.refuse(consent)?;
        let signatures = self
            .signatures
            .as_ref()
            .map_err(|error| Refusal::Probe { path: self.path.clone(), error: error.clone() })?;
        Ok(self.refuse_signatures(signatures, consent)?)
    }

    /// Opens the target for writing, for us alone, or says why not. Nothing is written.
    ///
    /// The descriptor is open with `O_RDWR`, `O_CLOEXEC`, on devices `O_EXCL`, and `O_DIRECT`
    /// wherever the filesystem has it. Do all I/O through it: another opening of an image file
    /// would be taken for someone else's.
    pub fn claim(&self, consent: &Consent) -> Result<Claim, ClaimError> {
        use Refusal::{Busy, InUse, Locked, Unknown};
        // The kernel lets go of files some time after the program that had them was killed.
        let may_pass = |error: &Refusal| {
            matches!(error, Busy { .. } | InUse { .. } | Locked { .. } | Unknown { .. })
        };
        Ok(patiently(|| self.claim_once(consent), may_pass)?)
    }

    fn claim_once(&self, consent: &Consent) -> Result<Claim, Refusal> {
        self.look_again(consent)?;
        let file = self.open()?;
        let mut guard = Guard {
            file: duplicate(&file, &self.path)?,
            backing: self.lock(&file)?,
            witness: None,
            inspection: self.clone(),
            consent: consent.clone(),
        };
        guard.check_once()?;
        let carried = self.signatures_of(file.as_fd());
        let carried = carried.map_err(|error| Refusal::Probe { path: self.path.clone(), error })?;
        self.refuse_signatures(&carried, consent)?;
        // The search for signatures opens the target. Who opens it from here on is no part of that;
        // who has it open by now is found by the check before the first write.
        guard.witness = self.witness(&file, guard.backing.as_ref());
        Ok(Claim { file, guard })
    }

    /// Refuses what is no longer what was inspected, and what has come in the way since.
    /// What is seen now is returned.
    fn look_again(&self, consent: &Consent) -> Result<Self, Refusal> {
        let fresh = Self::without_signatures(&self.given)?;
        if fresh.path != self.path {
            let (was, is) = (self.path.display(), fresh.path.display());
            return Err(self.changed(format!("it led to `{was}` and leads to `{is}`")));
        }
        match (&self.subject, &fresh.subject) {
            (Subject::Device(was), Subject::Device(is)) => self.compare(was, is)?,
            (Subject::Image(was), Subject::Image(is)) if was.file == is.file => {}
            _ => return Err(self.changed("another file has taken its place".to_owned())),
        }
        if fresh.size != self.size {
            return Err(self.changed(format!("it had {} and has {}", self.size, fresh.size)));
        }
        fresh.refuse(consent)?;
        Ok(fresh)
    }

    fn compare(&self, was: &Device, is: &Device) -> Result<(), Refusal> {
        // One after the other, so that the message can say what it is.
        if was.sequence != is.sequence {
            return Err(self.changed("the disk was exchanged (disk sequence)".to_owned()));
        }
        let stable = |device: &Device| {
            (device.numbers, device.start, device.serial.clone(), device.wwid.clone())
        };
        if stable(was) != stable(is) {
            return Err(self.changed("number, serial or position differ".to_owned()));
        }
        let file = |device: &Device| device.backing.as_ref().map(|backing| backing.file);
        if file(was) != file(is) {
            return Err(self.changed("another file is attached".to_owned()));
        }
        Ok(())
    }

    fn changed(&self, change: String) -> Refusal {
        Refusal::Changed { path: self.given.clone(), change }
    }

    fn gone(&self, errno: Errno) -> Refusal {
        Refusal::Gone { path: self.path.clone(), errno }
    }

    /// Everything that forbids it but for what it carries.
    fn refuse(&self, consent: &Consent) -> Result<(), Refusal> {
        let path = || self.path.clone();
        if let Subject::Image(image) = &self.subject
            && !stores_files(&image.mount.filesystem)
        {
            let filesystem = image.mount.filesystem.clone();
            return Err(Refusal::NotStored { path: path(), filesystem });
        }
        if self.size.0 == 0 {
            let why = match self.device() {
                None => "an empty file",
                Some(device) if device.block.name.starts_with("loop") => "nothing is attached",
                Some(_) => "there is no medium, or it is not set up",
            };
            return Err(Refusal::Empty { path: path(), why });
        }
        if let Some(device) = self.device()
            && let Some(model) = device.block.attribute("queue/zoned")
            && model != "none"
        {
            return Err(Refusal::Zoned { path: path(), model });
        }
        if let Some(one) = self.uses().iter().find(|one| one.forbids()) {
            return Err(Refusal::Used { path: path(), by: one.clone() });
        }
        // Who has an image open the kernel says once it is open, in most cases.
        if !self.is_image() {
            self.refuse_unseen()?;
        }
        if let Some(why) = self.read_only {
            return Err(Refusal::ReadOnly { path: path(), why });
        }
        let meaning = self.meaning()?;
        naming::confirm(&self.path, &meaning, &consent.destroy)?;
        self.refuse_hard_links()?;
        if consent.sole_user { Ok(()) } else { self.refuse_indirect() }
    }

    /// Refuses a file that may be used under another inode than its own.
    fn refuse_indirect(&self) -> Result<(), Refusal> {
        let (path, filesystem) = match &self.subject {
            Subject::Image(image) => (&self.path, image.mount.filesystem.clone()),
            Subject::Device(device) => {
                let Some(backing) = &device.backing else { return Ok(()) };
                (&backing.path, mount_of(&backing.path)?.filesystem)
            }
        };
        if is_indirect(&filesystem) {
            return Err(Refusal::Indirect { path: path.clone(), filesystem });
        }
        Ok(())
    }

    /// Refuses where not every use can be seen.
    fn refuse_unseen(&self) -> Result<(), Refusal> {
        let Some(unseen) = &self.uses.unseen else { return Ok(()) };
        let (source_file, errno) = (unseen.path.clone(), unseen.errno);
        Err(Refusal::Unknown { path: self.path.clone(), source_file, errno })
    }

    fn refuse_hard_links(&self) -> Result<(), Refusal> {
        use std::os::unix::fs::MetadataExt as _;
        let (path, links) = match &self.subject {
            Subject::Image(image) => (&self.path, image.names),
            Subject::Device(device) => {
                let Some(backing) = &device.backing else { return Ok(()) };
                // A name that leads nowhere was refused before.
                let data = std::fs::metadata(&backing.path);
                (&backing.path, data.map_or(0, |data| data.nlink()))
            }
        };
        if links > 1 {
            return Err(Refusal::HardLinked { path: path.clone(), links });
        }
        Ok(())
    }

    fn refuse_signatures(&self, carried: &[Signature], consent: &Consent) -> Result<(), Refusal> {
        let unconfirmed = carried.iter().find(|one| !consent.signatures.contains(&one.kind));
        unconfirmed.map_or(Ok(()), |one| {
            Err(Refusal::Signature { path: self.path.clone(), found: one.clone() })
        })
    }

    /// Watches who opens the file that holds the data, or who writes to the device.
    fn witness(&self, file: &OwnedFd, backing: Option<&OwnedFd>) -> Option<Witness> {
        let (file, offence) = match backing {
            Some(below) => (below, Offence::Open),
            None if self.is_image() => (file, Offence::Open),
            None => (file, Offence::Write),
        };
        Witness::new(file.as_fd(), offence).ok()
    }

    fn signatures_of(&self, file: BorrowedFd<'_>) -> Result<Vec<Signature>, ProbeError> {
        let mut carried = probe(file, &self.label())?;
        if let Some(device) = self.device() {
            carried.extend(probe_partitions(&device.block)?);
        }
        Ok(carried)
    }

    /// Opens it for us alone.
    fn open(&self) -> Result<OwnedFd, Refusal> {
        let mut flags = opening::WRITE;
        if !self.is_image() {
            // Without O_CREAT this is defined for block devices only: the kernel's own exclusion,
            // which mounts, swap, dm, md and loop go by.
            flags = flags.union(OFlags::EXCL);
        }
        let open = |flags| rustix::fs::open(&self.path, flags, Mode::empty());
        match open(flags.union(OFlags::DIRECT)) {
            // tmpfs before Linux 6.6 has no direct I/O.
            Err(rustix::io::Errno::INVAL) if self.is_image() => open(flags),
            opened => opened,
        }
        .map_err(|errno| self.open_error(errno))
    }

    fn open_error(&self, errno: rustix::io::Errno) -> Refusal {
        use rustix::io::Errno as E;
        let path = self.path.clone();
        let code = errno_of(errno);
        match errno {
            E::BUSY => Refusal::Busy { path },
            // A file that is swapped on or executed.
            E::TXTBSY => Refusal::InUse { path },
            E::ROFS => Refusal::ReadOnly { path, why: ReadOnly::Mount },
            E::NOENT | E::NODEV | E::NXIO | E::NOMEDIUM => Refusal::Gone { path, errno: code },
            E::LOOP => {
                let change = "it has become a symbolic link".to_owned();
                Refusal::Changed { path, change }
            }
            E::PERM | E::ACCESS => {
                let denial = Denial::of(&path);
                Refusal::Denied { path, errno: code, denial }
            }
            _ => Refusal::NotOpened { path, errno: code },
        }
    }

    /// Locks an image, or the file below a loop device, which is returned. Locks are advisory, but
    /// other runs and qemu go by them.
    fn lock(&self, file: &OwnedFd) -> Result<Option<OwnedFd>, Refusal> {
        if self.is_image() {
            lock(file.as_fd(), &self.path)?;
            let whole = lock_whole(file.as_fd());
            return match whole {
                Err(Errno(libc::EAGAIN | libc::EACCES)) => {
                    Err(Refusal::Locked { path: self.path.clone() })
                }
                // Filesystems without such locks: the lease has the last word.
                _ => Ok(None),
            };
        }
        let Some(backing) = self.device().and_then(|device| device.backing.as_ref()) else {
            return Ok(None);
        };
        let below = rustix::fs::open(&backing.path, opening::READ, Mode::empty());
        let below = below.map_err(|errno| {
            let denial = Denial::of(&backing.path);
            Refusal::Denied { path: backing.path.clone(), errno: errno_of(errno), denial }
        })?;
        lock(below.as_fd(), &backing.path)?;
        Ok(Some(below))
    }
}

impl Claim {
    /// Looks again whether the target is what was claimed, and ours. Cheap beside any measurement;
    /// call it immediately before the first write.
    pub fn check(&self) -> Result<(), ClaimError> {
        self.guard.check()
    }

    /// The open target.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// What was claimed.
    pub fn inspection(&self) -> &Inspection {
        &self.guard.inspection
    }

    /// Gives up exclusive use, for a program that wants it for itself, and keeps the device open
    /// for reading: while it is, no other takes its place under its number.
    pub fn share(self) -> Result<OwnedFd, Errno> {
        // By the descriptor, not by a name, while it is still ours.
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::open(path, opening::READ_THROUGH, Mode::empty()).map_err(errno_of)
    }

    /// The descriptor, and what keeps the target for it.
    pub fn into_parts(self) -> (OwnedFd, Guard) {
        (self.file, self.guard)
    }
}

impl Guard {
    /// As [`Claim::check`].
    pub fn check(&self) -> Result<(), ClaimError> {
        Ok(patiently(|| self.check_once(), |error| matches!(error, Refusal::Unknown { .. }))?)
    }

    fn check_once(&self) -> Result<(), Refusal> {
        let fresh = self.inspection.look_again(&self.consent)?;
        match &self.inspection.subject {
            Subject::Device(device) => self.check_device(device)?,
            Subject::Image(image) => self.check_image(image, &fresh)?,
        }
        self.check_witness()
    }

    /// Only that the descriptor is what was claimed, as large as it was: for between measurements,
    /// as it asks nobody else.
    pub fn check_descriptor(&self) -> Result<(), ClaimError> {
        match &self.inspection.subject {
            Subject::Device(device) => self.check_device(device)?,
            Subject::Image(image) => self.check_file(image)?,
        }
        Ok(self.check_witness()?)
    }

    /// What was claimed.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// That nobody else opened the file, or wrote to the device, since it was claimed.
    fn check_witness(&self) -> Result<(), Refusal> {
        if !self.witness.as_ref().is_some_and(Witness::has_seen) {
            return Ok(());
        }
        let change = match &self.inspection.subject {
            Subject::Device(device) if device.backing.is_none() => {
                "another process wrote to it or had it open for writing"
            }
            Subject::Device(_) => "another process opened its backing file",
            Subject::Image(_) => "another process opened it",
        };
        Err(self.inspection.changed(change.to_owned()))
    }

    /// That the descriptor is the device that was inspected.
    fn check_device(&self, device: &Device) -> Result<(), Refusal> {
        let seen = &self.inspection;
        let status = fstat(&self.file).map_err(|errno| seen.gone(errno_of(errno)))?;
        let is_device = FileType::from_raw_mode(status.st_mode) == FileType::BlockDevice;
        if !is_device || numbers_of(&status) != device.numbers {
            return Err(seen.changed("something else was opened".to_owned()));
        }
        // ENOTTY before Linux 5.15, which then has no sequence in sysfs either.
        if let (Ok(sequence), Some(expected)) = (disk_sequence(self.file.as_fd()), device.sequence)
            && sequence != expected
        {
            return Err(seen.changed("another generation of the disk was opened".to_owned()));
        }
        if is_read_only(self.file.as_fd()).map_err(|errno| seen.gone(errno))? {
            let path = seen.path.clone();
            return Err(Refusal::ReadOnly { path, why: ReadOnly::Device });
        }
        self.check_backing(device)
    }

    /// A loop device must show the very file that was named and is locked.
    fn check_backing(&self, device: &Device) -> Result<(), Refusal> {
        let seen = &self.inspection;
        let Some(backing) = &device.backing else { return Ok(()) };
        let locked = self.backing.as_ref().map(fstat).transpose();
        let locked = locked.map_err(|errno| seen.gone(errno_of(errno)))?;
        let file = locked.map(|status| (status.st_dev, status.st_ino));
        if file.is_none() || file != backing.file {
            return Err(seen.changed("another file bears the name of the image".to_owned()));
        }
        // The device keeps its size whatever becomes of the file: beyond its end reads fail or give
        // zeroes.
        let has = locked.map_or(0, |status| status.st_size.cast_unsigned());
        let start = device.start.unwrap_or(0).saturating_mul(SECTOR);
        let needs = backing.offset.saturating_add(start).saturating_add(seen.size.0);
        if has < needs {
            let (has, needs) = (Bytes(has), Bytes(needs));
            let change = format!("its backing file has {has}, and the device shows {needs} of it");
            return Err(seen.changed(change));
        }
        let status = loop_status(self.file.as_fd()).map_err(|errno| seen.gone(errno))?;
        if Some(status.file) != backing.file {
            return Err(seen.changed("another file is attached".to_owned()));
        }
        Ok(())
    }

    /// That the descriptor is the file that was inspected, as large as it was.
    fn check_file(&self, image: &Image) -> Result<(), Refusal> {
        let seen = &self.inspection;
        let status = fstat(&self.file).map_err(|errno| seen.gone(errno_of(errno)))?;
        if (status.st_dev, status.st_ino) != image.file {
            return Err(seen.changed("another file was opened".to_owned()));
        }
        let has = Bytes(status.st_size.cast_unsigned());
        if has != seen.size {
            return Err(seen.changed(format!("it had {} and has {has}", seen.size)));
        }
        Ok(())
    }

    /// The same, and that it is the only one.
    fn check_image(&self, image: &Image, fresh: &Inspection) -> Result<(), Refusal> {
        self.check_file(image)?;
        match is_open_elsewhere(self.file.as_fd()) {
            Ok(true) => Err(Refusal::InUse { path: self.inspection.path.clone() }),
            Ok(false) => Ok(()),
            // No leases here, or the file is another user's: `/proc` must show every process.
            Err(_) => fresh.refuse_unseen(),
        }
    }
}

/// What uses the regular file of this device and inode, as far as it can be seen.
pub(crate) fn uses_of_file(file: (u64, u64)) -> Result<Vec<Use>, ClaimError> {
    Ok(uses::of_file(file)?.list)
}

/// Tries again for half a second while it fails for a reason that `may_pass`. A process that is
/// just being started in a sandbox cannot be looked at for a moment, for one.
#[expect(clippy::disallowed_methods, reason = "no target is there yet whose time could pass")]
fn patiently<T>(
    attempt: impl Fn() -> Result<T, Refusal>,
    may_pass: impl Fn(&Refusal) -> bool,
) -> Result<T, Refusal> {
    let mut result = attempt();
    for _ in 0..BUSY_TRIES {
        if !result.as_ref().is_err_and(&may_pass) {
            break;
        }
        std::thread::sleep(BUSY_PAUSE);
        result = attempt();
    }
    result
}

fn lock(file: BorrowedFd<'_>, path: &Path) -> Result<(), Refusal> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Refusal::Locked { path: path.to_owned() }),
        // Filesystems without locks.
        _ => Ok(()),
    }
}

fn duplicate(file: &OwnedFd, path: &Path) -> Result<OwnedFd, Refusal> {
    file.try_clone()
        .map_err(|error| Refusal::NotOpened { path: path.to_owned(), errno: errno_of(error) })
}

/// Whether files of this type of filesystem are kept by another one, or by a program or machine
/// that may show them elsewhere, too: neither leases nor locks nor inodes tell of that.
fn is_indirect(filesystem: &str) -> bool {
    let others = ["overlay", "aufs", "ecryptfs", "fuse", "fuseblk", "virtiofs", "9p", "vboxsf"];
    others.contains(&filesystem) || filesystem.starts_with("fuse.")
}

/// Whether files of this type of filesystem hold what was written to them. Others are made up by
/// the kernel, and some of them keep firmware variables or the kernel's own memory.
fn stores_files(filesystem: &str) -> bool {
    const MADE_UP: &str = "proc sysfs devtmpfs debugfs tracefs securityfs selinuxfs configfs \
        cgroup cgroup2 cpuset efivarfs pstore bpf binfmt_misc fusectl mqueue nsfs resctrl \
        smackfs functionfs devpts sockfs pipefs";
    !MADE_UP.split(' ').any(|one| one == filesystem)
}
