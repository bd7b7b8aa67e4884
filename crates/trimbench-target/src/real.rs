//! Real filesystems that are made on a device or an image file, as often as a method wishes.

use std::fmt;
use std::path::{Path, PathBuf};

use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Caveat};
use trimbench_linux::{
    CacheControl, FilesystemKind, Inspection, MadeFilesystems, MakeError, MakeOptions,
};

use crate::Description;
use crate::directory::cleaned_note;
use crate::opened::{Kind, OpenTarget, Opening, Provisioned};
use crate::settings::{nearest, one_of, within};
use crate::spec::TargetError;

/// What errors call it.
const OF: &str = "a filesystem on a device";
/// The settings that may follow its name.
const SETTINGS: [&str; 3] = ["mount", "memory", "cache"];
/// What separates mount options: the comma separates settings.
const OPTION_GAP: char = ';';
/// The least memory limit: buffers of the run itself take up to 256 MiB.
const MEMORY_MIN: Bytes = Bytes::mib(384);

/// A real filesystem and its device, not yet made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealSpec {
    kind: FilesystemKind,
    mount_options: Vec<String>,
    cache: CacheControl,
    path: PathBuf,
}

impl RealSpec {
    /// Reads `key=value[,key=value]...`.
    pub(crate) fn parse(
        kind: FilesystemKind,
        text: Option<&str>,
        path: PathBuf,
    ) -> Result<Self, TargetError> {
        let cache = CacheControl::default();
        let mut spec = Self { kind, mount_options: Vec::new(), cache, path };
        for part in text.into_iter().flat_map(|text| text.split(',')) {
            spec.set(part)?;
        }
        Ok(spec)
    }

    fn set(&mut self, part: &str) -> Result<(), TargetError> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let wrong = |problem: String| TargetError::Setting { of: OF, key: key.to_owned(), problem };
        match key {
            "mount" => {
                let options: Vec<String> = value.split(OPTION_GAP).map(str::to_owned).collect();
                if options.iter().any(String::is_empty) {
                    return Err(wrong("an option is empty".to_owned()));
                }
                let decided = |option: &&String| option.contains("discard");
                if let Some(option) = options.iter().find(decided) {
                    return Err(wrong(format!("`{option}` is for the method to decide")));
                }
                self.mount_options = options;
            }
            "memory" => {
                let limit = within(value, MEMORY_MIN, Bytes::gib(1 << 10)).map_err(wrong)?;
                self.cache = CacheControl::Limit(limit);
            }
            "cache" => {
                let known = [("keep", CacheControl::Keep), ("drop", CacheControl::Drop)];
                let chosen = one_of(value, &known).map_err(wrong)?;
                if matches!(self.cache, CacheControl::Limit(_)) {
                    return Err(wrong("`memory` was given, and is enough".to_owned()));
                }
                self.cache = chosen;
            }
            _ => {
                let nearest = nearest(key, &SETTINGS);
                return Err(TargetError::UnknownSetting { of: OF, key: key.to_owned(), nearest });
            }
        }
        Ok(())
    }

    /// The device or image file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Claims the device or image file. Nothing has been overwritten yet.
    pub(crate) fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let inspection = Inspection::of(&self.path)?;
        let environment = inspection.environment().unwrap_or_default();
        let (kind, cache) = (self.kind, self.cache);
        let options = MakeOptions {
            kind,
            mount_options: self.mount_options.clone(),
            cache,
            seed: opening.seed,
            interrupt: opening.interrupt.clone(),
        };
        let claimed = MadeFilesystems::claim(&inspection, opening.consent, options);
        let target = claimed.map_err(|error| match error {
            MakeError::Claim(error) => TargetError::Claim(error),
            MakeError::Provision(error) => TargetError::Provision(error),
            other => unreachable!("{other}: every reason is known"),
        })?;
        let mut identity = inspection.identity();
        identity.insert("filesystem".to_owned(), kind.id().to_owned());
        if !self.mount_options.is_empty() {
            identity.insert("mount-options".to_owned(), self.mount_options.join(","));
        }
        identity.insert("page-cache".to_owned(), cache_text(cache));
        let description = Description {
            name: format!("{} on {}", kind.id(), to_text(&self.path)),
            kind: "filesystem",
            identity,
            state: "each filesystem made anew by the method, without lazy initialisation; the \
                    device as the filesystem before left it"
                .to_owned(),
            provenance: None,
            caveats: if inspection.is_physical_ssd() {
                Vec::new()
            } else {
                vec![Caveat::NotAPhysicalSsd]
            },
        };
        Ok(OpenTarget {
            environment,
            notes: cleaned_note(target.cleaned_leftovers().len()),
            read_environment: Box::new(move || inspection.environment().unwrap_or_default()),
            ..Provisioned { target, description }.opened(Kind::Real)
        })
    }
}

impl fmt::Display for RealSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.id())?;
        if !self.mount_options.is_empty() {
            let options = self.mount_options.join(&OPTION_GAP.to_string());
            write!(formatter, ",mount={options}")?;
        }
        match self.cache {
            CacheControl::Keep => {}
            CacheControl::Drop => formatter.write_str(",cache=drop")?,
            CacheControl::Limit(limit) => write!(formatter, ",memory={limit}")?,
        }
        write!(formatter, ":{}", to_text(&self.path))
    }
}

/// For the record.
fn cache_text(cache: CacheControl) -> String {
    match cache {
        CacheControl::Keep => "kept".to_owned(),
        CacheControl::Drop => "dropped before each filesystem".to_owned(),
        CacheControl::Limit(limit) => format!("in a control group of {limit}"),
    }
}
