//! Block devices and image files: inspected, claimed, described.

use std::fmt;
use std::fs::Metadata;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use trimbench_claim::{Consent, Guard, Inspection};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Capabilities, Clock, Drive as _, Rejected, Storage as _, Support};
use trimbench_linux::passthrough::{DrivePurger, NoPurge, PurgeChoice};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget, Purger};

use super::{Reading, TargetKind, TargetKindInfo};
use crate::description::Description;
use crate::error::{Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening, TargetGuard};
use crate::outlook::{TargetOutlook, ideal_device};

/// Block devices and image files.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "device",
    forms: &[
        [
            "a block device",
            "the whole device (or partition), preferably as `/dev/disk/by-id/...`. **Everything \
             on it is lost**",
        ],
        [
            "a regular file",
            "an image: the whole file, used as a disk. **Everything in it is lost**",
        ],
    ],
    names: &[],
    hint: None,
    reading: Reading::Path(&["a block device", "an image file"], at),
};

/// A block device or an image file, by the name that the user gave it.
#[derive(Debug)]
pub(super) struct DeviceSpec {
    pub(super) path: PathBuf,
}

impl TargetKind for DeviceSpec {
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        open(&self.path, opening)
    }

    fn outlook(&self, consent: &Consent) -> Result<TargetOutlook, TargetError> {
        let privileges = "permission to open it for writing: for a device root, or its group";
        let outlook = outlook(&self.path, consent, ideal_device, privileges)?;
        Ok(TargetOutlook { takes_purge: true, ..outlook })
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn overwrites(&self, file: &Path) -> Result<bool, TargetError> {
        Ok(Inspection::of(&self.path)?.holds(file)?)
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&to_text(&self.path))
    }
}

fn at(path: &Path, metadata: &Metadata) -> Option<Arc<dyn TargetKind>> {
    if !metadata.is_file() && !metadata.file_type().is_block_device() {
        return None;
    }
    // Not the canonical path: a link by id says more than what it leads to, and what it leads to
    // may change.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Some(Arc::new(DeviceSpec { path }))
}

/// What is known of a block device or an image file, or of filesystems on one.
pub(super) fn outlook(
    path: &Path,
    consent: &Consent,
    ideal: fn(Bytes, Clock) -> Capabilities,
    privileges: &'static str,
) -> Result<TargetOutlook, TargetError> {
    let inspection = Inspection::of(path)?;
    let refusal = inspection.refusal(consent).err();
    let capacity = inspection.size();
    let ideal = ideal(capacity, Clock::Wall);
    Ok(TargetOutlook {
        capacity: Some(capacity),
        stack: Some(inspection.to_string()),
        worn: inspection.drives_size(),
        refusal: refusal.map(|error| (error.to_string(), error.hint())),
        unchecked: Some("whether another program opens it before the run does"),
        ..TargetOutlook::new(ideal, "everything on it", privileges)
    })
}

/// Inspects and claims what `path` leads to. Nothing has been overwritten yet.
fn open(path: &Path, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
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
    let drives = inspection.drives();
    let read_environment = move || {
        let mut environment = inspection.environment().unwrap_or_default();
        environment.extend(medium.environment());
        environment
    };
    Ok(OpenTarget {
        environment: read_environment(),
        read_environment: Box::new(read_environment),
        drives,
        guard: Some(guard as Rc<dyn TargetGuard>),
        ..OpenTarget::new(Form::Device(target), description)
    })
}

impl TargetGuard for Guard {
    fn check_descriptor(&self) -> Result<(), TargetError> {
        Ok(Guard::check_descriptor(self)?)
    }

    fn check(&self) -> Result<(), TargetError> {
        Ok(Guard::check(self)?)
    }
}

/// What its discards become, for the record.
pub(super) fn discard_words(target: &BlockTarget) -> &'static str {
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
