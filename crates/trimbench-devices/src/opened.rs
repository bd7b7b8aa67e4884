//! Opens a target of any kind from its text, describes it, and closes it.

use std::collections::BTreeMap;
use std::rc::Rc;

use trimbench_core::{
    Bytes, Capabilities, Drives as _, Interrupt, Opened, Provisioner as _, Target as _,
};
use trimbench_linux::{BlockTarget, Consent, DirectoryTarget, Guard, MkfsProvisioner};

use crate::emulated::{EmulatedDrives, EmulatedSpec};
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

/// An open target, by its kind.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Kind {
    /// Emulated drives, made one by one.
    Drives(EmulatedDrives),
    /// Modelled filesystems on an emulated drive.
    Modelled(ModelledFilesystems),
    /// Modelled pools on several emulated drives.
    Pool(ModelledPools),
    /// Real filesystems that are made on a block device or an image file.
    Real(MkfsProvisioner),
    /// A directory of our own on a mounted filesystem.
    Directory(DirectoryTarget),
    /// A block device or an image file.
    Device(BlockTarget),
}

/// A target that is ready to be measured.
#[expect(missing_debug_implementations, reason = "what reads the environment has none")]
pub struct OpenTarget {
    pub(crate) kind: Kind,
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
    pub(crate) fn opened(self, kind: fn(T) -> Kind) -> OpenTarget {
        OpenTarget {
            kind: kind(self.target),
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
            Self::Emulated(spec) => Ok(spec.drives(space)?.opened(Kind::Drives)),
            Self::Modelled(spec) => Ok(spec.provision(space, seed)?.opened(Kind::Modelled)),
            Self::Pool(spec) => Ok(spec.provision(space, seed)?.opened(Kind::Pool)),
            Self::Real(spec) => spec.open(opening),
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
            Self::Real(_) | Self::Directory(_) | Self::Device(_) => self,
        }
    }
}

impl OpenTarget {
    /// What the target says of itself.
    pub fn capabilities(&self) -> &Capabilities {
        match &self.kind {
            Kind::Drives(drives) => drives.capabilities(),
            Kind::Modelled(filesystems) => filesystems.capabilities(),
            Kind::Pool(pools) => pools.capabilities(),
            Kind::Real(filesystems) => filesystems.capabilities(),
            Kind::Directory(directory) => directory.capabilities(),
            Kind::Device(device) => device.capabilities(),
        }
    }

    /// What methods are run on.
    pub fn opened(&mut self) -> Opened<'_> {
        match &mut self.kind {
            Kind::Drives(drives) => Opened::Drives(drives),
            Kind::Modelled(filesystems) => Opened::Filesystems(filesystems),
            Kind::Pool(pools) => Opened::Filesystems(pools),
            Kind::Real(filesystems) => Opened::Filesystems(filesystems),
            Kind::Directory(directory) => Opened::Directory(directory),
            Kind::Device(device) => Opened::Device(device),
        }
    }

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
        let Self { kind, read_environment, .. } = self;
        match kind {
            Kind::Directory(directory) => {
                let closed = directory.close();
                (read_environment(), closed.map_err(TargetError::from))
            }
            _ => (read_environment(), Ok(())),
        }
    }
}
