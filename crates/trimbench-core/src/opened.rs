//! The opened target that a method runs on, of any kind.

use crate::contract::Capabilities;
use crate::drive::{Device, Drives};
use crate::provision::{Files, FilesystemSpec, ProvisionError, Provisioner};

/// An open target.
#[expect(missing_debug_implementations, reason = "targets behind trait objects have none")]
pub enum Opened<'a> {
    /// A block device, whose content is lost.
    Device(&'a mut dyn Device),
    /// Emulated drives, each like the others.
    Drives(&'a dyn Drives),
    /// A directory of our own.
    Directory(&'a mut Files<'a>),
    /// Filesystems that are made for it.
    Filesystems(&'a mut dyn Provisioner),
}

impl Opened<'_> {
    /// What it can do.
    pub fn capabilities(&self) -> &Capabilities {
        match self {
            Self::Device(device) => device.capabilities(),
            Self::Drives(drives) => drives.capabilities(),
            Self::Directory(files) => files.capabilities(),
            Self::Filesystems(provisioner) => provisioner.capabilities(),
        }
    }

    /// Runs a procedure on one block device: the one that there is, or an emulated one.
    ///
    /// # Panics
    /// If there is none. Whoever calls it has looked at the capabilities.
    pub fn on_device<R>(self, run: impl FnOnce(&mut dyn Device) -> R) -> R {
        match self {
            Self::Device(device) => run(device),
            Self::Drives(drives) => run(&mut *drives.make()),
            Self::Directory(_) | Self::Filesystems(_) => unreachable!("it was to be a device"),
        }
    }

    /// The same for what a host's programs do: an emulated drive lies behind a modelled block
    /// layer, as a real device does behind the kernel's.
    ///
    /// # Panics
    /// If there is none. Whoever calls it has looked at the capabilities.
    pub fn on_device_of_host<R>(self, run: impl FnOnce(&mut dyn Device) -> R) -> R {
        match self {
            Self::Drives(drives) => run(&mut *drives.make_in_host()),
            _ => self.on_device(run),
        }
    }

    /// Runs a procedure in a directory: the one that there is, or a filesystem that is made as mkfs
    /// and `mount -o discard` do it. `fits` is asked about that one before the procedure begins.
    ///
    /// # Panics
    /// If there is none. Whoever calls it has looked at the capabilities.
    pub fn in_directory<E: From<ProvisionError>>(
        self,
        fits: impl FnOnce(&Capabilities) -> Result<(), E>,
        run: impl FnOnce(&mut Files<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Directory(files) => run(files),
            Self::Filesystems(provisioner) => {
                provisioner.make(&FilesystemSpec::default())?;
                let files = provisioner.files();
                fits(files.capabilities())?;
                run(files)?;
                provisioner.unmount()?;
                Ok(())
            }
            Self::Device(_) | Self::Drives(_) => unreachable!("it was to be a directory"),
        }
    }
}
