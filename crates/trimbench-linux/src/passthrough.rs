//! Drives spoken to directly, to purge them: `NVMe` and ATA commands through the kernel's ioctls.
//!
//! [`DrivePurger`] takes a device that someone else opened (and confirmed: see the rules of safety
//! for devices), asks which means of purging the drive has, what it promises of TRIM and what it
//! counted of its writes, and purges it. [`read_drive_logs`] reads what the drive says of itself.
//!
//! Everything except the ioctl itself is a pure function of bytes: `nvme::command` and
//! `ata::command` build commands, modules beside them decode answers, and procedures (sanitize,
//! security erase) run over a `transport::Transport`, in tests over a script.
//! `docs/reference/passthrough.md` says what was tested on which drives.
//!
//! Sources: \[NVME\], \[OCP\], \[ATA\], \[SAT\].

mod ata;
mod bytes;
mod detect;
mod drive_logs;
mod error;
mod nvme;
mod purge;
mod purger;
mod scsi;
#[cfg(test)]
mod tests;
mod transport;

use std::os::fd::BorrowedFd;

use trimbench_core::{Errno, Nanos, TrimPromise, Wear};

use ata::AtaDrive;
use detect::Route;
use error::{NoPassthrough, PassthroughError, PurgeError};
use nvme::NvmeDrive;
use purge::PurgeOption;
use transport::Kernel;

pub use drive_logs::{
    DriveHeat, DriveLog, DriveLogs, LogNotRead, LogOptions, LogScope, NoDriveLogs,
    TelemetryCapture, drive_log_facts, read_drive_logs, read_logs_of,
};
pub use purge::ReportedPurge;
pub use purger::{DrivePurger, NoPurge, PurgeChoice, UnknownPurge};

/// Who a drive (and namespace) is, by what never changes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DriveIdentity {
    model: String,
    serial: String,
    namespace: Option<u32>,
    nguid: Option<[u8; 16]>,
    wwn: Option<u64>,
}

/// What drives of both protocols do.
trait Protocol: std::fmt::Debug {
    /// As of when it was opened.
    fn identity(&self) -> &DriveIdentity;

    /// What it says of reads after TRIM. A promise, not a measurement.
    fn promise(&self) -> TrimPromise;

    /// What it counted of its writes. ATA has no standard counter of writes to the media.
    fn wear(&mut self) -> Option<Wear> {
        None
    }

    /// What it says of itself, a log each. `pci_device` is that of its controller, 0: not known.
    fn read_logs(&mut self, options: LogOptions, pci_device: u16) -> Vec<DriveLog>;

    /// Looks at the drive once more, and who it is by now.
    fn identify_again(&mut self) -> Result<DriveIdentity, PassthroughError>;

    /// The ways to purge it that it has, strongest first, each with what stands against it at this
    /// moment.
    fn purge_means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError>;

    /// Erases the drive by a means that it has, and that nothing stands against.
    fn erase(&mut self, means: ReportedPurge, estimate: Option<Nanos>) -> Result<(), PurgeError>;

    /// Erases everything: the `NVMe` namespace by a format, the whole drive by all other means.
    ///
    /// Final. That the user named this drive for destruction is the caller's to know; that the
    /// drive is the one that was opened, that no other namespace is hit and that nothing is frozen
    /// or locked is checked here, just before. It takes minutes, or hours to overwrite; a sanitize
    /// operation cannot be called off and goes on if this program ends.
    fn purge(&mut self, means: ReportedPurge) -> Result<(), PurgeError> {
        let seen = self.identify_again()?;
        let opened = self.identity();
        if seen != *opened {
            return Err(PurgeError::AnotherDrive {
                opened: opened.serial.clone(),
                now: seen.serial,
            });
        }
        let option = self.purge_means()?.into_iter().find(|option| option.means == means);
        let option = option.ok_or(PurgeError::NotOffered { means })?;
        if let Some(obstacle) = option.obstacle {
            return Err(obstacle.into());
        }
        self.erase(means, option.estimate)
    }
}

/// The drive behind an open device, identified.
///
/// The device is a whole block device, or the character device of an `NVMe` namespace
/// (`/dev/ng0n1`) or of a controller with one namespace (`/dev/nvme0`). Which kind it is, sysfs
/// says; nothing is sent to a device of a kind that is not known. Open it for writing: some
/// kernels let no commands through otherwise.
fn open(file: BorrowedFd<'_>) -> Result<Box<dyn Protocol + '_>, NoPassthrough> {
    let (device, route) = detect::route(file)?;
    let mut kernel = Kernel { file };
    let nsid = match route {
        Route::Ata => return Ok(Box::new(AtaDrive::open(kernel)?)),
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
    Ok(Box::new(NvmeDrive::open(kernel, nsid)?))
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
