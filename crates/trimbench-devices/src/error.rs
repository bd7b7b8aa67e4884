//! Why a target cannot be had, and what to do about it.

use std::path::PathBuf;

use trimbench_core::nearest::did_you_mean;
use trimbench_core::settings::SettingError;
use trimbench_core::{Bytes, ProvisionError, reason};
use trimbench_ssd::{BUILT_IN, DriveConfigError, ProfileError};

use crate::options::{FILESYSTEMS, MODELLED};

/// A target that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// No profile of that name.
    #[error("there is no profile `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownProfile {
        /// As given.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// No filesystem of that name can be made.
    #[error("there is no filesystem `{name}` to be made{}", did_you_mean(.nearest.as_deref()))]
    UnknownFilesystem {
        /// As given.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A filesystem stands before something that is no device.
    #[error("`{below}` is no device that a filesystem can be made on")]
    NothingBelow {
        /// What stands behind the filesystem.
        below: String,
    },
    /// A filesystem of which there is no model stands before an emulated drive.
    #[error("there is no model of {name}, only of {}", MODELLED)]
    NotModelled {
        /// Which.
        name: &'static str,
    },
    /// A pool stands before something other than emulated drives.
    #[error("{name} is modelled, and can be made on emulated drives only")]
    NotOnDevices {
        /// Which.
        name: String,
    },
    /// Filesystems cannot be made on the device or image file.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The modelled filesystem cannot be had.
    #[error(transparent)]
    Model(#[from] trimbench_fs::FsConfigError),
    /// A setting behind a name cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A profile file cannot be read.
    #[error("cannot read the profile `{}`: {}", path.display(), reason(.error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A profile is wrong.
    #[error("profile `{name}`: {error}")]
    Profile {
        /// Which.
        name: String,
        /// What is wrong.
        error: ProfileError,
    },
    /// The drive's numbers do not go together.
    #[error("profile `{name}`: {error}")]
    Config {
        /// Which.
        name: String,
        /// What is wrong.
        error: DriveConfigError,
    },
    /// The drive's tables would not fit into memory.
    #[error("an emulated drive of {capacity} needs {needed} of memory, and {available} are there")]
    Memory {
        /// The drive's.
        capacity: Bytes,
        /// Its tables'.
        needed: Bytes,
        /// The machine's.
        available: Bytes,
    },
    /// The device or image file may not be overwritten.
    #[error(transparent)]
    Claim(#[from] trimbench_linux::ClaimError),
    /// The device or image file cannot be driven.
    #[error("`{}`: {error}", path.display())]
    Block {
        /// As given.
        path: PathBuf,
        /// Why.
        error: trimbench_linux::BlockError,
    },
    /// The drive cannot be purged as asked for.
    #[error("cannot purge by `{means}`: {reason}")]
    Purge {
        /// As asked for.
        means: &'static str,
        /// Why not.
        reason: String,
    },
    /// A character device, a socket, a pipe.
    #[error("`{}` is neither a directory nor a block device nor an image file", path.display())]
    NotATarget {
        /// The path.
        path: PathBuf,
    },
    /// Nothing is there.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The path cannot be followed.
    #[error("cannot reach `{}`: {}", path.display(), reason(.error))]
    Unreachable {
        /// The path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The profile is not the one that the run was begun with.
    #[error("profile `{name}` has changed since the run was begun")]
    ProfileChanged {
        /// Which.
        name: String,
    },
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] trimbench_linux::DirectoryError),
    /// The filesystem below the directory cannot be found out.
    #[error(transparent)]
    Mount(#[from] trimbench_linux::MountError),
}

impl TargetError {
    /// Whether the command line is at fault, rather than the target.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownProfile { .. }
                | Self::UnknownFilesystem { .. }
                | Self::NothingBelow { .. }
                | Self::NotModelled { .. }
                | Self::NotOnDevices { .. }
                | Self::Model(_)
                | Self::Setting(_)
                | Self::Unreadable { .. }
                | Self::Profile { .. }
                | Self::Config { .. }
                | Self::Memory { .. }
                | Self::ProfileChanged { .. }
        )
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownProfile { .. } => {
                let names: Vec<&str> = BUILT_IN.iter().map(|profile| profile.name).collect();
                return Some(format!(
                    "profiles: {}; or give a file as `sim:./drive.toml`",
                    names.join(", ")
                ));
            }
            Self::UnknownFilesystem { .. } => {
                return Some(format!("filesystems: {}", FILESYSTEMS.join(", ")));
            }
            Self::NothingBelow { .. } => {
                "write for example `ext4:sim:vendor2`, or `ext4:./image` with an image file or a \
                 block device"
            }
            Self::NotModelled { .. } => "write `ext4:sim:NAME`, or name a device or an image file",
            Self::NotOnDevices { .. } => "write for example `raidz2:sim:NAME*10`",
            Self::Provision(error) => return error.advice.clone(),
            Self::Setting(SettingError::UnknownKey { .. }) => {
                "write for example `sim:vendor2,capacity=32GiB`, or \
                 `ext4,discard-path=in-commit:sim:vendor2`"
            }
            Self::Memory { .. }
            | Self::Config { error: DriveConfigError::CapacityTooLarge { .. }, .. } => {
                "give a smaller `--capacity`"
            }
            Self::Model(trimbench_fs::FsConfigError::DeviceTooSmall { .. })
            | Self::Config { error: DriveConfigError::CapacityTooSmall { .. }, .. } => {
                "give a larger `--capacity`"
            }
            Self::Claim(error) => return Some(error.hint()),
            Self::Purge { .. } => "use `--purge auto`, or `--purge trim`",
            Self::Block { error: trimbench_linux::BlockError::NotDirect, .. } => {
                "put the image on a filesystem with direct I/O (ext4, XFS, btrfs)"
            }
            Self::NotATarget { .. } | Self::Missing { .. } => {
                "name a directory, a block device or an image file that exists, or an emulated \
                 drive as `sim:NAME`"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
