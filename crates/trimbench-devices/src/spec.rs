//! The meaning of the text of `--target`.
//!
//! `sim:NAME` or `sim:FILE.toml`, with settings after commas (`sim:vendor2,capacity=32GiB`), is an
//! emulated drive. A filesystem to be made comes before the device, as the layer above it, with
//! settings of its own: `ext4,memory=2GiB:sim:NAME`. A text that begins with no name of a kind is a
//! path, and what is there decides. A path that is not UTF-8 is written as by [`to_text`].
//! [`KINDS`] has every kind.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use trimbench_core::Bytes;
use trimbench_core::nearest::nearest;
use trimbench_core::text::{from_text, to_text};
use trimbench_linux::LoadWatch;

use crate::error::{Problem, TargetError};
use crate::kinds::{KINDS, NamedText, TargetKind, at_path, known_names};
use crate::options::EMULATED;

#[cfg(test)]
mod tests;

/// A target, not yet opened. What it is and does is its kind's: [`TargetKind`].
#[derive(Clone, Debug)]
pub struct TargetSpec(Arc<dyn TargetKind>);

impl TargetSpec {
    /// The text of an argument, which may be a path of any bytes, behind a filesystem or not: as
    /// [`parse`](Self::parse) reads it and records have it.
    pub fn text_of(argument: &OsStr) -> String {
        let bytes = argument.as_bytes();
        let path = |bytes| to_text(OsStr::from_bytes(bytes));
        let colon = bytes.iter().position(|byte| *byte == b':');
        let parts = colon.map(|colon| (&bytes[..colon], &bytes[colon + 1..]));
        match parts.and_then(|(head, below)| Some((std::str::from_utf8(head).ok()?, below))) {
            Some((head, below)) if is_layer(head) => format!("{head}:{}", path(below)),
            _ => path(bytes),
        }
    }

    /// Reads the text; `capacity` is what `--capacity` says for emulated drives that do not say it
    /// themselves.
    pub fn parse(text: &str, capacity: Option<Bytes>) -> Result<Self, TargetError> {
        for kind in KINDS {
            if let Some(target) = kind.read(text, capacity)? {
                return Ok(Self(target));
            }
        }
        check_name(text)?;
        Ok(Self(at_path(text)?))
    }

    /// Whether a path is on the filesystem that holds the directory or the image file.
    pub fn shares_filesystem_with(&self, path: &Path) -> bool {
        let Some(own) = self.place() else { return false };
        let filesystem = |path: &Path| {
            let metadata = std::fs::metadata(path).ok()?;
            (metadata.is_dir() || metadata.is_file()).then(|| metadata.dev())
        };
        filesystem(own).is_some_and(|own| filesystem(path) == Some(own))
    }

    /// Looks at what others do with the storage below it; `None` for models, which nobody else has.
    pub fn load_watch(&self) -> Option<LoadWatch> {
        Some(LoadWatch::of(self.place()?))
    }

    /// The same with the capacity of emulated drives settled: [`TargetKind::sized_for`].
    #[must_use]
    pub fn settled(self, own: Option<Bytes>, space: Bytes) -> Self {
        self.sized_for(own, space).map_or(self, Self)
    }
}

impl Deref for TargetSpec {
    type Target = dyn TargetKind;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for TargetSpec {
    /// The text that means this target, with every setting.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Whether it names what is to be made on or in what follows, with settings or without.
fn is_layer(head: &str) -> bool {
    let name = head.split(',').next().unwrap_or(head);
    KINDS.iter().any(|kind| kind.is_layer() && kind.names.contains(&name))
}

/// Refuses a name that no kind has. A path may hold a colon, but not `:sim:`; and a word before the
/// colon of a path that does not exist was meant as a name.
fn check_name(text: &str) -> Result<(), Problem> {
    let Some(NamedText { name, below, .. }) = NamedText::of(text) else { return Ok(()) };
    let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_path = std::fs::symlink_metadata(from_text(text)).is_ok();
    if !below.starts_with(EMULATED) && (!is_word || is_path) {
        return Ok(());
    }
    let known = KINDS.iter().flat_map(|kind| kind.names).copied();
    // ZFS is the pool that is modelled; XFS, the nearest name, is something else.
    let nearest = if name == "zfs" { None } else { nearest(name, known) };
    let nearest = nearest.map(str::to_owned);
    Err(Problem::UnknownKind { name: name.to_owned(), nearest, known: known_names() })
}
