//! Scratch images: files without a name that are made in a directory, measured like drives and gone
//! afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use trimbench_claim::ScratchImage;
use trimbench_claim::inspect::environment;
use trimbench_core::settings::{FromSettings as _, IfUnset, optional, within};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Drive as _, settings};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget};

use crate::description::Description;
use crate::device::discard_words;
use crate::directory::promised_notes;
use crate::error::{Problem, TargetError};
use crate::opened::{Kind, OpenTarget, Opening, TargetGuard};
use crate::options;

/// What it is called on the command line.
pub(crate) const SCRATCH: &str = "scratch";
const OF: &str = "a scratch image";
/// No method fits into less.
const SIZE_MIN: Bytes = Bytes::mib(16);
const SIZE_DEFAULT: Bytes = Bytes::gib(1);

settings! {
    /// The settings that may follow `scratch`.
    struct ScratchSettings(values) {
        /// size of the image, {}; 1GiB if it is not set
        size: Option<Bytes> = "size", IfUnset::Absent,
            optional(within(SIZE_MIN, Bytes::gib(1 << 14)));
    }
}

/// A scratch image, not yet made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScratchSpec {
    directory: PathBuf,
    size: Bytes,
}

impl ScratchSpec {
    /// Reads `key=value[,key=value]...`.
    pub(crate) fn parse(text: Option<&str>, directory: PathBuf) -> Result<Self, TargetError> {
        let values = options::settings(OF, &ScratchSettings::rows(), text)?;
        let ScratchSettings { size } = ScratchSettings::read(&values)?;
        Ok(Self { directory, size: size.unwrap_or(SIZE_DEFAULT) })
    }

    /// One of this size in a directory.
    pub fn new(directory: PathBuf, size: Bytes) -> Self {
        Self { directory, size }
    }

    /// The directory on whose filesystem it is made.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it holds.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Its argument of `--target`: its text, with the bytes of the path as they are.
    pub fn argument(&self) -> OsString {
        let mut argument = OsString::from(format!("{SCRATCH},size={}:", self.size));
        argument.push(&self.directory);
        argument
    }

    /// Makes it.
    pub(crate) fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let directory = &self.directory;
        let unusable = |error| Problem::Block { path: directory.clone(), error };
        let found = environment(directory)?;
        let (file, guard) = ScratchImage::create(directory, self.size)?.into_parts();
        let notes = promised_notes(directory, guard.promised_to_others());
        let options = BlockOptions { seed: opening.seed, ..BlockOptions::default() };
        let target = BlockMedium::of(file).and_then(|medium| BlockTarget::new(medium, options));
        let target = target.map_err(unusable)?;
        let description = Description {
            name: self.to_string(),
            kind: "image",
            identity: self.identity(&found, target.purge_means().id()),
            state: format!("a new file without content; {}", discard_words(&target)),
            provenance: None,
            calibrated_through: None,
            caveats: target.caveats().to_vec(),
        };
        let parent = directory.clone();
        let guard: Rc<dyn TargetGuard> = Rc::new(guard);
        Ok(OpenTarget {
            environment: found,
            notes,
            read_environment: Box::new(move || environment(&parent).unwrap_or_default()),
            guard: Some(guard),
            ..OpenTarget::new(Kind::Device(target), description)
        })
    }

    /// What the measured image has in common with one that a resumed run makes: the filesystem and
    /// the size. The file itself is new each time.
    fn identity(
        &self,
        environment: &BTreeMap<String, String>,
        purged_by: &str,
    ) -> BTreeMap<String, String> {
        let mut identity = crate::directory::identity(&self.directory, environment);
        identity.insert("kind".to_owned(), "scratch image".to_owned());
        identity.insert("size-bytes".to_owned(), self.size.0.to_string());
        identity.insert("purged-by".to_owned(), purged_by.to_owned());
        identity
    }
}

impl fmt::Display for ScratchSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCRATCH},size={}:{}", self.size, to_text(&self.directory))
    }
}
