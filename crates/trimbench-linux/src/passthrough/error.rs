//! Errors of drive commands, and what to do about them.

use trimbench_core::{Errno, Nanos};

use super::nvme::NvmeStatus;
use super::purge::ReportedPurge;
use super::scsi::Sense;

/// Why a device cannot be spoken to directly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPassthrough {
    /// The file is neither a block device nor a drive's character device.
    #[error("this is no device node: name the drive (`/dev/disk/by-id/...`)")]
    NotADevice,
    /// A part of a drive: commands to it would reach the whole drive.
    #[error(
        "`{device}` is a partition, and commands to the drive reach all of it: name the drive, \
         `{disk}`"
    )]
    Partition {
        /// Kernel name.
        device: String,
        /// The drive's kernel name.
        disk: String,
    },
    /// A device that no drive stands behind directly: loop, virtio, dm, md.
    #[error(
        "`{device}` is neither an NVMe nor an ATA drive ({kind}): its commands are not known \
         to trimbench"
    )]
    OtherDevice {
        /// Kernel name.
        device: String,
        /// What it is.
        kind: &'static str,
    },
    /// A SCSI disk that does not say that ATA is behind it: SAS, or a bridge without translation.
    #[error(
        "`{device}` is a SCSI disk of vendor `{vendor}` that shows no ATA drive behind it (no \
         VPD page 89h): SAS drives and such USB bridges are not spoken to; connect a SATA drive \
         to a SATA port"
    )]
    ScsiWithoutAta {
        /// Kernel name.
        device: String,
        /// As it says.
        vendor: String,
    },
    /// The character device of a controller does not say which namespace is meant.
    #[error(
        "`{device}` is an NVMe controller with {count} namespaces: name the namespace's block \
         device"
    )]
    ManyNamespaces {
        /// Kernel name.
        device: String,
        /// Active namespaces.
        count: usize,
    },
    /// An `NVMe` namespace of another command set (zoned, key-value), or a format that trimbench
    /// does not handle.
    #[error("`{device}` has blocks that trimbench does not handle: {why}")]
    Unsuitable {
        /// Kernel name.
        device: String,
        /// What is wrong.
        why: &'static str,
    },
    /// It would be a drive, but the first command failed.
    #[error(transparent)]
    Command(#[from] PassthroughError),
}

/// Why a command to a drive failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PassthroughError {
    /// The kernel did not let it through.
    #[error(
        "the kernel refused `{command}` with {errno}: run as root; if you are, a sandbox, a \
         container or the lockdown of the kernel withholds {capability}"
    )]
    NotPermitted {
        /// Name of the command.
        command: &'static str,
        /// EPERM or EACCES.
        errno: Errno,
        /// What is needed.
        capability: &'static str,
    },
    /// The ioctl failed for another reason: the drive vanished, or its driver has no passthrough.
    #[error("`{command}` did not reach the drive: {errno}; look at the kernel's log (`dmesg`)")]
    Kernel {
        /// Name of the command.
        command: &'static str,
        /// The reason.
        errno: Errno,
    },
    /// The `NVMe` controller refused or failed it.
    #[error("the drive answered `{command}` with {status}")]
    Nvme {
        /// Name of the command.
        command: &'static str,
        /// Its answer.
        status: NvmeStatus,
    },
    /// The ATA drive refused or failed it.
    #[error(
        "the drive answered `{command}` with status {status:#04x} ({}), error {error:#04x} ({})",
        super::ata::status_names(*status), super::ata::error_names(*error)
    )]
    Ata {
        /// Name of the command.
        command: &'static str,
        /// The status register.
        status: u8,
        /// The error register.
        error: u8,
    },
    /// What translates SCSI to ATA (the kernel, an adapter, a USB bridge) refused it.
    #[error(
        "`{command}` failed before the drive: {sense}; a USB bridge or RAID adapter in between \
         may not pass ATA commands on: connect the drive to a SATA port"
    )]
    Scsi {
        /// Name of the command.
        command: &'static str,
        /// The sense data.
        sense: Sense,
    },
    /// The host adapter gave up: timeout, reset, cable.
    #[error(
        "`{command}` failed in the host adapter (SCSI status {status:#04x}, host \
         {host_status:#06x}, driver {driver_status:#06x}); look at the kernel's log (`dmesg`)"
    )]
    Adapter {
        /// Name of the command.
        command: &'static str,
        /// SCSI status byte.
        status: u8,
        /// `DID_...` of the kernel.
        host_status: u16,
        /// `DRIVER_...` of the kernel.
        driver_status: u16,
    },
    /// The command needs registers back that did not come.
    #[error(
        "`{command}` ended without the drive's registers, so its outcome is not known: a bridge \
         or adapter in between keeps them back; connect the drive to a SATA port"
    )]
    NoRegisters {
        /// Name of the command.
        command: &'static str,
    },
    /// Less data came than the command is defined to give.
    #[error("`{command}` came back {missing} bytes short: its content is not used")]
    Short {
        /// Name of the command.
        command: &'static str,
        /// Bytes that are missing.
        missing: usize,
    },
    /// The answer contradicts its specification, so nothing in it is believed.
    #[error("the answer to `{command}` is invalid: {why}")]
    Malformed {
        /// Name of the command.
        command: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

/// Why ranges were not deallocated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeallocateError {
    /// The drive does not have the command.
    #[error("the drive has no TRIM (NVMe: ONCS bit 2; ATA: word 169 bit 0)")]
    Unsupported,
    /// Nothing to do: a command carries at least one range.
    #[error("no range was given")]
    Empty,
    /// More ranges than one command may carry: see [`super::ReportedTrimPromise::split`].
    #[error("{given} ranges are more than the {limit} that a command of this drive carries")]
    TooManyRanges {
        /// After cutting those that are too long.
        given: usize,
        /// The drive's limit.
        limit: u32,
    },
    /// The ranges of one command span more than the drive allows: see
    /// [`super::ReportedTrimPromise::split`].
    #[error("{given} blocks are more than the {limit} that a command of this drive may span")]
    TooManyBlocks {
        /// Of all ranges.
        given: u64,
        /// The drive's limit.
        limit: u64,
    },
    /// A range ends beyond the drive.
    #[error("a range ends at block {end}, beyond the drive's {capacity} blocks")]
    BeyondEnd {
        /// One past its last block.
        end: u64,
        /// Of the drive.
        capacity: u64,
    },
    /// The command failed.
    #[error(transparent)]
    Command(#[from] PassthroughError),
}

/// Why a drive was not purged, and the state that it is in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// The drive does not have this means: see [`super::Drive::purge_means`].
    #[error("the drive has no {}", means.id())]
    NotOffered {
        /// What was asked for.
        means: ReportedPurge,
    },
    /// It has, but must not be purged so. Nothing was changed.
    #[error(transparent)]
    Refused(#[from] PurgeObstacle),
    /// The drive behind the device is another than when it was opened. Nothing was changed.
    #[error(
        "the drive is not the one that was opened: serial `{now}` instead of `{opened}`; open it \
         again and confirm it"
    )]
    AnotherDrive {
        /// Serial number when it was opened.
        opened: String,
        /// Serial number just before the purge.
        now: String,
    },
    /// The drive gave up sanitizing.
    #[error("the sanitize operation failed; {}", if *usable {
        "the drive left its failure mode and can be used, but is not purged: old data may be \
         readable; repeat, or purge by other means"
    } else {
        "the drive stays in its failure mode and refuses reads and writes: sanitize it again by \
         the same or other means; if that fails too, it is broken"
    })]
    SanitizeFailed {
        /// Whether the drive was taken out of its failure mode.
        usable: bool,
    },
    /// Sanitizing takes much longer than the drive estimated. It goes on, also after a loss of
    /// power, and the drive refuses reads and writes meanwhile.
    #[error(
        "the drive still sanitizes after {} s, and continues, also after a loss of power: purge \
            it again later, which waits for the running operation", waited.0 / 1_000_000_000
    )]
    SanitizeOverdue {
        /// How long it was waited for.
        waited: Nanos,
    },
    /// The security erase failed, and the drive keeps the password that was set for it.
    #[error(
        "the security erase failed ({reason}) and the drive is left with the user password \
         `{password}`, with which it locks at the next loss of power: release it \
         (`hdparm --user-master u --security-disable {password} DEVICE`, after \
         `--security-unlock` if it is locked)"
    )]
    PasswordLeft {
        /// The password.
        password: &'static str,
        /// What failed.
        reason: Box<PassthroughError>,
    },
    /// After the format the namespace differs in size or format from before.
    #[error(
        "after the format the namespace has another size or block format than before: the drive \
         did not keep to the command; look at it with `nvme id-ns -H` before using it"
    )]
    FormatChanged,
    /// A command failed; the drive is as it was, but for what commands before it did.
    #[error(transparent)]
    Command(#[from] PassthroughError),
}

/// Why a means that the drive has must not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeObstacle {
    /// It would erase other namespaces too.
    #[error(
        "this erases all namespaces of the drive, and there are {count}: format this one alone if \
         the drive can, or delete the others"
    )]
    OtherNamespaces {
        /// Namespaces of the subsystem, this one included.
        count: usize,
    },
    /// There may be namespaces that this controller does not see.
    #[error(
        "this erases all namespaces of the drive, some of which another controller may own and \
         this one cannot see: erase it where it is the only controller"
    )]
    UnseenNamespaces,
    /// The firmware or the kernel froze the security feature set.
    #[error(
        "the drive's security is frozen, as most firmware does at boot: suspend the machine to \
         RAM and wake it, or unplug and replug the drive's power, and try again"
    )]
    SecurityFrozen,
    /// A password locks the drive.
    #[error(
        "the drive is locked by a password: unlock and disable it (`hdparm --security-unlock`, \
         `--security-disable`); if a purge by trimbench was interrupted, the password is \
         `{password}`"
    )]
    SecurityLocked {
        /// What trimbench would have set.
        password: &'static str,
    },
    /// A password is set, though the drive is not locked.
    #[error(
        "a security password is set: disable it (`hdparm --security-disable`); if a purge by \
         trimbench was interrupted, the password is `{password}`"
    )]
    PasswordSet {
        /// What trimbench would have set.
        password: &'static str,
    },
    /// Too many wrong passwords were tried.
    #[error("too many wrong passwords were tried: replug the drive's power and try again")]
    SecurityCountExpired,
    /// The sanitize feature set is frozen until the drive loses power.
    #[error(
        "the drive's sanitize commands are frozen: unplug and replug its power (a warm restart \
         does not help), and try again"
    )]
    SanitizeFrozen,
}

impl PassthroughError {
    /// Whether the drive itself answered that it does not do this (as opposed to trouble on the
    /// way).
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Nvme { status, .. } => status.is_unknown_command(),
            Self::Ata { error, .. } => error & super::ata::ERROR_ABORT != 0,
            _ => false,
        }
    }
}
