//! Directories on mounted filesystems: opened, described, closed.

use std::collections::BTreeMap;
use std::path::Path;

use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Support, Target as _};
use trimbench_linux::{DirectoryOptions, DirectoryTarget, environment, mount_of};

use crate::description::Description;
use crate::error::TargetError;
use crate::opened::{Kind, OpenTarget, Opening};

/// Opens a directory of our own in `parent`, after removing what crashed runs left there.
pub(crate) fn open(parent: &Path, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
    let environment = environment(parent)?;
    let mount = mount_of(parent)?;
    let Opening { seed, space: room, .. } = *opening;
    let options = DirectoryOptions { seed, room };
    let target = DirectoryTarget::open(parent, options)?;
    let mut notes = cleaned_note(target.cleaned_leftovers().len());
    let promised = target.promised_to_others();
    if promised > Bytes(0) {
        notes.push(format!(
            "{promised} of `{}` are promised to other runs that are under way in its filesystem",
            parent.display()
        ));
    }
    let keep = [
        "filesystem",
        "filesystem-bytes",
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
    identity.insert("path".to_owned(), to_text(parent));
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
        caveats: target.caveats().to_vec(),
    };
    let parent = parent.to_owned();
    Ok(OpenTarget {
        environment,
        notes,
        read_environment: Box::new(move || {
            trimbench_linux::environment(&parent).unwrap_or_default()
        }),
        ..OpenTarget::new(Kind::Directory(target), description)
    })
}

pub(crate) fn cleaned_note(count: usize) -> Vec<String> {
    let note = (count > 0).then(|| format!("removed what {count} crashed run(s) had left"));
    note.into_iter().collect()
}
