//! Scratch images: files without a name that are made in a directory, measured like drives and gone
//! afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use trimbench_claim::inspect::environment;
use trimbench_claim::{Consent, Inspection, ScratchError, ScratchGuard, ScratchImage};
use trimbench_core::settings::{FromSettings as _, IfUnset, optional, within};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Clock, Drive as _, settings};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget, DirectoryTarget};

use super::device::discard_words;
use super::directory::{DirectorySpec, identity, promised_notes};
use super::{Reading, TargetKind, TargetKindInfo, at_path};
use crate::description::Description;
use crate::error::{KindProblem, Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening, TargetGuard};
use crate::options;
use crate::outlook::{TargetOutlook, ideal_device};

/// What it is called on the command line.
const SCRATCH: &str = "scratch";
const OF: &str = "a scratch image";
/// No method fits into less.
const SIZE_MIN: Bytes = Bytes::mib(16);
const SIZE_DEFAULT: Bytes = Bytes::gib(1);

/// Scratch images.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "scratch",
    forms: &[[
        "`scratch,size=1GiB:DIRECTORY`",
        "a scratch image: a file without a name, made in the directory and measured like a drive; \
         gone with the program. Nothing is destroyed",
    ]],
    names: &[SCRATCH],
    hint: Some(["scratch images", ",size=1GiB:DIRECTORY"]),
    reading: Reading::OverPath(|text, _| {
        let found = at_path(text.below)?;
        let directory = found.as_kind().map(|found: &DirectorySpec| found.path.clone());
        let below = || NoDirectoryBelow { below: text.below.to_owned() };
        let spec = ScratchSpec::parse(text.settings, directory.ok_or_else(below)?)?;
        Ok(Some(Arc::new(spec)))
    }),
};

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
    fn parse(text: Option<&str>, directory: PathBuf) -> Result<Self, TargetError> {
        let values = options::settings(OF, &ScratchSettings::rows(), text)?;
        let ScratchSettings { size } = ScratchSettings::read(&values)?;
        Ok(Self { directory, size: size.unwrap_or(SIZE_DEFAULT) })
    }

    /// One of this size in a directory.
    pub fn new(directory: PathBuf, size: Bytes) -> Self {
        Self { directory, size }
    }

    /// Its argument of `--target`: its text, with the bytes of the path as they are.
    pub fn argument(&self) -> OsString {
        let mut argument = OsString::from(format!("{SCRATCH},size={}:", self.size));
        argument.push(&self.directory);
        argument
    }

    /// What the measured image has in common with one that a resumed run makes: the filesystem and
    /// the size. The file itself is new each time.
    fn identity(
        &self,
        environment: &BTreeMap<String, String>,
        purged_by: &str,
    ) -> BTreeMap<String, String> {
        let mut identity = identity(&self.directory, environment);
        identity.insert("kind".to_owned(), "scratch image".to_owned());
        identity.insert("size-bytes".to_owned(), self.size.0.to_string());
        identity.insert("purged-by".to_owned(), purged_by.to_owned());
        identity
    }
}

impl TargetKind for ScratchSpec {
    /// Makes it.
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
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
            drives: Inspection::drives_below(directory),
            notes,
            read_environment: Box::new(move || environment(&parent).unwrap_or_default()),
            guard: Some(guard),
            ..OpenTarget::new(Form::Device(target), description)
        })
    }

    fn outlook(&self, _: &Consent) -> Result<TargetOutlook, TargetError> {
        let (directory, size) = (&self.directory, self.size);
        let room = DirectoryTarget::room_in(directory).filter(|room| *room < size);
        let refusal = room.map(|room| {
            let directory = directory.display();
            let why =
                format!("`{directory}` has room for {room}, and the image takes up to {size}");
            (why, "name a directory on a filesystem with more room".to_owned())
        });
        let destroys = "nothing: the image file is made for the run, and has no name";
        let ideal = ideal_device(size, Clock::Wall);
        Ok(TargetOutlook {
            capacity: Some(size),
            holder: "the image",
            worn: Inspection::drives_size_below(directory),
            refusal,
            ..TargetOutlook::new(ideal, destroys, "to write in the directory")
        })
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.directory)
    }
}

impl fmt::Display for ScratchSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCRATCH},size={}:{}", self.size, to_text(&self.directory))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{below}` is no directory in which a scratch image could be made")]
struct NoDirectoryBelow {
    below: String,
}

impl KindProblem for NoDirectoryBelow {
    fn hint(&self) -> Option<String> {
        Some("write for example `scratch,size=1GiB:/srv/data`".to_owned())
    }
}

impl KindProblem for ScratchError {
    fn is_usage(&self) -> bool {
        false
    }

    fn hint(&self) -> Option<String> {
        Some(self.hint().to_owned())
    }
}

impl TargetGuard for ScratchGuard {
    fn check_descriptor(&self) -> Result<(), TargetError> {
        Ok(ScratchGuard::check(self)?)
    }

    fn check(&self) -> Result<(), TargetError> {
        Ok(ScratchGuard::check(self)?)
    }
}
