//! Directories on mounted filesystems: opened, described, closed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trimbench_claim::inspect::environment;
use trimbench_claim::mounts::mount_of;
use trimbench_claim::room::PromisedRoom;
use trimbench_claim::{Consent, Inspection};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Clock, DrainRule, Storage as _, Support};
use trimbench_linux::{DirectoryOptions, DirectoryTarget, MemoryLimit, drain_of};

use super::{Reading, TargetKind, TargetKindInfo};
use crate::description::Description;
use crate::error::{Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening};
use crate::outlook::{TargetOutlook, ideal_directory};

/// Dirty pages are written from a tenth of the available memory on (`dirty_background_ratio`); of
/// files that grow to three times that, two thirds are.
const CACHED_PERCENT: u64 = 30;

/// Directories on mounted filesystems.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "directory",
    forms: &[["a directory", "a new subdirectory, on the filesystem as it is mounted"]],
    names: &[],
    hint: None,
    reading: Reading::Path(&["a directory"], |path, metadata| {
        // The whole path, so that a run resumed elsewhere means the same place.
        let whole = || std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        metadata.is_dir().then(|| Arc::new(DirectorySpec { path: whole() }) as _)
    }),
};

/// A directory on a mounted filesystem.
#[derive(Debug)]
pub(super) struct DirectorySpec {
    pub(super) path: PathBuf,
}

impl TargetKind for DirectorySpec {
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        open(&self.path, opening)
    }

    fn outlook(&self, consent: &Consent) -> Result<TargetOutlook, TargetError> {
        let ideal = ideal_directory(Bytes(u64::MAX), Clock::Wall);
        let (destroys, privileges) = if consent.switch_mount {
            let destroys = "nothing: works in a directory of its own; the filesystem may be \
                 remounted, and is put back";
            (destroys, "root, to remount the filesystem")
        } else {
            let privileges = "to write in the directory; root for `mode=trim`";
            ("nothing: works in a directory of its own", privileges)
        };
        let room = DirectoryTarget::room_in(&self.path);
        Ok(TargetOutlook { room, ..TargetOutlook::new(ideal, destroys, privileges) })
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn drain(&self) -> Option<(DrainRule, String)> {
        drain_of(&self.path)
    }
}

impl fmt::Display for DirectorySpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&to_text(&self.path))
    }
}

/// Opens a directory of our own in `parent`, after removing what crashed runs left there.
fn open(parent: &Path, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
    let environment = environment(parent)?;
    let mount = mount_of(parent)?;
    let Opening { seed, space: room, .. } = *opening;
    let may_remount = opening.consent.switch_mount;
    let program = opening.consent.command.clone();
    let options = DirectoryOptions { seed, room, may_remount, program };
    let target = DirectoryTarget::open(parent, options)?;
    let limit = limit_memory(opening)?;
    let mut notes = cleaned_note(target.cleaned_leftovers().len());
    notes.extend(promised_notes(parent, target.promised_to_others()));
    let mut identity = identity(parent, &environment);
    if limit.is_some() {
        identity.extend(opening.memory.map(|memory| ("page-cache".to_owned(), limited_to(memory))));
    }
    let discard = match target.capabilities().discard {
        Support::None => "deletions send no discards",
        Support::Emulated | Support::Native => "deletions are discarded online",
    };
    let description = Description {
        name: to_text(parent),
        kind: "directory",
        identity,
        state: format!("as found: a mounted {} filesystem; {discard}", mount.filesystem),
        provenance: None,
        calibrated_through: None,
        caveats: target.caveats().to_vec(),
    };
    let parent = parent.to_owned();
    Ok(OpenTarget {
        environment,
        drives: Inspection::drives_below(&parent),
        notes,
        read_environment: Box::new(move || {
            trimbench_claim::inspect::environment(&parent).unwrap_or_default()
        }),
        limit,
        ..OpenTarget::new(Form::Directory(target), description)
    })
}

/// What tells a directory, and the filesystem that it lies on, from others.
pub(super) fn identity(
    directory: &Path,
    environment: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let keep = [
        "filesystem",
        "filesystem-bytes",
        "filesystem-uuid",
        "mount-point",
        "mount-options",
        "source-device",
        "device-kind",
        "model",
        "serial",
    ];
    let mut identity: BTreeMap<String, String> = keep
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), environment.get(*key)?.clone())))
        .collect();
    identity.insert("path".to_owned(), to_text(directory));
    identity
}

/// Limits the memory of this process as the method wishes, so that the page cache cannot hold its
/// files. Where that cannot be done, files that the cache would hold are refused.
pub(super) fn limit_memory(opening: &Opening<'_>) -> Result<Option<MemoryLimit>, TargetError> {
    let Some(memory) = opening.memory else { return Ok(None) };
    match MemoryLimit::set(memory) {
        Ok(limit) => Ok(Some(limit)),
        Err(error) => {
            let available = trimbench_linux::available_memory().unwrap_or(Bytes(0));
            check_cache(opening.space, available, error.reason).map(|()| None)
        }
    }
}

/// Whether files of `files` bytes at their peak are more than the page cache may keep from the
/// device.
fn check_cache(files: Bytes, available: Bytes, reason: String) -> Result<(), TargetError> {
    let needed = Bytes(available.0 / 100 * CACHED_PERCENT);
    if files >= needed {
        return Ok(());
    }
    Err(Problem::Cached { files, available, needed, reason }.into())
}

/// How the record names a limit.
pub(super) fn limited_to(memory: Bytes) -> String {
    format!("in a control group of {memory}")
}

/// What other runs in the filesystem of `parent` have announced.
pub(super) fn promised_notes(parent: &Path, promised: PromisedRoom) -> Vec<String> {
    let PromisedRoom { respected, claimed } = promised;
    let parent = parent.display();
    let respected = (respected > Bytes(0)).then(|| {
        format!("{respected} of `{parent}` are promised to other runs under way in its filesystem")
    });
    let claimed = (claimed > Bytes(0)).then(|| {
        format!(
            "another user announces that runs under way need {claimed} of the filesystem of \
             `{parent}`: it may become full"
        )
    });
    respected.into_iter().chain(claimed).collect()
}

pub(super) fn cleaned_note(count: usize) -> Vec<String> {
    let note = (count > 0).then(|| format!("removed what {count} crashed run(s) had left"));
    note.into_iter().collect()
}
