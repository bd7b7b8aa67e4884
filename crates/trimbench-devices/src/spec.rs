//! The meaning of the text of `--target`.
//!
//! `sim:NAME` or `sim:FILE.toml`, with settings after commas (`sim:vendor2,capacity=32GiB`), is an
//! emulated drive. Anything else is a path: a directory is measured in; a block device or a regular
//! file (an image) is overwritten, if that was permitted. A filesystem to be made comes before the
//! device, as the layer above it, with settings of its own: `ext4,memory=2GiB:sim:NAME`. A pool
//! comes before several drives of one kind: `raidz2:sim:NAME*10`. `scratch,size=1GiB:DIRECTORY` is
//! an image file without a name that is made in that directory. A path that is not UTF-8 is
//! written as by [`to_text`].

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use trimbench_core::nearest::nearest;
use trimbench_core::text::{from_text, to_text};
use trimbench_core::{Bytes, DrainRule, Provisioner};
use trimbench_fs::FsKind;
use trimbench_linux::{FilesystemKind, LoadWatch, drain_of};
use trimbench_ssd::BUILT_IN;

use crate::description::Provisioned;
use crate::emulated::EmulatedSpec;
use crate::error::{Problem, TargetError};
use crate::modelled::ModelledSpec;
use crate::modelled::pool::PoolSpec;
use crate::opened::{Kind, OpenTarget, Opening};
use crate::options::{EMULATED, FILESYSTEMS};
use crate::real::RealSpec;
use crate::scratch::{SCRATCH, ScratchSpec};
use crate::{device, directory};

#[cfg(test)]
mod tests;

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
    /// An image file without a name that is made in a directory.
    Scratch(ScratchSpec),
    /// A directory on a mounted filesystem.
    Directory(PathBuf),
    /// A block device or an image file, by the name that the user gave it.
    Device(PathBuf),
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
            Some((head, below)) if is_kind(head) => format!("{head}:{}", path(below)),
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
        Ok(Self::of_path(text)?)
    }

    /// What is at a path.
    fn of_path(text: &str) -> Result<Self, Problem> {
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
            Ok(_) => Err(Problem::NotATarget { path }),
            Err(_) if BUILT_IN.iter().any(|profile| profile.name == text) => {
                Err(Problem::Unmarked { name: text.to_owned() })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Problem::Missing { path })
            }
            Err(error) => Err(Problem::Unreachable { path, error }),
        }
    }

    /// Whether methods get filesystems or pools from it, which it makes anew as often as they ask.
    pub fn is_filesystem(&self) -> bool {
        matches!(self, Self::Modelled(_) | Self::Pool(_) | Self::Real(_))
    }

    /// Whether a path is on the filesystem that holds the directory or the image file.
    pub fn shares_filesystem_with(&self, path: &Path) -> bool {
        let Some(own) = self.place() else { return false };
        let filesystem = |path: &Path| {
            let metadata = std::fs::metadata(path).ok()?;
            (metadata.is_dir() || metadata.is_file()).then(|| metadata.dev())
        };
        filesystem(own).is_some_and(|own| filesystem(path) == Some(own))
    }

    /// Looks at what others do with the storage below it; `None` for models, which nobody else has.
    pub fn load_watch(&self) -> Option<LoadWatch> {
        Some(LoadWatch::of(self.place()?))
    }

    /// When the discards of a deletion are over, on a filesystem that discards what is deleted, and
    /// a name for it; `None` elsewhere, and of models.
    pub fn drain(&self) -> Option<(DrainRule, String)> {
        match self {
            Self::Directory(path) => drain_of(path),
            Self::Real(spec) => Some(spec.drain()),
            _ => None,
        }
    }

    /// The path that it is, or lies at; `None` for models.
    fn place(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) | Self::Device(path) => Some(path),
            Self::Real(spec) => Some(spec.path()),
            Self::Scratch(spec) => Some(spec.directory()),
            Self::Emulated(_) | Self::Modelled(_) | Self::Pool(_) => None,
        }
    }

    /// The emulated drive that it is, or stands on.
    pub fn emulated_drive(&self) -> Option<&EmulatedSpec> {
        match self {
            Self::Emulated(drive) => Some(drive),
            Self::Modelled(filesystem) => Some(filesystem.drive()),
            Self::Pool(pool) => Some(pool.drive()),
            Self::Real(_) | Self::Scratch(_) | Self::Directory(_) | Self::Device(_) => None,
        }
    }
}

impl TargetSpec {
    /// Makes or opens the target. A block device or an image file is claimed first, so far as the
    /// consent goes; nothing is written to it yet.
    pub fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let Opening { space, seed, memory, .. } = *opening;
        match self {
            Self::Emulated(spec) => {
                let Provisioned { target, description } = spec.drives(space)?;
                Ok(OpenTarget::new(Kind::Drives(Box::new(target)), description))
            }
            Self::Modelled(spec) => Ok(filesystems(spec.limited(memory).provision(space, seed)?)),
            Self::Pool(spec) => Ok(filesystems(spec.provision(space, seed)?)),
            Self::Real(spec) => spec.open(opening),
            Self::Scratch(spec) => spec.open(opening),
            Self::Directory(path) => directory::open(path, opening),
            Self::Device(path) => device::open(path, opening),
        }
    }

    /// Memory that the tables of its emulated drives take; none on a real target.
    pub fn memory(&self) -> Bytes {
        match self {
            Self::Pool(pool) => Bytes(pool.drive().memory().0.saturating_mul(pool.drives() as u64)),
            spec => spec.emulated_drive().map_or(Bytes(0), EmulatedSpec::memory),
        }
    }

    /// The same with the capacity of emulated drives settled for files or blocks of `space` bytes:
    /// as asked for, else `own`, which is the method's, else the profile's.
    #[must_use]
    pub fn settled(self, own: Option<Bytes>, space: Bytes) -> Self {
        match self {
            Self::Emulated(spec) => Self::Emulated(Box::new(spec.preferring(own).settled(space))),
            Self::Modelled(spec) => Self::Modelled(Box::new(spec.preferring(own).settled(space))),
            Self::Pool(spec) => Self::Pool(Box::new(spec.settled(space))),
            Self::Real(_) | Self::Scratch(_) | Self::Directory(_) | Self::Device(_) => self,
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
            Self::Scratch(spec) => write!(formatter, "{spec}"),
            Self::Directory(path) | Self::Device(path) => formatter.write_str(&to_text(path)),
        }
    }
}

fn filesystems<P: Provisioner + 'static>(made: Provisioned<P>) -> OpenTarget {
    OpenTarget::new(Kind::Filesystems(Box::new(made.target)), made.description)
}

fn is_device(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device()
}

/// Whether it names what is to be made on or in what follows: a filesystem, a pool or a scratch
/// image, with settings or without.
fn is_kind(head: &str) -> bool {
    let name = head.split(',').next().unwrap_or(head);
    name == SCRATCH || FILESYSTEMS.contains(&name)
}

/// What may stand before `sim:NAME`: nothing, or a filesystem with its colon.
pub fn target_prefixes() -> impl Iterator<Item = String> {
    let filesystems = FILESYSTEMS.into_iter().map(|name| format!("{name}:"));
    std::iter::once(String::new()).chain(filesystems)
}

/// What is made with its settings, and what it stands before.
struct Layer<'a> {
    name: &'a str,
    settings: Option<&'a str>,
    below: &'a str,
}

impl<'a> Layer<'a> {
    /// Reads `KIND[,key=value]...:BELOW`; `None` for a path.
    fn of(text: &'a str) -> Result<Option<Self>, TargetError> {
        let Some((head, below)) = text.split_once(':') else { return Ok(None) };
        let (name, settings) = match head.split_once(',') {
            Some((name, settings)) => (name, Some(settings)),
            None => (head, None),
        };
        if is_kind(head) {
            return Ok(Some(Self { name, settings, below }));
        }
        // A path may hold a colon, but not this; and a word before the colon of a path that does
        // not exist was meant as a kind.
        let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_path = std::fs::symlink_metadata(from_text(text)).is_ok();
        if below.starts_with(EMULATED) || (is_word && !is_path) {
            let known = FILESYSTEMS.into_iter().chain(["sim", SCRATCH]);
            // ZFS is the pool that is modelled; XFS, the nearest name, is something else.
            let nearest = if name == "zfs" { None } else { nearest(name, known) };
            let nearest = nearest.map(str::to_owned);
            return Err(Problem::UnknownKind { name: name.to_owned(), nearest }.into());
        }
        Ok(None)
    }

    fn parse(&self, capacity: Option<Bytes>) -> Result<TargetSpec, TargetError> {
        let Self { name, settings, below } = *self;
        if name == SCRATCH {
            return match TargetSpec::of_path(below) {
                Ok(TargetSpec::Directory(path)) => {
                    ScratchSpec::parse(settings, path).map(TargetSpec::Scratch)
                }
                Ok(_) => Err(Problem::NoDirectoryBelow { below: below.to_owned() }.into()),
                Err(error) => Err(error.into()),
            };
        }
        let nothing = || Problem::NothingBelow { below: below.to_owned() };
        let drive = below.strip_prefix(EMULATED);
        let Some(kind) = FilesystemKind::ALL.into_iter().find(|kind| kind.id() == name) else {
            let drive = drive.ok_or(Problem::NotOnDevices { name: name.to_owned() })?;
            let spec = PoolSpec::parse((name, settings), drive, capacity)?;
            return Ok(TargetSpec::Pool(Box::new(spec)));
        };
        if let Some(drive) = drive {
            let drive = EmulatedSpec::parse(drive, capacity)?;
            let spec = ModelledSpec::parse(model_of(kind), settings, drive)?;
            return Ok(TargetSpec::Modelled(Box::new(spec)));
        }
        match TargetSpec::of_path(below) {
            Ok(TargetSpec::Device(path)) => {
                RealSpec::parse(kind, settings, path).map(TargetSpec::Real)
            }
            Ok(_) | Err(Problem::Unmarked { .. } | Problem::NotATarget { .. }) => {
                Err(nothing().into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The model of a filesystem.
fn model_of(kind: FilesystemKind) -> FsKind {
    match kind {
        FilesystemKind::Ext4 => FsKind::Ext4,
        FilesystemKind::Xfs => FsKind::Xfs,
        FilesystemKind::Btrfs => FsKind::Btrfs,
        FilesystemKind::F2fs => FsKind::F2fs,
    }
}
