//! Errors of drive commands, and what to do about them. `command` is always the name of the
//! command, `device` the kernel's name.

use trimbench_core::{Errno, Nanos};

use super::ata::{error_names, status_names};
use super::nvme::NvmeStatus;
use super::purge::ReportedPurge;
use super::scsi::Sense;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPassthrough {
    #[error("this is no device node: name the drive (`/dev/disk/by-id/...`)")]
    NotADevice,
    #[error(
        "`{device}` is a partition, and commands to the drive reach all of it: name the drive, \
         `{disk}`"
    )]
    Partition { device: String, disk: String },
    /// No drive stands behind it directly: loop, virtio, dm, md.
    #[error(
        "`{device}` is neither an NVMe nor an ATA drive ({kind}): its commands are not known \
         to trimbench"
    )]
    OtherDevice { device: String, kind: &'static str },
    #[error(
        "`{device}` is a SCSI disk of vendor `{vendor}` that shows no ATA drive behind it (no \
         VPD page 89h): SAS drives and such USB bridges are not spoken to; connect a SATA drive \
         to a SATA port"
    )]
    ScsiWithoutAta { device: String, vendor: String },
    #[error(
        "`{device}` is an NVMe controller with {count} namespaces: name the namespace's block \
         device"
    )]
    ManyNamespaces { device: String, count: usize },
    #[error("`{device}` has blocks that trimbench does not handle: {why}")]
    Unsuitable { device: String, why: &'static str },
    /// It would be a drive, but the first command failed.
    #[error(transparent)]
    Command(#[from] PassthroughError),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PassthroughError {
    #[error(
        "the kernel refused `{command}` with {errno}: run as root; if you are, a sandbox, a \
         container or the lockdown of the kernel withholds {capability}"
    )]
    NotPermitted { command: &'static str, errno: Errno, capability: &'static str },
    /// The drive vanished, or its driver has no passthrough.
    #[error("`{command}` did not reach the drive: {errno}; look at the kernel's log (`dmesg`)")]
    Kernel { command: &'static str, errno: Errno },
    #[error("the drive answered `{command}` with {status}")]
    Nvme { command: &'static str, status: NvmeStatus },
    #[error(
        "the drive answered `{command}` with status {status:#04x} ({}), error {error:#04x} ({})",
        status_names(*status), error_names(*error)
    )]
    Ata { command: &'static str, status: u8, error: u8 },
    /// What translates SCSI to ATA (the kernel, an adapter, a USB bridge) refused it.
    #[error(
        "`{command}` failed before the drive: {sense}; a USB bridge or RAID adapter in between \
         may not pass ATA commands on: connect the drive to a SATA port"
    )]
    Scsi { command: &'static str, sense: Sense },
    /// Timeout, reset, cable: the SCSI status byte, `DID_...` and `DRIVER_...` of the kernel.
    #[error(
        "`{command}` failed in the host adapter (SCSI status {status:#04x}, host \
         {host_status:#06x}, driver {driver_status:#06x}); look at the kernel's log (`dmesg`)"
    )]
    Adapter { command: &'static str, status: u8, host_status: u16, driver_status: u16 },
    #[error(
        "`{command}` ended without the drive's registers, so its outcome is not known: a bridge \
         or adapter in between keeps them back; connect the drive to a SATA port"
    )]
    NoRegisters { command: &'static str },
    #[error("`{command}` came back {missing} bytes short: its content is not used")]
    Short { command: &'static str, missing: usize },
    /// The answer contradicts its specification, so nothing in it is believed.
    #[error("the answer to `{command}` is invalid: {why}")]
    Malformed { command: &'static str, why: &'static str },
}

/// Why a drive was not purged, and the state that it is in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PurgeError {
    #[error("the drive has no {}", means.id())]
    NotOffered { means: ReportedPurge },
    /// Nothing was changed.
    #[error(transparent)]
    Refused(#[from] PurgeObstacle),
    /// Serial numbers of then and now. Nothing was changed.
    #[error(
        "the drive is not the one that was opened: serial `{now}` instead of `{opened}`; open it \
         again and confirm it"
    )]
    AnotherDrive { opened: String, now: String },
    /// `usable`: the drive was taken out of its failure mode.
    #[error("the sanitize operation failed; {}", if *usable {
        "the drive left its failure mode and can be used, but is not purged: old data may be \
         readable; repeat, or purge by other means"
    } else {
        "the drive stays in its failure mode and refuses reads and writes: sanitize it again by \
         the same or other means; if that fails too, it is broken"
    })]
    SanitizeFailed { usable: bool },
    /// Sanitizing goes on, also after a loss of power, and the drive refuses reads and writes
    /// meanwhile.
    #[error(
        "the drive still sanitizes after {} s, and continues, also after a loss of power: purge \
            it again later, which waits for the running operation", waited.0 / 1_000_000_000
    )]
    SanitizeOverdue { waited: Nanos },
    #[error(
        "the security erase failed ({reason}) and the drive is left with the user password \
         `{password}`, with which it locks at the next loss of power: release it \
         (`hdparm --user-master u --security-disable {password} DEVICE`, after \
         `--security-unlock` if it is locked)"
    )]
    PasswordLeft { password: &'static str, reason: Box<PassthroughError> },
    #[error(
        "after the format the namespace has another size or block format than before: the drive \
         did not keep to the command; look at it with `nvme id-ns -H` before using it"
    )]
    FormatChanged,
    /// The drive is as it was, but for what commands before this one did.
    #[error(transparent)]
    Command(#[from] PassthroughError),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PurgeObstacle {
    /// `count`: namespaces of the subsystem, this one included.
    #[error(
        "this erases all namespaces of the drive, and there are {count}: format this one alone if \
         the drive can, or delete the others"
    )]
    OtherNamespaces { count: usize },
    #[error(
        "this erases all namespaces of the drive, some of which another controller may own and \
         this one cannot see: erase it where it is the only controller"
    )]
    UnseenNamespaces,
    #[error(
        "the drive's security is frozen, as most firmware does at boot: suspend the machine to \
         RAM and wake it, or unplug and replug the drive's power, and try again"
    )]
    SecurityFrozen,
    /// `password`: what trimbench would have set.
    #[error(
        "the drive is locked by a password: unlock and disable it (`hdparm --security-unlock`, \
         `--security-disable`); if a purge by trimbench was interrupted, the password is \
         `{password}`"
    )]
    SecurityLocked { password: &'static str },
    /// The drive is not locked; `password` as above.
    #[error(
        "a security password is set: disable it (`hdparm --security-disable`); if a purge by \
         trimbench was interrupted, the password is `{password}`"
    )]
    PasswordSet { password: &'static str },
    #[error("too many wrong passwords were tried: replug the drive's power and try again")]
    SecurityCountExpired,
    #[error(
        "the drive's sanitize commands are frozen: unplug and replug its power (a warm restart \
         does not help), and try again"
    )]
    SanitizeFrozen,
}

impl PassthroughError {
    /// Whether the drive itself answered that it does not do this (as opposed to trouble on the
    /// way).
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Nvme { status, .. } => status.is_unknown_command(),
            Self::Ata { error, .. } => error & super::ata::ERROR_ABORT != 0,
            _ => false,
        }
    }
}
