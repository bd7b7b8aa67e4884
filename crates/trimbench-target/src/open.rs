//! Targets of every kind, opened by one function into one kind of object.

use std::collections::BTreeMap;
use std::path::PathBuf;

use trimbench_core::{
    Bytes, Capabilities, Drives as _, Interrupt, Opened, Provisioner, Target as _,
};
use trimbench_linux::{Consent, environment};

use crate::Description;
use crate::device::{ProvisionedDevice, provision_device};
use crate::directory::{ProvisionedDirectory, provision_directory};
use crate::emulated::EmulatedDrives;
use crate::real::ProvisionedFilesystems;
use crate::spec::{TargetError, TargetSpec};
use trimbench_linux::passthrough::PurgeChoice;

/// What opening a target takes beside its text.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// What the method needs: the least capacity of a device, or room in a directory.
    pub space: Bytes,
    /// What is random comes from here.
    pub seed: u64,
    /// What may be destroyed.
    pub consent: &'a Consent,
    /// How block devices are purged.
    pub purge: PurgeChoice,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
}

/// Tells between measurements whether a target is still the one that was opened.
pub type Watch = Box<dyn Fn() -> Result<(), TargetError>>;

/// A target that is open: what it is, and what methods are run on.
#[expect(missing_debug_implementations, reason = "what makes filesystems has none")]
pub struct OpenTarget {
    /// What it is.
    pub description: Description,
    /// The machine's settings, read before anything was measured; empty for an emulated target.
    pub environment: BTreeMap<String, String>,
    /// What the user should know of the opening.
    pub remarks: Vec<String>,
    kind: Kind,
}

enum Kind {
    Drives(EmulatedDrives),
    Modelled(Box<dyn Provisioner>),
    Directory(PathBuf, Box<ProvisionedDirectory>),
    Filesystems(Box<ProvisionedFilesystems>),
    Device(Box<ProvisionedDevice>),
}

impl TargetSpec {
    /// Opens the target. A real one is inspected and claimed, and nothing of it is overwritten yet.
    pub fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let Opening { space, seed, consent, purge, interrupt } = *opening;
        let open = |description, environment, remarks, kind| OpenTarget {
            description,
            environment,
            remarks,
            kind,
        };
        let virtual_time = |description, kind| open(description, BTreeMap::new(), Vec::new(), kind);
        Ok(match self {
            Self::Emulated(spec) => {
                let drives = spec.drives(space)?;
                virtual_time(drives.description.clone(), Kind::Drives(drives))
            }
            Self::Modelled(spec) => {
                let made = spec.provision(space, seed)?;
                virtual_time(made.description, Kind::Modelled(Box::new(made.target)))
            }
            Self::Pool(spec) => {
                let made = spec.provision(space, seed)?;
                virtual_time(made.description, Kind::Modelled(Box::new(made.target)))
            }
            Self::Directory(path) => {
                let made = provision_directory(path, seed, space)?;
                let mut remarks = cleaned(made.cleaned);
                if made.promised > Bytes(0) {
                    remarks.push(format!(
                        "{} of `{}` are promised to other runs that are under way in its \
                         filesystem",
                        made.promised,
                        path.display()
                    ));
                }
                let (description, environment) =
                    (made.description.clone(), made.environment.clone());
                open(description, environment, remarks, Kind::Directory(path.clone(), made.into()))
            }
            Self::Real(spec) => {
                let made = spec.provision(consent, seed, interrupt)?;
                let (description, environment) =
                    (made.description.clone(), made.environment.clone());
                let remarks = cleaned(made.cleaned);
                open(description, environment, remarks, Kind::Filesystems(made.into()))
            }
            Self::Device(path) => {
                let made = provision_device(path, consent, purge, seed)?;
                let (description, environment) =
                    (made.description.clone(), made.environment.clone());
                open(description, environment, Vec::new(), Kind::Device(made.into()))
            }
        })
    }

    /// Memory that the tables of its emulated drives take; none on a real target.
    pub fn memory(&self) -> Bytes {
        match self {
            Self::Pool(pool) => Bytes(pool.drive().memory().0.saturating_mul(pool.drives() as u64)),
            spec => spec.emulated_drive().map_or(Bytes(0), |drive| drive.memory()),
        }
    }
}

impl OpenTarget {
    /// What it can do.
    pub fn capabilities(&self) -> &Capabilities {
        match &self.kind {
            Kind::Drives(drives) => drives.capabilities(),
            Kind::Modelled(provisioner) => provisioner.capabilities(),
            Kind::Directory(_, directory) => directory.target.capabilities(),
            Kind::Filesystems(filesystems) => filesystems.target.capabilities(),
            Kind::Device(device) => device.target.capabilities(),
        }
    }

    /// What methods are run on.
    pub fn opened(&mut self) -> Opened<'_> {
        match &mut self.kind {
            Kind::Drives(drives) => Opened::Drives(drives),
            Kind::Modelled(provisioner) => Opened::Filesystems(&mut **provisioner),
            Kind::Directory(_, directory) => Opened::Directory(&mut directory.target),
            Kind::Filesystems(filesystems) => Opened::Filesystems(&mut filesystems.target),
            Kind::Device(device) => Opened::Device(&mut device.target),
        }
    }

    /// Tells whether it is still what was claimed, and as large; `None` where that goes without
    /// saying.
    pub fn watch(&self) -> Option<Watch> {
        match &self.kind {
            Kind::Device(device) => Some(Box::new(device.watch())),
            _ => None,
        }
    }

    /// Whether it is still what was claimed, as large as it was, and nobody else's.
    pub fn still_same(&self) -> Result<(), TargetError> {
        match &self.kind {
            Kind::Device(device) => device.still_same(),
            _ => Ok(()),
        }
    }

    /// Ends its use: the machine's settings at the end, and whether what was made in it is gone.
    pub fn close(self) -> (BTreeMap<String, String>, Result<(), TargetError>) {
        match self.kind {
            Kind::Drives(_) | Kind::Modelled(_) => (BTreeMap::new(), Ok(())),
            Kind::Directory(path, directory) => {
                // Closing cleans up.
                let closed = directory.target.close().map_err(TargetError::from);
                (environment(&path).unwrap_or_default(), closed)
            }
            Kind::Filesystems(filesystems) => (filesystems.environment_now(), Ok(())),
            Kind::Device(device) => (device.environment_now(), Ok(())),
        }
    }
}

/// What killed runs had left is gone.
fn cleaned(count: usize) -> Vec<String> {
    let text = (count > 0).then(|| format!("removed what {count} crashed run(s) had left"));
    text.into_iter().collect()
}
