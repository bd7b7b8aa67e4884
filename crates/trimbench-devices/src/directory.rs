//! Directories on mounted filesystems: opened, described, closed.

use std::collections::BTreeMap;
use std::path::Path;

use trimbench_claim::inspect::environment;
use trimbench_claim::mounts::mount_of;
use trimbench_claim::room::PromisedRoom;
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Storage as _, Support};
use trimbench_linux::{DirectoryOptions, DirectoryTarget, MemoryLimit};

use crate::description::Description;
use crate::error::{Problem, TargetError};
use crate::opened::{Kind, OpenTarget, Opening};

/// Dirty pages are written from a tenth of the available memory on (`dirty_background_ratio`); of
/// files that grow to three times that, two thirds are.
const CACHED_PERCENT: u64 = 30;

/// Opens a directory of our own in `parent`, after removing what crashed runs left there.
pub(crate) fn open(parent: &Path, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
    let environment = environment(parent)?;
    let mount = mount_of(parent)?;
    let Opening { seed, space: room, .. } = *opening;
    let options = DirectoryOptions { seed, room };
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
        notes,
        read_environment: Box::new(move || {
            trimbench_claim::inspect::environment(&parent).unwrap_or_default()
        }),
        limit,
        ..OpenTarget::new(Kind::Directory(target), description)
    })
}

/// What tells a directory, and the filesystem that it lies on, from others.
pub(crate) fn identity(
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
pub(crate) fn limit_memory(opening: &Opening<'_>) -> Result<Option<MemoryLimit>, TargetError> {
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
pub(crate) fn limited_to(memory: Bytes) -> String {
    format!("in a control group of {memory}")
}

/// What other runs in the filesystem of `parent` have announced.
pub(crate) fn promised_notes(parent: &Path, promised: PromisedRoom) -> Vec<String> {
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

pub(crate) fn cleaned_note(count: usize) -> Vec<String> {
    let note = (count > 0).then(|| format!("removed what {count} crashed run(s) had left"));
    note.into_iter().collect()
}
