//! Drives spoken to directly: `NVMe` and ATA commands through the kernel's ioctls.
//!
//! [`PassthroughDrive::open`] takes a device that someone else opened (and confirmed: see the
//! safety rules for devices), identifies the drive, reads its TRIM promises and counters, sends
//! deallocations of many ranges in one command, and purges it.
//!
//! Everything except the ioctl itself is a pure function of bytes: `nvme::command` and
//! `ata::command` build commands, modules beside them decode answers, and procedures (sanitize,
//! security erase) run over a `transport::Transport`, in tests over a script.
//! `docs/reference/passthrough.md` says what was tested on which drives.
//!
//! Units: LBAs and ranges count logical blocks of the drive. Sources: \[NVME\], \[OCP\], \[ATA\],
//! \[SAT\].

mod ata;
mod bytes;
mod counters;
mod detect;
mod error;
mod identity;
mod nvme;
mod purge;
mod purger;
#[cfg(test)]
mod script;
mod scsi;
#[cfg(test)]
mod tests;
mod transport;

use std::os::fd::BorrowedFd;

use trimbench_core::{Blocks, Errno, LbaRange, Nanos, Ppm};

use ata::AtaDrive;
use detect::Route;
use nvme::NvmeDrive;
use transport::Kernel;

pub use counters::{HealthCounter, HealthCounters};
pub use error::{DeallocateError, NoPassthrough, PassthroughError, PurgeError, PurgeObstacle};
pub use identity::{
    DriveIdentity, DriveProtocol, LbaFormat, ReportedTrimPromise, ReportedTrimmedReads,
};
pub use nvme::NvmeStatus;
pub use purge::{PurgeOption, ReportedPurge};
pub use purger::{DrivePurger, NoPurge, PurgeChoice, UnknownPurge};
pub use scsi::Sense;
pub(crate) use transport::{NvmeCommand, NvmeQueue};

/// A drive that takes commands, behind a device that is open.
#[derive(Debug)]
pub struct PassthroughDrive<'fd>(Box<dyn Protocol + 'fd>);

impl<'fd> PassthroughDrive<'fd> {
    /// The drive behind an open device, identified.
    ///
    /// The device is a whole block device, or the character device of an `NVMe` namespace
    /// (`/dev/ng0n1`) or of a controller with one namespace (`/dev/nvme0`). Which kind it is, sysfs
    /// says; nothing is sent to a device of a kind that is not known. Open it for writing: some
    /// kernels let no commands through otherwise.
    pub fn open(file: BorrowedFd<'fd>) -> Result<Self, NoPassthrough> {
        let (device, route) = detect::route(file)?;
        let mut kernel = Kernel { file };
        let nsid = match route {
            Route::Ata => return Ok(Self(Box::new(AtaDrive::open(kernel)?))),
            Route::NvmeNamespace => crate::ioctl::nvme_namespace(file)
                .map_err(|errno| refused_by_kernel("NVME_IOCTL_ID", errno, "CAP_SYS_ADMIN"))?,
            Route::NvmeController => {
                let namespaces = nvme::active_namespaces(&mut kernel)?;
                let [nsid] = namespaces[..] else {
                    let count = namespaces.len();
                    return Err(NoPassthrough::ManyNamespaces { device, count });
                };
                nsid
            }
        };
        Ok(Self(Box::new(NvmeDrive::open(kernel, nsid)?)))
    }

    /// Who the drive is, as of when it was opened.
    pub fn identity(&self) -> &DriveIdentity {
        self.0.identity()
    }

    /// What it promises of TRIM.
    pub fn trim_promise(&self) -> &ReportedTrimPromise {
        self.0.promise()
    }

    /// What it counted so far.
    pub fn drive_counters(&mut self) -> Result<HealthCounters, PassthroughError> {
        self.0.counters()
    }

    /// The ways to purge it that it has, strongest first, each with what stands against it at this
    /// moment.
    pub fn purge_means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        self.0.purge_means()
    }

    /// Erases everything: the `NVMe` namespace by a format, the whole drive by all other means.
    ///
    /// Final. That the user named this drive for destruction is the caller's to know; that the
    /// drive is the one that was opened, that no other namespace is hit and that nothing is frozen
    /// or locked is checked here, just before. `progress` is told the share done: by operations in
    /// the background as the drive says it, by the others 0 and 1 only. It takes minutes, or hours
    /// to overwrite; a sanitize operation cannot be called off and goes on if this program ends.
    pub fn purge(
        &mut self,
        means: ReportedPurge,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<(), PurgeError> {
        self.0.purge(means, progress)
    }

    /// Takes trimbench's password off an ATA drive on which an interrupted security erase left it
    /// ([`PurgeObstacle::SecurityLocked`], [`PurgeObstacle::PasswordSet`]). Costs one of the five
    /// tries that a drive grants if the password is another. Does nothing where none is set.
    pub fn release_password(&mut self) -> Result<(), PurgeError> {
        self.0.release_password()
    }

    /// Deallocates (trims) these ranges in exactly one command.
    ///
    /// Ranges that are longer than the drive takes are cut; what one command cannot carry is
    /// refused before anything is sent: [`ReportedTrimPromise::split`] makes commands of any list.
    /// The kernel's caches know nothing of it: what they hold of these blocks is stale afterwards.
    pub fn deallocate(&mut self, ranges: &[LbaRange]) -> Result<(), DeallocateError> {
        self.0.deallocate(ranges)
    }
}

/// What drives of both protocols do.
trait Protocol: std::fmt::Debug {
    fn identity(&self) -> &DriveIdentity;

    fn promise(&self) -> &ReportedTrimPromise;

    fn counters(&mut self) -> Result<HealthCounters, PassthroughError>;

    /// Looks at the drive once more, and who it is by now.
    fn identify_again(&mut self) -> Result<DriveIdentity, PassthroughError>;

    fn purge_means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError>;

    /// Erases the drive by a means that it has, and that nothing stands against.
    fn erase(
        &mut self,
        means: ReportedPurge,
        estimate: Option<Nanos>,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<(), PurgeError>;

    fn release_password(&mut self) -> Result<(), PurgeError> {
        Ok(())
    }

    /// Deallocates ranges that one command carries.
    fn send_ranges(&mut self, ranges: &[LbaRange]) -> Result<(), PassthroughError>;

    fn deallocate(&mut self, ranges: &[LbaRange]) -> Result<(), DeallocateError> {
        let pieces = check_ranges(ranges, self.promise(), self.identity().capacity)?;
        Ok(self.send_ranges(&pieces)?)
    }

    /// Just before something final: that nobody exchanged the drive.
    fn check_same_drive(&mut self) -> Result<(), PurgeError> {
        let seen = self.identify_again()?;
        let opened = self.identity();
        if seen.is_same_drive(opened) {
            return Ok(());
        }
        Err(PurgeError::AnotherDrive { opened: opened.serial.clone(), now: seen.serial })
    }

    fn purge(
        &mut self,
        means: ReportedPurge,
        progress: &mut dyn FnMut(Ppm),
    ) -> Result<(), PurgeError> {
        self.check_same_drive()?;
        let option = self.purge_means()?.into_iter().find(|option| option.means == means);
        let option = option.ok_or(PurgeError::NotOffered { means })?;
        if let Some(obstacle) = option.obstacle {
            return Err(obstacle.into());
        }
        progress(Ppm(0));
        self.erase(means, option.estimate, progress)?;
        progress(Ppm::ONE);
        Ok(())
    }
}

/// The ranges as the drive takes them, if one command can carry them.
fn check_ranges(
    ranges: &[LbaRange],
    promise: &ReportedTrimPromise,
    capacity: Blocks,
) -> Result<Vec<LbaRange>, DeallocateError> {
    if !promise.supported {
        return Err(DeallocateError::Unsupported);
    }
    let end = ranges.iter().map(|range| range.end().0).max().ok_or(DeallocateError::Empty)?;
    if end > capacity.0 {
        return Err(DeallocateError::BeyondEnd { end, capacity: capacity.0 });
    }
    let given = ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.length().0));
    if let Some(limit) = promise.command_blocks_max.filter(|&limit| given > limit) {
        return Err(DeallocateError::TooManyBlocks { given, limit });
    }
    let pieces = promise.pieces(ranges);
    let (given, limit) = (pieces.len(), promise.ranges_max);
    if given as u64 > u64::from(limit) {
        return Err(DeallocateError::TooManyRanges { given, limit });
    }
    Ok(pieces)
}

/// An ioctl that failed before the drive had a say.
fn refused_by_kernel(
    command: &'static str,
    errno: Errno,
    capability: &'static str,
) -> PassthroughError {
    match errno.0 {
        libc::EPERM | libc::EACCES => PassthroughError::NotPermitted { command, errno, capability },
        _ => PassthroughError::Kernel { command, errno },
    }
}
