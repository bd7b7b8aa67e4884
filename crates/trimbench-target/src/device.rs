//! Block devices and image files: inspected, claimed, described.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Caveat, Drive, PurgeMeans, Support, Target};
use trimbench_linux::passthrough::{DrivePurger, NoPurge, PurgeChoice};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget, Consent, Guard, Inspection, Purger};

use crate::Description;
use crate::spec::TargetError;

/// A device or an image file that may be overwritten, and nothing has been yet.
#[derive(Debug)]
pub struct ProvisionedDevice {
    /// The device.
    pub target: BlockTarget,
    /// What it is.
    pub description: Description,
    /// The machine's settings, read before anything was measured.
    pub environment: BTreeMap<String, String>,
    inspection: Inspection,
    guard: Rc<Guard>,
}

impl ProvisionedDevice {
    /// How the device is purged.
    pub fn purge_means(&self) -> PurgeMeans {
        self.target.purge_means()
    }

    /// Whether it is still what was claimed, as large as it was, and nobody else's.
    pub fn still_same(&self) -> Result<(), TargetError> {
        Ok(self.guard.check()?)
    }

    /// Tells between measurements whether it is still what was claimed, and as large.
    pub fn watch(&self) -> impl Fn() -> Result<(), TargetError> + use<> {
        let guard = Rc::clone(&self.guard);
        move || Ok(guard.check_descriptor()?)
    }

    /// The machine's settings at this moment; what can no longer be read is left out.
    pub fn environment_now(&self) -> BTreeMap<String, String> {
        environment(&self.inspection, &self.target)
    }
}

/// Inspects and claims what `path` leads to, so far as `consent` goes; `seed` makes the data that
/// is written, `choice` says how the drive is to be purged.
pub fn provision_device(
    path: &Path,
    consent: &Consent,
    choice: PurgeChoice,
    seed: u64,
) -> Result<ProvisionedDevice, TargetError> {
    let inspection = Inspection::of(path)?;
    let (file, guard) = inspection.claim(consent)?.into_parts();
    let guard = Rc::new(guard);
    let purger = purger(&file, &inspection, choice)?;
    let medium = BlockMedium::of(file)
        .map_err(|error| TargetError::Block { path: path.to_owned(), error })?;
    let options = BlockOptions {
        seed,
        first_write: Some(last_look(Rc::clone(&guard))),
        purger,
        ..BlockOptions::default()
    };
    let target = BlockTarget::new(medium, options)
        .map_err(|error| TargetError::Block { path: path.to_owned(), error })?;
    let means = target.purge_means();
    let kind = if inspection.is_image() { "image" } else { "device" };
    let mut identity = inspection.identity();
    identity.insert("purged-by".to_owned(), means.id().to_owned());
    let discard = match target.capabilities().discard {
        Support::None => "it takes no discards",
        Support::Emulated => "it takes discards as holes in the file",
        Support::Native => "it takes discards",
    };
    let caveats: Vec<Caveat> = target.caveats().to_vec();
    let description = Description {
        name: to_text(path),
        kind,
        identity,
        state: format!("as found, until the method establishes its own; {discard}"),
        provenance: None,
        caveats,
    };
    let environment = environment(&inspection, &target);
    Ok(ProvisionedDevice { target, description, environment, inspection, guard })
}

/// What the drive has beside commands; none where no drive is behind it directly.
fn purger(
    file: &std::os::fd::OwnedFd,
    inspection: &Inspection,
    choice: PurgeChoice,
) -> Result<Option<Box<dyn Purger>>, TargetError> {
    use std::os::fd::AsFd;
    let own = match choice {
        _ if inspection.is_image() => Err(None),
        choice => DrivePurger::new(file.as_fd(), choice).map_err(Some),
    };
    match (own, choice) {
        (Ok(purger), _) => Ok(Some(Box::new(purger))),
        // TRIM is what is left, and is what every figure that it touches says.
        (Err(_), PurgeChoice::Auto | PurgeChoice::Trim) => Ok(None),
        (Err(error), PurgeChoice::Means(means)) => {
            let reason = error.as_ref().map_or_else(
                || "an image file has no drive behind it".to_owned(),
                NoPurge::to_string,
            );
            Err(TargetError::Purge { means: means.id(), reason })
        }
    }
}

/// Looks once more at what was claimed, and keeps it claimed for as long as the target lives.
fn last_look(guard: Rc<Guard>) -> trimbench_linux::FirstWrite {
    Box::new(move || guard.check().map_err(|error| format!("{error}; {}", error.hint())))
}

/// The machine, the stack and the device.
fn environment(inspection: &Inspection, target: &BlockTarget) -> BTreeMap<String, String> {
    let mut environment = inspection.environment().unwrap_or_default();
    environment.extend(target.environment());
    environment
}

/// What a dry run says of a device: nothing is opened for writing.
#[derive(Debug)]
pub struct DeviceOutlook {
    /// Bytes that a host can address.
    pub capacity: Bytes,
    /// The device and what stands below and above it, as a readable tree.
    pub stack: String,
    /// What must be given with `--destroy`, any one of them.
    pub destroy_names: Vec<std::path::PathBuf>,
    /// Why it would be refused, and what to do; `None` if it will probably be accepted.
    pub refusal: Option<(String, String)>,
}

/// Whether overwriting the device or image file `target` would overwrite the regular file `file`.
pub fn holds_file(target: &Path, file: &Path) -> Result<bool, TargetError> {
    Ok(Inspection::of(target)?.holds(file)?)
}

/// Looks at a device or image file without touching it.
pub fn inspect_device(path: &Path, consent: &Consent) -> Result<DeviceOutlook, TargetError> {
    let inspection = Inspection::of(path)?;
    let refusal = inspection.refusal(consent).err();
    Ok(DeviceOutlook {
        capacity: inspection.size(),
        stack: inspection.to_string(),
        destroy_names: inspection.destroy_names(),
        refusal: refusal.map(|error| (error.to_string(), error.hint())),
    })
}
