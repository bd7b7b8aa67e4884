//! Directories on mounted filesystems: opened, described, closed.

use std::collections::BTreeMap;
use std::path::Path;

use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Caveat, Support, Target};
use trimbench_linux::{DirectoryOptions, DirectoryTarget, environment, mount_of};

use crate::Description;
use crate::spec::TargetError;

/// A directory that is ready to be measured in.
#[derive(Debug)]
pub struct ProvisionedDirectory {
    /// The directory, with one of its own below it.
    pub target: DirectoryTarget,
    /// What it is.
    pub description: Description,
    /// The machine's settings, read before anything was measured.
    pub environment: BTreeMap<String, String>,
    /// Leftovers of crashed runs that were removed.
    pub cleaned: usize,
    /// Room in the filesystem that was promised to other runs.
    pub promised: Bytes,
}

/// Opens a directory of our own in `parent`, whose files take `room` at the most; their content is
/// made from `seed`.
pub fn provision_directory(
    parent: &Path,
    seed: u64,
    room: Bytes,
) -> Result<ProvisionedDirectory, TargetError> {
    let environment = environment(parent)?;
    let mount = mount_of(parent)?;
    let options = DirectoryOptions { seed, room, ..DirectoryOptions::default() };
    let target = DirectoryTarget::open(parent, options)?;
    let cleaned = target.cleaned_leftovers().len();
    let promised = target.promised_to_others();
    let caveats: Vec<Caveat> = target.caveats().to_vec();
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
        caveats,
    };
    Ok(ProvisionedDirectory { target, description, environment, cleaned, promised })
}
