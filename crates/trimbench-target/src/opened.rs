//! One door to every kind of target: opened from its text, described, and closed.

use std::collections::BTreeMap;
use std::rc::Rc;

use trimbench_core::{Bytes, Capabilities, Drives as _, Interrupt, Provisioner as _, Target as _};
use trimbench_linux::{BlockTarget, Consent, DirectoryTarget, Guard, MadeFilesystems};

use crate::emulated::EmulatedDrives;
use crate::modelled::ModelledFilesystems;
use crate::modelled::pool::ModelledPools;
use crate::spec::{TargetError, TargetSpec};
use crate::{Description, PurgeChoice, device, directory};

/// What it takes to open a target, beside its text.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// What may be destroyed.
    pub consent: &'a Consent,
    /// How a block device is purged.
    pub purge: PurgeChoice,
    /// Makes everything random.
    pub seed: u64,
    /// The least room that the target must have.
    pub space: Bytes,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
}

/// A target in a stated condition, and what it is.
#[derive(Debug)]
pub struct Provisioned<T> {
    /// The target.
    pub target: T,
    /// What it is.
    pub description: Description,
}

/// An open target, by the way that a method is run on it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Opened {
    /// Emulated drives, made one by one.
    Drives(EmulatedDrives),
    /// Modelled filesystems on an emulated drive.
    Modelled(ModelledFilesystems),
    /// Modelled pools on several emulated drives.
    Pool(ModelledPools),
    /// Real filesystems that are made on a block device or an image file.
    Real(MadeFilesystems),
    /// A directory of our own on a mounted filesystem.
    Directory(DirectoryTarget),
    /// A block device or an image file.
    Device(BlockTarget),
}

/// A target that is ready to be measured.
#[expect(missing_debug_implementations, reason = "what reads the environment has none")]
pub struct OpenTarget {
    /// The target.
    pub target: Opened,
    /// What it is.
    pub description: Description,
    /// The machine's settings, read before anything was measured; empty if it is emulated.
    pub environment: BTreeMap<String, String>,
    /// What the user should know about how it was opened.
    pub notes: Vec<String>,
    /// Reads the machine's settings; what can no longer be read is left out.
    pub(crate) read_environment: Box<dyn Fn() -> BTreeMap<String, String>>,
    /// Keeps a block device or an image file for us.
    pub(crate) guard: Option<Rc<Guard>>,
}

/// Tells whether a target is still the one that was opened.
pub type Watch = Box<dyn Fn() -> Result<(), TargetError>>;

impl<T> Provisioned<T> {
    /// The same behind the one door, of a target that is no part of this machine.
    pub(crate) fn opened(self, kind: fn(T) -> Opened) -> OpenTarget {
        OpenTarget {
            target: kind(self.target),
            description: self.description,
            environment: BTreeMap::new(),
            notes: Vec::new(),
            read_environment: Box::new(BTreeMap::new),
            guard: None,
        }
    }
}

impl TargetSpec {
    /// Makes or opens the target. A block device or an image file is claimed first, so far as the
    /// consent goes; nothing is written to it yet.
    pub fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let Opening { space, seed, .. } = *opening;
        match self {
            Self::Emulated(spec) => Ok(spec.drives(space)?.opened(Opened::Drives)),
            Self::Modelled(spec) => Ok(spec.provision(space, seed)?.opened(Opened::Modelled)),
            Self::Pool(spec) => Ok(spec.provision(space, seed)?.opened(Opened::Pool)),
            Self::Real(spec) => spec.open(opening),
            Self::Directory(path) => directory::open(path, opening),
            Self::Device(path) => device::open(path, opening),
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
            Self::Real(_) | Self::Directory(_) | Self::Device(_) => self,
        }
    }
}

impl Opened {
    /// What the target says of itself.
    pub fn capabilities(&self) -> &Capabilities {
        match self {
            Self::Drives(drives) => drives.capabilities(),
            Self::Modelled(filesystems) => filesystems.capabilities(),
            Self::Pool(pools) => pools.capabilities(),
            Self::Real(filesystems) => filesystems.capabilities(),
            Self::Directory(directory) => directory.capabilities(),
            Self::Device(device) => device.capabilities(),
        }
    }
}

impl OpenTarget {
    /// Tells between measurements whether a block device or an image file is still what was
    /// claimed, and as large; `None` for other targets.
    pub fn watch(&self) -> Option<Watch> {
        let guard = Rc::clone(self.guard.as_ref()?);
        Some(Box::new(move || Ok(guard.check_descriptor()?)))
    }

    /// Whether a block device or an image file is still what was claimed, as large as it was, and
    /// nobody else's.
    pub fn still_same(&self) -> Result<(), TargetError> {
        self.guard.as_ref().map_or(Ok(()), |guard| Ok(guard.check()?))
    }

    /// Gives the target back; what was made in a directory is removed. The machine's settings after
    /// all was measured, and whether everything is as it was.
    pub fn close(self) -> (BTreeMap<String, String>, Result<(), TargetError>) {
        let Self { target, read_environment, .. } = self;
        match target {
            Opened::Directory(directory) => {
                let closed = directory.close();
                (read_environment(), closed.map_err(TargetError::from))
            }
            _ => (read_environment(), Ok(())),
        }
    }
}
