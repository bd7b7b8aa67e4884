//! mkfs and mount: the system's programs.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use trimbench_claim::{program, program_path};
use trimbench_core::{ProvisionError, reason};

use super::device::{Uuid, carried};
use super::{FilesystemKind, failed};

#[cfg(test)]
mod tests;

impl FilesystemKind {
    const fn package(self) -> &'static str {
        match self {
            Self::Ext4 => "e2fsprogs",
            Self::Xfs => "xfsprogs",
            Self::Btrfs => "btrfs-progs",
            Self::F2fs => "f2fs-tools",
        }
    }

    fn mkfs(self) -> String {
        format!("mkfs.{}", self.id())
    }

    /// What mkfs is told: to be quiet, to overwrite what was confirmed, to leave nothing for later,
    /// and whether to discard.
    const fn mkfs_arguments(self, discard: bool) -> &'static [&'static str] {
        match (self, discard) {
            (Self::Ext4, true) => {
                &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,discard"]
            }
            (Self::Ext4, false) => {
                &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"]
            }
            (Self::Xfs | Self::Btrfs, true) => &["-q", "-f"],
            (Self::Xfs | Self::Btrfs, false) => &["-q", "-f", "-K"],
            (Self::F2fs, true) => &["-q", "-f", "-t", "1"],
            (Self::F2fs, false) => &["-q", "-f", "-t", "0"],
        }
    }

    /// How mkfs is told the UUID; `None` where it draws one itself.
    fn uuid_arguments(self, uuid: &str) -> Option<[String; 2]> {
        match self {
            Self::Ext4 | Self::Btrfs => Some(["-U".to_owned(), uuid.to_owned()]),
            Self::Xfs => Some(["-m".to_owned(), format!("uuid={uuid}")]),
            Self::F2fs => None,
        }
    }
}

/// That mkfs is installed and the kernel knows the filesystem, before anything is begun.
pub(super) fn look_for(kind: FilesystemKind) -> Result<(), ProvisionError> {
    if program_path(&kind.mkfs()).is_none() {
        let reason = format!("there is no `{}`", kind.mkfs());
        return Err(failed("make", reason, Some(format!("install {}", kind.package()))));
    }
    // A module may still be to be loaded: then the mount says so.
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let is_known = known.lines().any(|line| line.split('\t').next_back() == Some(kind.id()));
    if !is_known && !module_there(kind) {
        let reason = format!("this kernel has no {}", kind.id());
        return Err(failed("mount", reason, Some("name another filesystem".to_owned())));
    }
    Ok(())
}

/// Whether there is a module of the filesystem for the running kernel.
fn module_there(kind: FilesystemKind) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    Path::new("/lib/modules").join(release).join("kernel/fs").join(kind.id()).is_dir()
}

/// Formats what is open as `device`, whatever its node leads to by now; the UUID of what was made,
/// which is read back from there.
pub(super) fn mkfs(
    kind: FilesystemKind,
    discard: bool,
    device: BorrowedFd<'_>,
) -> Result<Uuid, ProvisionError> {
    let own = |error: io::Error| failed("make", format!("no new UUID: {}", reason(&error)), None);
    let text = std::fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(own)?;
    let (text, uuid) = (text.trim(), parse_uuid(&text).expect("the kernel writes it as everybody"));
    let input = device.try_clone_to_owned().map_err(own)?;
    let all = |command: &mut Command| {
        command.args(kind.mkfs_arguments(discard));
        command.args(kind.uuid_arguments(text).into_iter().flatten());
        command.arg("/proc/self/fd/0").stdin(input);
    };
    run(&kind.mkfs(), all).map_err(|complaint| {
        let advice = "is the device large enough? (XFS takes 300 MB, btrfs 110 MB, ext4 a few)";
        failed("make", format!("`{}`: {complaint}", kind.mkfs()), Some(advice.to_owned()))
    })?;
    match carried(device, kind) {
        Ok(Some(found)) if found == uuid || kind == FilesystemKind::F2fs => Ok(found),
        _ => {
            let reason = format!("`{}` succeeded, and its filesystem is not there", kind.mkfs());
            Err(failed("make", reason, Some("see what else works on this device".to_owned())))
        }
    }
}

/// Reads 32 hexadecimal digits with hyphens among them.
fn parse_uuid(text: &str) -> Option<Uuid> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let pairs = digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]));
    pairs.collect::<Result<Vec<u8>, _>>().ok()?.try_into().ok()
}

pub(super) fn mount(
    kind: FilesystemKind,
    options: &[String],
    device: &Path,
    place: &Path,
) -> Result<(), ProvisionError> {
    let options = options.join(",");
    let arguments = ["-t", kind.id(), "-o", &options];
    let all = |command: &mut Command| {
        command.args(arguments).arg(device).arg(place);
    };
    run("mount", all).map_err(|complaint| {
        let advice = format!("are the mount options right? (`{options}`; mounting takes root)");
        failed("mount", complaint.to_string(), Some(advice))
    })
}

/// Why a program did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
enum ProgramFailure {
    #[error("there is no `{name}`")]
    Missing { name: String },
    #[error("{}", reason(.0))]
    NotRun(#[from] io::Error),
    /// With what it said of that.
    #[error("{complaint}")]
    Failed { complaint: String },
}

/// Runs a program to its end; what it complained of if it failed. A terminal's Ctrl-C does not
/// reach it: half a filesystem is no use, and the end is decided here.
fn run(name: &str, arguments: impl FnOnce(&mut Command)) -> Result<(), ProgramFailure> {
    let missing = || ProgramFailure::Missing { name: name.to_owned() };
    let mut command = program(name).ok_or_else(missing)?;
    arguments(command.process_group(0));
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // What follows is how to use the program.
    let complaint = text.lines().map(str::trim).find(|line| !line.is_empty());
    let complaint = complaint.map_or_else(|| output.status.to_string(), str::to_owned);
    Err(ProgramFailure::Failed { complaint })
}
