//! Newly made real filesystems on a device or an image file: claimed, formatted, mounted, and
//! unmounted in every case.
//!
//! Each mkfs goes through the gate, but on a device that was made for us, which nobody can miss:
//! the target is claimed as for overwriting, and released only for mkfs, which opens it exclusively
//! itself; while it is mounted the kernel keeps others out. A descriptor is held on the device
//! throughout ([`HeldDevice`]), so that it stays the claimed one. The new filesystem is identified
//! by its UUID, before and after the mount. On later runs of mkfs the filesystem that we made
//! before may be overwritten. An image file stays claimed, below a loop device of our own that
//! detaches with its last user (autoclear), so that not even a killed run leaves one.
//!
//! mkfs and mount are the system's programs: they know options that no library has.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use trimbench_claim::{ClaimError, Consent, Guard, Inspection, LoopIo, attach_loop_device};
use trimbench_core::reason;
use trimbench_core::{
    Bytes, Capabilities, Clock, DiscardMode, DrainRule, Errno, Files, FilesystemSpec, Interrupt,
    Medium, MountDiscard, Nanos, ProvisionError, Provisioner, Support,
};

use crate::clock::MonotonicClock;
use crate::directory::{DirectoryOptions, DirectoryTarget, SuspendedDirectory};

mod device;
mod memory_limit;
mod mount_point;
mod programs;

use device::{HeldDevice, Uuid};
pub use memory_limit::MemoryLimit;
use mount_point::MountPoint;
use programs::{mkfs, mount};

#[cfg(test)]
mod tests;

/// How often a wait looks whether the user wants to stop.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);

/// A type of filesystem that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesystemKind {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// F2FS.
    F2fs,
}

/// What is done about memory, which else keeps files from the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheControl {
    /// Nothing.
    #[default]
    Keep,
    /// Whatever is cached is dropped before each filesystem is made.
    Drop,
    /// This process, and what is cached for it, get no more memory than this.
    Limit(Bytes),
}

/// What is to be made, and where.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// The type.
    pub kind: FilesystemKind,
    /// Mount options beside `discard` or `nodiscard`.
    pub mount_options: Vec<String>,
    /// What is done about memory.
    pub cache: CacheControl,
    /// Makes the content of files.
    pub seed: u64,
    /// The user's wish to stop, which ends a wait before a mount.
    pub interrupt: Interrupt,
}

/// What cannot be had before anything is made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The target may not be overwritten.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// What we need of the system is not to be had.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
}

/// Makes real filesystems on one device or image file.
#[derive(Debug)]
pub struct MkfsProvisioner {
    // The order is that of dropping: the filesystem, then what it stands on.
    mounted: Option<DirectoryTarget>,
    place: MountPoint,
    /// What is formatted and mounted: the device that was claimed, or a loop device of ours.
    device: HeldDevice,
    /// Of the filesystem that was made last.
    uuid: Option<Uuid>,
    keeper: Keeper,
    /// Given back last, when nothing of ours is cached any more.
    _limit: Option<MemoryLimit>,
    options: MakeOptions,
    capabilities: Capabilities,
}

/// By what right the device is overwritten.
#[derive(Debug)]
enum Keeper {
    /// It is claimed anew for each making, because mkfs and mount want it for themselves.
    Claims(Box<Inspection>, Consent),
    /// It shows an image file that stays claimed.
    Image { _guard: Guard },
    /// It was made for us.
    Own,
}

impl FilesystemKind {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::F2fs];

    /// As the kernel and mkfs call it.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::F2fs => "f2fs",
        }
    }
}

impl MkfsProvisioner {
    /// Claims what `path` leads to, so far as `consent` goes, and removes what killed runs have
    /// left mounted. Nothing is written yet.
    pub fn claim(
        inspection: &Inspection,
        consent: &Consent,
        options: MakeOptions,
    ) -> Result<Self, MakeError> {
        // What a killed run left mounted may be on this very target.
        let place = MountPoint::create();
        let claim = inspection.claim(consent)?;
        let on_memory = inspection.image_filesystem().as_deref() == Some("tmpfs");
        if let (CacheControl::Limit(_), true) = (options.cache, on_memory) {
            let reason = "the image itself is kept in memory, and would count".to_owned();
            let advice = "use `cache=drop`, or an image on a disk".to_owned();
            return Err(failed("make", reason, Some(advice)).into());
        }
        let (device, keeper) = if inspection.is_image() {
            let (file, guard) = claim.into_parts();
            (attach_loop_device(&file, LoopIo::Cached), Keeper::Image { _guard: guard })
        } else {
            let device = claim.share().map(|file| (file, inspection.path().into()));
            (device, Keeper::Claims(Box::new(inspection.clone()), consent.clone()))
        };
        Ok(Self::on(device, (keeper, inspection.size()), place, options)?)
    }

    /// On a device of so many bytes that was made for this, open as `device`, whose node is `node`.
    /// Removes what killed runs have left mounted. Nothing is written yet.
    pub fn on_own(
        (device, node): (OwnedFd, PathBuf),
        capacity: Bytes,
        options: MakeOptions,
    ) -> Result<Self, ProvisionError> {
        Self::on(Ok((device, node)), (Keeper::Own, capacity), MountPoint::create(), options)
    }

    fn on(
        device: Result<(OwnedFd, PathBuf), Errno>,
        (keeper, capacity): (Keeper, Bytes),
        place: Result<MountPoint, Errno>,
        options: MakeOptions,
    ) -> Result<Self, ProvisionError> {
        programs::look_for(options.kind)?;
        let place = place.map_err(|errno| {
            failed("mount", format!("no directory to mount it on: {errno}"), root_advice(errno))
        })?;
        let limit = match options.cache {
            CacheControl::Limit(bytes) => Some(MemoryLimit::set(bytes)?),
            CacheControl::Keep | CacheControl::Drop => None,
        };
        let device = device.and_then(|(file, node)| HeldDevice::new(file, node));
        let device = device.map_err(|errno| {
            failed("make", format!("no device is to be had: {errno}"), root_advice(errno))
        })?;
        let capabilities = expected(capacity);
        let (mounted, uuid) = (None, None);
        Ok(Self { mounted, place, device, uuid, keeper, _limit: limit, options, capabilities })
    }

    /// Leftovers of killed runs that were unmounted and removed.
    pub fn cleaned_leftovers(&self) -> &[PathBuf] {
        self.place.cleaned()
    }

    /// Looks once more at a device before mkfs overwrites it.
    fn look_again(&mut self) -> Result<(), ProvisionError> {
        if let Keeper::Claims(inspection, consent) = &mut self.keeper {
            let refused = |error: ClaimError| failed("make", error.to_string(), Some(error.hint()));
            inspection.claim(consent).map_err(refused)?;
            // From here on it carries what we made.
            let own = self.options.kind.id().to_owned();
            if !consent.signatures.contains(&own) {
                consent.signatures.push(own);
            }
        }
        self.device.check()
    }

    fn mount(
        &mut self,
        way: MountDiscard,
        suspended: Option<SuspendedDirectory>,
    ) -> Result<DirectoryTarget, ProvisionError> {
        let uuid = self.uuid.expect("one was made");
        let node = self.device.node();
        let noted = self.place.expect(node);
        noted.map_err(|errno| failed("mount", format!("`{}`: {errno}", node.display()), None))?;
        let (kind, path) = (self.options.kind, self.place.path());
        let online = way != MountDiscard::Off;
        let mut all = vec![way.option().to_owned()];
        all.extend(self.options.mount_options.iter().cloned());
        self.device.check_carries(kind, uuid)?;
        mount(kind, &all, self.device.node(), path)?;
        let options = DirectoryOptions { seed: self.options.seed, ..DirectoryOptions::default() };
        let open = || {
            let opened = match suspended {
                Some(suspended) => DirectoryTarget::resume(path, options, suspended),
                None => DirectoryTarget::open(path, options),
            };
            opened.map_err(|error| failed("mount", error.to_string(), None))
        };
        let same = self.device.check_mounted(kind, path);
        let checked =
            same.and_then(|()| self.device.check_carries(kind, uuid)).and_then(|()| open());
        let checked = checked.and_then(|files| match files.discard_path().obstacle() {
            Some(obstacle) if online => {
                let reason = format!("it was mounted with `-o {}`, and {obstacle}", way.option());
                let advice = "use a device that takes discards; for an image, a filesystem below \
                              it that punches holes (ext4, XFS, btrfs, tmpfs)";
                Err(failed("mount", reason, Some(advice.to_owned())))
            }
            _ => Ok(files),
        });
        checked.inspect_err(|_| {
            // The first error is the one to report.
            let _ = self.place.unmount();
        })
    }

    /// Our directory in the mounted filesystem; see [`Provisioner::files`].
    ///
    /// # Panics
    /// If none is mounted.
    pub fn directory(&mut self) -> &mut DirectoryTarget {
        self.mounted.as_mut().expect("a filesystem was made and is mounted")
    }

    /// Closes the files and unmounts; how long the unmount took.
    fn take_down(&mut self) -> Result<Nanos, ProvisionError> {
        let Some(files) = self.mounted.take() else {
            return Err(failed("unmount", "none is mounted".to_owned(), None));
        };
        // Unmounted in any case: the filesystem goes, and with it what could not be removed.
        let closed = files.close();
        let clock = MonotonicClock::start();
        let begin = clock.now();
        let unmounted = self.put_down();
        let span = clock.now() - begin;
        unmounted?;
        closed.map_err(|error| failed("unmount", error.to_string(), None))?;
        Ok(span)
    }

    /// Unmounts what nothing of ours uses any more.
    fn put_down(&self) -> Result<(), ProvisionError> {
        self.place.unmount().map_err(|errno| {
            let advice = "something else uses it; end that, then `umount` it".to_owned();
            let reason = format!("`{}`: {errno}", self.place.path().display());
            failed("unmount", reason, Some(advice))
        })
    }
}

impl Provisioner for MkfsProvisioner {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn check(&self, wish: &FilesystemSpec) -> Result<(), ProvisionError> {
        if let DiscardMode::Policy(policy) = &wish.discard {
            let reason = format!("a real one takes no trim policy, and was to take `{policy}`");
            return Err(failed("make", reason, None));
        }
        if let DiscardMode::As(system) = wish.discard {
            let reason =
                format!("a real one discards as its kernel does, and was to discard as `{system}`");
            let advice = "use a modelled filesystem: `ext4:sim:NAME`".to_owned();
            return Err(failed("make", reason, Some(advice)));
        }
        if wish.discard_max.is_some() {
            let reason = "the `discard_max_bytes` of a real device is for its owner to set";
            return Err(failed("make", reason.to_owned(), None));
        }
        if wish.start_state.is_some() {
            let reason = "a real device cannot be put into a start state".to_owned();
            return Err(failed("make", reason, None));
        }
        Ok(())
    }

    fn make(&mut self, wish: &FilesystemSpec) -> Result<(), ProvisionError> {
        if self.mounted.is_some() {
            self.take_down()?;
        }
        self.check(wish)?;
        self.look_again()?;
        if self.options.cache == CacheControl::Drop {
            drop_caches()?;
        }
        let kind = self.options.kind;
        self.uuid = Some(mkfs(kind, wish.mkfs_discard, self.device.file())?);
        settle(wish.settle, &self.options.interrupt);
        let online = wish.discard == DiscardMode::Online;
        let way = if online { MountDiscard::AtCommit } else { MountDiscard::Off };
        self.mounted = Some(self.mount(way, None)?);
        Ok(())
    }

    fn discard_ways(&mut self) -> Vec<MountDiscard> {
        use MountDiscard::{AtCommit, Deferred, Off};
        match self.options.kind {
            FilesystemKind::Ext4 | FilesystemKind::Xfs | FilesystemKind::F2fs => {
                vec![Off, AtCommit]
            }
            FilesystemKind::Btrfs => vec![Off, AtCommit, Deferred],
        }
    }

    /// Unmounts and mounts again, which every filesystem takes.
    fn remount(&mut self, way: MountDiscard) -> Result<(), ProvisionError> {
        let files = self.mounted.take().expect("a filesystem was made and is mounted");
        let suspended = files.suspend();
        self.put_down()?;
        self.mounted = Some(self.mount(way, Some(suspended))?);
        Ok(())
    }

    fn files(&mut self) -> &mut Files<'_> {
        self.directory()
    }

    fn unmount(&mut self) -> Result<Nanos, ProvisionError> {
        self.take_down()
    }
}

impl Drop for MkfsProvisioner {
    /// Unmounts what is mounted. A failure is silent here; the next start tries again.
    fn drop(&mut self) {
        if self.mounted.is_some() {
            let _ = self.take_down();
        }
    }
}

fn expected(capacity: Bytes) -> Capabilities {
    Capabilities {
        clock: Clock::Wall,
        medium: Medium::Directory { available: capacity, fs_block: Bytes(4_096) },
        discard: Support::Native,
        discard_max: capacity,
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

/// Has the kernel forget everything that is cached and clean.
fn drop_caches() -> Result<(), ProvisionError> {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|error| {
        let advice = root_advice(Errno(error.raw_os_error().unwrap_or(0)));
        failed("make", format!("cannot drop the page cache: {}", reason(&error)), advice)
    })
}

/// Waits, until the user wants to stop.
#[expect(clippy::disallowed_methods, reason = "no target is there whose time could pass")]
fn settle(span: Nanos, interrupt: &Interrupt) {
    let clock = MonotonicClock::start();
    let end = clock.now() + span;
    loop {
        let left = end.since(clock.now());
        if left == Nanos::ZERO || interrupt.requested() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_nanos(left.min(LOOK_EVERY).0));
    }
}

fn root_advice(errno: Errno) -> Option<String> {
    let denied = matches!(errno, Errno(libc::EPERM | libc::EACCES));
    denied.then(|| "mounting and loop devices take root (`CAP_SYS_ADMIN`)".to_owned())
}

fn failed(operation: &'static str, reason: String, advice: Option<String>) -> ProvisionError {
    ProvisionError { operation, reason, advice }
}
