//! Why a target cannot be had, and what to do about it.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use trimbench_core::nearest::did_you_mean;
use trimbench_core::settings::SettingError;
use trimbench_core::{Bytes, ProvisionError, reason};
use trimbench_ssd::{BUILT_IN, DriveConfigError, ProfileError};

use crate::options::EMULATED;

/// A target that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TargetError(pub(crate) Box<Problem>);

/// Why a target of one kind cannot be had, where no other kind has that reason.
pub(crate) trait KindProblem: Error + Send + Sync + 'static {
    /// Whether the command line is at fault, rather than the target.
    fn is_usage(&self) -> bool {
        true
    }

    /// What to do about it.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// The same of any kind.
#[derive(Debug)]
pub(crate) struct OfKind(Box<dyn KindProblem>);

impl fmt::Display for OfKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Error for OfKind {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    OfKind(OfKind),
    #[error("there is no profile `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownProfile { name: String, nearest: Option<String> },
    #[error("`{EMULATED}` does not name an emulated drive")]
    NoProfile,
    /// A profile's name without the mark of emulated drives.
    #[error("`{name}` is not a target; did you mean `{EMULATED}{name}`?")]
    Unmarked { name: String },
    #[error("there is no kind of target `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownKind { name: String, nearest: Option<String>, known: String },
    #[error("cannot make a filesystem on `{below}`: it is not a device")]
    NothingBelow { below: String },
    #[error("`{key}` is a setting of the host, not of a drive below {name}")]
    OfTheHost { key: &'static str, name: &'static str },
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
    #[error("`{}` is neither {}", path.display(), known.join(" nor "))]
    NotATarget { path: PathBuf, known: Vec<&'static str> },
    #[error("`{}` does not exist", path.display())]
    Missing { path: PathBuf, known: Vec<&'static str> },
    #[error("cannot reach `{}`: {}", path.display(), reason(.error))]
    Unreachable { path: PathBuf, error: std::io::Error },
    #[error("profile `{name}` has changed since the run began")]
    ProfileChanged { name: String },
    #[error(transparent)]
    Directory(#[from] trimbench_linux::DirectoryError),
    #[error(transparent)]
    Mount(#[from] trimbench_claim::mounts::MountError),
}

impl<P: KindProblem> From<P> for Problem {
    fn from(problem: P) -> Self {
        Self::OfKind(OfKind(Box::new(problem)))
    }
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
        match &*self.0 {
            Problem::OfKind(OfKind(problem)) => problem.is_usage(),
            Problem::UnknownProfile { .. }
            | Problem::NoProfile
            | Problem::Unmarked { .. }
            | Problem::UnknownKind { .. }
            | Problem::NothingBelow { .. }
            | Problem::OfTheHost { .. }
            | Problem::Model(_)
            | Problem::Setting(_)
            | Problem::Unreadable { .. }
            | Problem::Profile { .. }
            | Problem::Config { .. }
            | Problem::Memory { .. }
            | Problem::ProfileChanged { .. } => true,
            _ => false,
        }
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
            Problem::OfKind(OfKind(problem)) => return problem.hint(),
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
            Problem::UnknownKind { known, .. } => return Some(known.clone()),
            Problem::NothingBelow { .. } => {
                "write for example `ext4:sim:vendor2`, or `ext4:./image` with an image file or a \
                 block device"
            }
            Problem::OfTheHost { .. } => {
                "write it behind the filesystem's name, for example `xfs,wbt=0:sim:NAME`"
            }
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
            Problem::Purge { .. } => "use `--purge auto`, or `--purge trim`",
            Problem::Block { error: trimbench_linux::BlockError::NotDirect, .. } => {
                "put the image on a filesystem with direct I/O (ext4, XFS, btrfs)"
            }
            Problem::Missing { path, .. } if path.starts_with("/dev") => {
                "`ls -l /dev/disk/by-id` lists drives by names that stay"
            }
            Problem::NotATarget { known, .. } | Problem::Missing { known, .. } => {
                let (last, others) = known.split_last()?;
                let others = others.join(", ");
                return Some(format!(
                    "name {others} or {last} that exists, or an emulated drive as `{EMULATED}NAME`"
                ));
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
