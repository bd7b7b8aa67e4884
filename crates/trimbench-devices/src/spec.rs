//! The meaning of the text of `--target`.
//!
//! `sim:NAME` or `sim:FILE.toml`, with settings after commas (`sim:vendor2,capacity=32GiB`), is an
//! emulated drive. Anything else is a path: a directory is measured in; a block device or a regular
//! file (an image) is overwritten, if that was permitted. A filesystem to be made comes before the
//! device, as the layer above it, with settings of its own: `ext4,memory=2GiB:sim:NAME`. A pool
//! comes before several drives of one kind: `raidz2:sim:NAME*10`. A path that is not UTF-8 is
//! written as by [`to_text`].

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::{Setting, SettingError, Values};
use trimbench_core::text::{from_text, to_text};
use trimbench_core::{Bytes, ProvisionError, reason};
use trimbench_linux::FilesystemKind;
use trimbench_ssd::{BUILT_IN, DriveConfigError, ProfileError};

use crate::emulated::EmulatedSpec;
use crate::modelled::pool::{self, PoolSpec};
use crate::modelled::{self, ModelledSpec};
use crate::real::RealSpec;

#[cfg(test)]
mod tests;

/// What marks an emulated drive.
pub(crate) const EMULATED: &str = "sim:";
/// Filesystems that may stand before a device.
const FILESYSTEMS: [&str; 8] = {
    let [a, b, c, d] = FilesystemKind::ALL;
    let [e, f, g, h] = pool::NAMES;
    [a.id(), b.id(), c.id(), d.id(), e, f, g, h]
};

/// A target, not yet opened.
#[derive(Clone, Debug)]
pub enum TargetSpec {
    /// An emulated drive.
    Emulated(Box<EmulatedSpec>),
    /// A modelled filesystem on an emulated drive.
    Modelled(Box<ModelledSpec>),
    /// A modelled pool on several emulated drives.
    Pool(Box<PoolSpec>),
    /// A real filesystem that is made on a block device or an image file.
    Real(RealSpec),
    /// A directory on a mounted filesystem.
    Directory(PathBuf),
    /// A block device or an image file, by the name that the user gave it.
    Device(PathBuf),
}

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
    #[error("cannot make a filesystem `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownFilesystem {
        /// As given.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A filesystem stands before something that is no device.
    #[error("cannot make a filesystem on `{below}`: it is not a device")]
    NothingBelow {
        /// What stands behind the filesystem.
        below: String,
    },
    /// A filesystem of which there is no model stands before an emulated drive.
    #[error("there is no model of {name}, only of {}", modelled::NAME)]
    NotModelled {
        /// Which.
        name: &'static str,
    },
    /// A pool stands before something other than emulated drives.
    #[error("{name} is a model, and can be made on emulated drives only")]
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
    #[error(
        "an emulated drive of {capacity} needs {needed} of memory, and {available} are \
        available"
    )]
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
    #[error("profile `{name}` has changed since the run began")]
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

impl TargetSpec {
    /// The text of an argument, which may be a path of any bytes, behind a filesystem or not: as
    /// [`parse`](Self::parse) reads it and records have it.
    pub fn text_of(argument: &OsStr) -> String {
        let bytes = argument.as_bytes();
        let path = |bytes| to_text(OsStr::from_bytes(bytes));
        let colon = bytes.iter().position(|byte| *byte == b':');
        let parts = colon.map(|colon| (&bytes[..colon], &bytes[colon + 1..]));
        match parts.and_then(|(head, below)| Some((std::str::from_utf8(head).ok()?, below))) {
            Some((head, below)) if is_filesystem(head) => format!("{head}:{}", path(below)),
            _ => path(bytes),
        }
    }

    /// Reads the text; `capacity` is what `--capacity` says for emulated drives that do not say it
    /// themselves.
    pub fn parse(text: &str, capacity: Option<Bytes>) -> Result<Self, TargetError> {
        if let Some(drive) = text.strip_prefix(EMULATED) {
            return EmulatedSpec::parse(drive, capacity).map(|spec| Self::Emulated(Box::new(spec)));
        }
        if let Some(layer) = Layer::of(text)? {
            return layer.parse(capacity);
        }
        Self::of_path(text)
    }

    /// What is at a path.
    fn of_path(text: &str) -> Result<Self, TargetError> {
        let path = PathBuf::from(from_text(text));
        match std::fs::metadata(&path) {
            // The whole path, so that a run resumed elsewhere means the same place.
            Ok(metadata) if metadata.is_dir() => {
                Ok(Self::Directory(std::fs::canonicalize(&path).unwrap_or(path)))
            }
            // Not the canonical path: a link by id says more than what it leads to, and what it
            // leads to may change.
            Ok(metadata) if metadata.is_file() || is_device(&metadata) => {
                Ok(Self::Device(std::path::absolute(&path).unwrap_or(path)))
            }
            Ok(_) => Err(TargetError::NotATarget { path }),
            Err(_) if BUILT_IN.iter().any(|profile| profile.name == text) => {
                let nearest = Some(format!("{EMULATED}{text}"));
                Err(TargetError::UnknownProfile { name: text.to_owned(), nearest })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(TargetError::Missing { path })
            }
            Err(error) => Err(TargetError::Unreachable { path, error }),
        }
    }

    /// The emulated drive that it is, or stands on.
    pub fn emulated_drive(&self) -> Option<&EmulatedSpec> {
        match self {
            Self::Emulated(drive) => Some(drive),
            Self::Modelled(filesystem) => Some(filesystem.drive()),
            Self::Pool(pool) => Some(pool.drive()),
            Self::Real(_) | Self::Directory(_) | Self::Device(_) => None,
        }
    }
}

impl fmt::Display for TargetSpec {
    /// The text that means this target, with every setting.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulated(spec) => write!(formatter, "{EMULATED}{spec}"),
            Self::Modelled(spec) => write!(formatter, "{spec}"),
            Self::Pool(spec) => write!(formatter, "{spec}"),
            Self::Real(spec) => write!(formatter, "{spec}"),
            Self::Directory(path) | Self::Device(path) => formatter.write_str(&to_text(path)),
        }
    }
}

/// Settings behind a name, `KEY=VALUE[,KEY=VALUE]...`: the last one holds of those that are set
/// twice. Errors call what they belong to `of`.
pub(crate) fn settings(
    of: &str,
    rows: &[Setting],
    text: Option<&str>,
) -> Result<Values, SettingError> {
    let mut values = Values::new("setting", of);
    for part in text.into_iter().flat_map(|text| text.split(',')) {
        values.set_part(rows, part)?;
    }
    Ok(values)
}

/// Settings as they stand behind a name.
pub(crate) fn write_settings<'a>(
    formatter: &mut fmt::Formatter<'_>,
    settings: impl IntoIterator<Item = (&'a str, String)>,
) -> fmt::Result {
    settings.into_iter().try_for_each(|(key, text)| write!(formatter, ",{key}={text}"))
}

fn is_device(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device()
}

/// Whether it names a filesystem that is to be made, with settings or without.
fn is_filesystem(head: &str) -> bool {
    FILESYSTEMS.contains(&head.split(',').next().unwrap_or(head))
}

/// A filesystem with its settings, and what it stands before.
struct Layer<'a> {
    name: &'a str,
    settings: Option<&'a str>,
    below: &'a str,
}

impl<'a> Layer<'a> {
    /// Reads `FILESYSTEM[,key=value]...:BELOW`; `None` for a path.
    fn of(text: &'a str) -> Result<Option<Self>, TargetError> {
        let Some((head, below)) = text.split_once(':') else { return Ok(None) };
        let (name, settings) = match head.split_once(',') {
            Some((name, settings)) => (name, Some(settings)),
            None => (head, None),
        };
        if is_filesystem(head) {
            return Ok(Some(Self { name, settings, below }));
        }
        // A path may hold a colon, but not this.
        if below.starts_with(EMULATED) {
            let nearest = nearest(name, FILESYSTEMS).map(str::to_owned);
            return Err(TargetError::UnknownFilesystem { name: name.to_owned(), nearest });
        }
        Ok(None)
    }

    fn parse(&self, capacity: Option<Bytes>) -> Result<TargetSpec, TargetError> {
        let Self { name, settings, below } = *self;
        let nothing = || TargetError::NothingBelow { below: below.to_owned() };
        let drive = below.strip_prefix(EMULATED);
        let Some(kind) = FilesystemKind::ALL.into_iter().find(|kind| kind.id() == name) else {
            let drive = drive.ok_or(TargetError::NotOnDevices { name: name.to_owned() })?;
            let spec = PoolSpec::parse((name, settings), drive, capacity)?;
            return Ok(TargetSpec::Pool(Box::new(spec)));
        };
        if let Some(drive) = drive {
            if kind.id() != modelled::NAME {
                return Err(TargetError::NotModelled { name: kind.id() });
            }
            let drive = EmulatedSpec::parse(drive, capacity)?;
            let spec = ModelledSpec::parse(settings, drive)?;
            return Ok(TargetSpec::Modelled(Box::new(spec)));
        }
        match TargetSpec::of_path(below) {
            Ok(TargetSpec::Device(path)) => {
                RealSpec::parse(kind, settings, path).map(TargetSpec::Real)
            }
            Ok(_) | Err(TargetError::UnknownProfile { .. } | TargetError::NotATarget { .. }) => {
                Err(nothing())
            }
            Err(error) => Err(error),
        }
    }
}
