//! The kinds of targets. Each is one file or folder here, one line of [`KINDS`], and one page,
//! `docs/targets/ID.md`. [`TargetKind`] is what a target of a kind does, [`TargetKindInfo`] how its
//! text is read.

use std::any::Any;
use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trimbench_claim::Consent;
use trimbench_core::text::from_text;
use trimbench_core::{Bytes, DrainRule};
use trimbench_ssd::BUILT_IN;

use crate::error::{Problem, TargetError};
use crate::opened::{OpenTarget, Opening};
use crate::options::EMULATED;
use crate::outlook::TargetOutlook;

mod attached;
mod device;
mod directory;
pub(crate) mod emulated;
pub(crate) mod modelled;
mod pool;
mod real;
pub(crate) mod scratch;

use emulated::EmulatedSpec;

/// Every kind, in the order of lists. Of those that share a name, the first that can reads it.
pub const KINDS: &[TargetKindInfo] = &[
    emulated::KIND,
    modelled::KIND,
    real::KIND,
    pool::KIND,
    attached::KIND,
    scratch::KIND,
    directory::KIND,
    device::KIND,
];

/// A kind of target, as it is listed and read.
#[derive(Debug)]
pub struct TargetKindInfo {
    /// Its name, and that of its page.
    pub id: &'static str,
    /// Texts, and what each means, in Markdown: the rows of the table of targets.
    pub forms: &'static [[&'static str; 2]],
    /// What its text begins with, any one of them; none where the text is a path.
    pub(crate) names: &'static [&'static str],
    /// What the hint about an unknown name says: what several targets are called, and what stands
    /// behind each name; `None` where another kind has the names, too, or there are none.
    pub(crate) hint: Option<[&'static str; 2]>,
    pub(crate) reading: Reading,
}

/// How the text of a kind is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// `NAME:`, and what the kind makes of the rest.
    Alone(ReadNamed),
    /// `NAME[,key=value]...:`, and the profile of an emulated drive.
    OverProfile(ReadNamed),
    /// `NAME[,key=value]...:`, and an emulated drive below.
    OverDrives(ReadNamed),
    /// `NAME[,key=value]...:`, and a path below.
    OverPath(ReadNamed),
    /// A path at which there is one of these; of another one, it reads nothing.
    Path(&'static [&'static str], ReadPath),
}

/// Reads a text that begins with a name of the kind, and the capacity of drives that do not say
/// theirs. `None` if another kind of that name is meant.
pub(crate) type ReadNamed =
    fn(&NamedText<'_>, Option<Bytes>) -> Result<Option<Arc<dyn TargetKind>>, TargetError>;
/// Makes a target of what is at a path.
pub(crate) type ReadPath = fn(&Path, &Metadata) -> Option<Arc<dyn TargetKind>>;

/// `NAME[,key=value]...:BELOW`, in its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedText<'a> {
    pub(crate) name: &'a str,
    pub(crate) settings: Option<&'a str>,
    pub(crate) below: &'a str,
}

/// A target of some kind, not yet opened. It prints as the text that means it, with every setting.
pub trait TargetKind: Any + fmt::Debug + fmt::Display + Send + Sync {
    /// Makes or opens the target. A block device or an image file is claimed first, so far as the
    /// consent goes; nothing is written to it yet.
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError>;

    /// What is known of it before it is open.
    fn outlook(&self, consent: &Consent) -> Result<TargetOutlook, TargetError>;

    /// Whether methods get filesystems or pools from it, which it makes anew as often as they ask.
    fn is_filesystem(&self) -> bool {
        false
    }

    /// The path that it is, or lies at; `None` for models.
    fn place(&self) -> Option<&Path> {
        None
    }

    /// When the discards of a deletion are over, on a filesystem that discards what is deleted, and
    /// a name for it; `None` elsewhere, and of models.
    fn drain(&self) -> Option<(DrainRule, String)> {
        None
    }

    /// Whether the block commands of a method would overwrite this regular file.
    fn overwrites(&self, _file: &Path) -> Result<bool, TargetError> {
        Ok(false)
    }

    /// The emulated drive that it is, or stands on.
    fn emulated_drive(&self) -> Option<&EmulatedSpec> {
        None
    }

    /// Memory that the tables of its emulated drives take; none on a real target.
    fn memory(&self) -> Bytes {
        self.emulated_drive().map_or(Bytes(0), EmulatedSpec::memory)
    }

    /// The same with the capacity of emulated drives settled for files or blocks of `space` bytes:
    /// as asked for, else `own`, which is the method's, else the profile's. `None` without emulated
    /// drives.
    fn sized_for(&self, _own: Option<Bytes>, _space: Bytes) -> Option<Arc<dyn TargetKind>> {
        None
    }

    /// What the drives of a pool hold together of so many bytes of files, with parity, and how many
    /// they are; `None` of what is no pool.
    fn with_parity(&self, _files: Bytes) -> Option<(Bytes, usize)> {
        None
    }
}

impl dyn TargetKind {
    /// The target, if it is of this kind.
    pub fn as_kind<K: TargetKind>(&self) -> Option<&K> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

impl TargetKindInfo {
    /// Reads the text, if it is of this kind, and not a path.
    pub(crate) fn read(
        &self,
        text: &str,
        capacity: Option<Bytes>,
    ) -> Result<Option<Arc<dyn TargetKind>>, TargetError> {
        let text = NamedText::of(text).filter(|text| self.names.contains(&text.name));
        match (self.reading, text) {
            (Reading::Alone(read), Some(text)) if text.settings.is_none() => read(&text, capacity),
            (
                Reading::OverProfile(read) | Reading::OverDrives(read) | Reading::OverPath(read),
                Some(text),
            ) => read(&text, capacity),
            _ => Ok(None),
        }
    }

    /// Whether its text has another target behind the name and its settings.
    pub(crate) fn is_layer(&self) -> bool {
        matches!(self.reading, Reading::OverDrives(_) | Reading::OverPath(_))
    }
}

impl<'a> NamedText<'a> {
    /// `None` without a colon.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let (head, below) = text.split_once(':')?;
        let (name, settings) = match head.split_once(',') {
            Some((name, settings)) => (name, Some(settings)),
            None => (head, None),
        };
        Some(Self { name, settings, below })
    }
}

/// What is at a path.
pub(crate) fn at_path(text: &str) -> Result<Arc<dyn TargetKind>, Problem> {
    let path = PathBuf::from(from_text(text));
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(_) if BUILT_IN.iter().any(|profile| profile.name == text) => {
            return Err(Problem::Unmarked { name: text.to_owned() });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Problem::Missing { path, known: at_paths() });
        }
        Err(error) => return Err(Problem::Unreachable { path, error }),
    };
    let found = KINDS.iter().find_map(|kind| match kind.reading {
        Reading::Path(_, read) => read(&path, &metadata),
        _ => None,
    });
    found.ok_or_else(|| Problem::NotATarget { path, known: at_paths() })
}

/// What the path of a target may lead to.
fn at_paths() -> Vec<&'static str> {
    let things = KINDS.iter().filter_map(|kind| match kind.reading {
        Reading::Path(things, _) => Some(things),
        _ => None,
    });
    things.flatten().copied().collect()
}

/// The kinds that have names, and how their texts are written.
pub(crate) fn known_names() -> String {
    let kinds = KINDS.iter().filter_map(|kind| Some((kind.names, kind.hint?))).enumerate();
    let kinds = kinds.map(|(index, (names, [plural, behind]))| {
        let are = if index == 0 { " are" } else { "" };
        let texts: Vec<String> = names.iter().map(|name| format!("`{name}{behind}`")).collect();
        format!("{plural}{are} {}", texts.join(", "))
    });
    format!("{}; anything else is a path", kinds.collect::<Vec<_>>().join(", "))
}

/// How a text may begin that is no path: all that comes before the name of an emulated drive.
pub fn target_prefixes() -> impl Iterator<Item = String> {
    KINDS.iter().flat_map(|kind| {
        let behind = match kind.reading {
            Reading::Alone(_) | Reading::OverProfile(_) => Some(":".to_owned()),
            Reading::OverDrives(_) => Some(format!(":{EMULATED}")),
            Reading::OverPath(_) | Reading::Path(..) => None,
        };
        let names = kind.names.iter();
        behind
            .into_iter()
            .flat_map(move |behind| names.clone().map(move |name| format!("{name}{behind}")))
    })
}
