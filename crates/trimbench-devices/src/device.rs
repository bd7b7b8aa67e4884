//! Block devices and image files: inspected, claimed, described.

use std::os::fd::AsFd as _;
use std::path::Path;
use std::rc::Rc;

use trimbench_claim::{Consent, Inspection};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Drive as _, Rejected, Storage as _, Support};
use trimbench_linux::passthrough::{DrivePurger, NoPurge, PurgeChoice};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget, Purger};

use crate::description::Description;
use crate::error::{Problem, TargetError};
use crate::opened::{Kind, OpenTarget, Opening, TargetGuard};

/// Inspects and claims what `path` leads to. Nothing has been overwritten yet.
pub(crate) fn open(path: &Path, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
    let unusable = |error| Problem::Block { path: path.to_owned(), error };
    let inspection = Inspection::of(path)?;
    let (file, guard) = inspection.claim(opening.consent)?.into_parts();
    let guard = Rc::new(guard);
    let looking = Rc::clone(&guard);
    let purger = purger(&file, &inspection, opening.purge)?;
    let options = BlockOptions {
        seed: opening.seed,
        // Kept for as long as the target lives, and the device or image claimed with it.
        first_write: Some(Box::new(move || {
            let refused = |reason| Rejected::Refused { reason };
            looking.check().map_err(|error| refused(format!("{error}; {}", error.hint())))
        })),
        purger,
        ..BlockOptions::default()
    };
    let medium = BlockMedium::of(file).map_err(unusable)?;
    let target = BlockTarget::new(medium.clone(), options).map_err(unusable)?;
    let mut identity = inspection.identity();
    identity.insert("purged-by".to_owned(), target.purge_means().id().to_owned());
    let description = Description {
        name: to_text(path),
        kind: if inspection.is_image() { "image" } else { "device" },
        identity,
        state: format!(
            "as found, until the method establishes its own; {}",
            discard_words(&target)
        ),
        provenance: None,
        calibrated_through: None,
        caveats: target.caveats().to_vec(),
    };
    let read_environment = move || {
        let mut environment = inspection.environment().unwrap_or_default();
        environment.extend(medium.environment());
        environment
    };
    Ok(OpenTarget {
        environment: read_environment(),
        read_environment: Box::new(read_environment),
        guard: Some(guard as Rc<dyn TargetGuard>),
        ..OpenTarget::new(Kind::Device(target), description)
    })
}

/// What its discards become, for the record.
pub(crate) fn discard_words(target: &BlockTarget) -> &'static str {
    match target.capabilities().discard {
        Support::None => "it takes no discards",
        Support::Emulated => "it takes discards as holes in the file",
        Support::Native => "it takes discards",
    }
}

/// What the drive has beside commands; none where no drive is behind it directly.
fn purger(
    file: &std::os::fd::OwnedFd,
    inspection: &Inspection,
    choice: PurgeChoice,
) -> Result<Option<Box<dyn Purger>>, TargetError> {
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
            Err(Problem::Purge { means: means.id(), reason }.into())
        }
    }
}

/// What a dry run says of a device: nothing is opened for writing.
#[derive(Debug)]
pub struct DeviceOutlook {
    /// Bytes that a host can address.
    pub capacity: Bytes,
    /// What the drives hold together that its writes wear: more than `capacity` for a partition or
    /// an image file. `None` where no drive is known.
    pub drives: Option<Bytes>,
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
        drives: inspection.drives_size(),
        stack: inspection.to_string(),
        destroy_names: inspection.destroy_names(),
        refusal: refusal.map(|error| (error.to_string(), error.hint())),
    })
}
