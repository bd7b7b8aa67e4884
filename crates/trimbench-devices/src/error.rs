//! Why a target cannot be had, and what to do about it.

use std::path::PathBuf;

use trimbench_core::nearest::did_you_mean;
use trimbench_core::settings::SettingError;
use trimbench_core::{Bytes, Nanos, ProvisionError, reason};
use trimbench_linux::FilesystemKind;
use trimbench_ssd::{BUILT_IN, DriveConfigError, ProfileError};

use crate::options::{EMULATED, POOLS};

/// A target that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TargetError(pub(crate) Box<Problem>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("there is no profile `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownProfile { name: String, nearest: Option<String> },
    #[error("`{EMULATED}` does not name an emulated drive")]
    NoProfile,
    /// A profile's name without the mark of emulated drives.
    #[error("`{name}` is not a target; did you mean `{EMULATED}{name}`?")]
    Unmarked { name: String },
    #[error("there is no kind of target `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownKind { name: String, nearest: Option<String> },
    #[error("cannot make a filesystem on `{below}`: it is not a device")]
    NothingBelow { below: String },
    #[error("`{key}` is a setting of {of}, not of {name}")]
    OfAnother { key: &'static str, of: &'static str, name: &'static str },
    #[error("`{key}` is a setting of the host, not of a drive below {name}")]
    OfTheHost { key: &'static str, name: &'static str },
    #[error(
        "`scale={scale}` is too much for this drive: a group of the pool would last {group}, and a \
         queue of {queue} in the drive would count as a stall of the pool"
    )]
    Scale { scale: u32, most: u32, queue: Nanos, group: Nanos },
    #[error("{name} is a model, and can be made on emulated drives only")]
    NotOnDevices { name: String },
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    #[error(transparent)]
    Model(#[from] trimbench_fs::FsConfigError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("cannot read the profile `{}`: {}", path.display(), reason(.error))]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("profile `{name}`: {error}")]
    Profile { name: String, error: ProfileError },
    #[error("profile `{name}`: {error}")]
    Config { name: String, error: DriveConfigError },
    #[error(
        "an emulated drive of {capacity} needs {needed} of memory, and {available} are available"
    )]
    Memory { capacity: Bytes, needed: Bytes, available: Bytes },
    #[error(
        "the page cache would take the files of this run: they grow to {files}, {available} of \
         memory are available, and its part in that cannot be limited ({reason})"
    )]
    Cached { files: Bytes, available: Bytes, needed: Bytes, reason: String },
    #[error(transparent)]
    Claim(#[from] trimbench_claim::ClaimError),
    #[error("`{}`: {error}", path.display())]
    Block { path: PathBuf, error: trimbench_linux::BlockError },
    #[error("cannot purge by `{means}`: {reason}")]
    Purge { means: &'static str, reason: String },
    /// A character device, a socket, a pipe.
    #[error("`{}` is neither a directory nor a block device nor an image file", path.display())]
    NotATarget { path: PathBuf },
    #[error("`{}` does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("cannot reach `{}`: {}", path.display(), reason(.error))]
    Unreachable { path: PathBuf, error: std::io::Error },
    #[error("profile `{name}` has changed since the run began")]
    ProfileChanged { name: String },
    #[error(transparent)]
    Directory(#[from] trimbench_linux::DirectoryError),
    #[error(transparent)]
    Mount(#[from] trimbench_claim::mounts::MountError),
    #[error(transparent)]
    Scratch(#[from] trimbench_claim::ScratchError),
    #[error("`{below}` is no directory in which a scratch image could be made")]
    NoDirectoryBelow { below: String },
}

impl<E> From<E> for TargetError
where
    Problem: From<E>,
{
    fn from(error: E) -> Self {
        Self(Box::new(Problem::from(error)))
    }
}

impl TargetError {
    /// Whether the command line is at fault, rather than the target.
    pub fn is_usage(&self) -> bool {
        matches!(
            *self.0,
            Problem::UnknownProfile { .. }
                | Problem::NoProfile
                | Problem::Unmarked { .. }
                | Problem::UnknownKind { .. }
                | Problem::NothingBelow { .. }
                | Problem::NoDirectoryBelow { .. }
                | Problem::OfAnother { .. }
                | Problem::OfTheHost { .. }
                | Problem::NotOnDevices { .. }
                | Problem::Scale { .. }
                | Problem::Model(_)
                | Problem::Setting(_)
                | Problem::Unreadable { .. }
                | Problem::Profile { .. }
                | Problem::Config { .. }
                | Problem::Memory { .. }
                | Problem::ProfileChanged { .. }
        )
    }

    /// Whether what was claimed has been disconnected, and is not known to be changed.
    pub fn is_gone(&self) -> bool {
        matches!(&*self.0, Problem::Claim(error) if error.is_gone())
    }

    /// What the run's files would have to grow to, so that the page cache cannot hold them.
    pub fn files_needed(&self) -> Option<Bytes> {
        match *self.0 {
            Problem::Cached { needed, .. } => Some(needed),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match &*self.0 {
            Problem::UnknownProfile { .. } => {
                let names: Vec<&str> = BUILT_IN.iter().map(|profile| profile.name).collect();
                return Some(format!(
                    "profiles: {}; or give a file as `sim:./drive.toml`",
                    names.join(", ")
                ));
            }
            Problem::NoProfile => {
                "write for example `sim:generic-nvme-tlc`; `trimbench list profiles` lists them"
            }
            Problem::Unmarked { .. } => "emulated drives begin with `sim:`",
            Problem::UnknownKind { .. } => return Some(kinds()),
            Problem::NothingBelow { .. } => {
                "write for example `ext4:sim:vendor2`, or `ext4:./image` with an image file or a \
                 block device"
            }
            Problem::OfTheHost { .. } => {
                "write it behind the filesystem's name, for example `xfs,wbt=0:sim:NAME`"
            }
            Problem::Scale { most, .. } => {
                return Some(format!("give `scale={most}` or less, or a drive with faster TRIMs"));
            }
            Problem::NotOnDevices { .. } => "write for example `raidz2:sim:NAME*10`",
            Problem::Provision(error) => return error.advice.clone(),
            Problem::Setting(SettingError::UnknownKey { .. } | SettingError::NoValue { .. }) => {
                "write for example `sim:vendor2,capacity=32GiB`, or \
                 `ext4,era=4.13:sim:vendor2`"
            }
            Problem::Memory { .. }
            | Problem::Config { error: DriveConfigError::CapacityTooLarge { .. }, .. } => {
                "give a smaller `--capacity`"
            }
            Problem::Model(trimbench_fs::FsConfigError::DeviceTooSmall { .. })
            | Problem::Config { error: DriveConfigError::CapacityTooSmall { .. }, .. } => {
                "give a larger `--capacity`"
            }
            Problem::Claim(error) => return Some(error.hint()),
            Problem::Scratch(error) => error.hint(),
            Problem::NoDirectoryBelow { .. } => "write for example `scratch,size=1GiB:/srv/data`",
            Problem::Purge { .. } => "use `--purge auto`, or `--purge trim`",
            Problem::Block { error: trimbench_linux::BlockError::NotDirect, .. } => {
                "put the image on a filesystem with direct I/O (ext4, XFS, btrfs)"
            }
            Problem::Missing { path } if path.starts_with("/dev") => {
                "`ls -l /dev/disk/by-id` lists drives by names that stay"
            }
            Problem::NotATarget { .. } | Problem::Missing { .. } => {
                "name a directory, a block device or an image file that exists, or an emulated \
                 drive as `sim:NAME`"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// The kinds of targets that have a name.
fn kinds() -> String {
    let filesystems = FilesystemKind::ALL.map(|kind| format!("`{}:`", kind.id()));
    let pools = POOLS.map(|pool| format!("`{pool}:sim:NAME*10`"));
    format!(
        "emulated drives are `sim:NAME`, filesystems {}, pools {}, scratch images \
         `scratch,size=1GiB:DIRECTORY`; anything else is a path",
        filesystems.join(", "),
        pools.join(", ")
    )
}
