//! Real filesystems on a device or an image file, made as often as a method requests.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trimbench_claim::{Consent, Inspection};
use trimbench_core::settings::{
    FromSettings as _, IfUnset, SettingError, ValueProblem, Values, one_of, optional, parsed,
    within,
};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Caveat, DrainRule, settings};
use trimbench_linux::{
    CacheControl, FilesystemKind, MakeError, MakeOptions, MkfsProvisioner, MountDiscard, drain_rule,
};

use super::device::DeviceSpec;
use super::directory::{cleaned_note, limit_memory, limited_to};
use super::{NamedText, Reading, TargetKind, TargetKindInfo, at_path, device};
use crate::description::Description;
use crate::error::{Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening};
use crate::options;
use crate::outlook::{TargetOutlook, ideal_directory};

const OF: &str = "a filesystem on a device";
const OPTION_GAP: char = ';';
/// The least memory limit: buffers of the run itself take up to 256 MiB.
const MEMORY_MIN: Bytes = Bytes::mib(384);

/// Real filesystems that are made on a block device or an image file.
pub(super) const KIND: TargetKindInfo = TargetKindInfo {
    id: "real",
    forms: &[[
        "`ext4:PATH`",
        "a real filesystem, newly made on the block device or image file; also `xfs`, `btrfs`, \
         `f2fs`. **Everything on it is lost**",
    ]],
    names: &{
        let [a, b, c, d] = FilesystemKind::ALL;
        [a.id(), b.id(), c.id(), d.id()]
    },
    hint: None,
    reading: Reading::OverPath(read),
};

settings! {
    /// The settings that may follow the name of a filesystem.
    struct RealSettings(values) {
        /// mount options, separated by `;`
        mount: Option<Vec<String>> = "mount", IfUnset::Absent,
            optional(parsed("mount options", mount_options));
        /// memory limit of the run and its page cache, {}
        memory: Option<Bytes> = "memory", IfUnset::Absent,
            optional(within(MEMORY_MIN, Bytes::gib(1 << 10)));
        /// {}: whether caches are dropped before each filesystem is made
        cache: Option<CacheControl> = "cache", IfUnset::Absent,
            optional(one_of(&[("keep", CacheControl::Keep), ("drop", CacheControl::Drop)]));
    }
    check RealSettings::check;
}

impl RealSettings {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        match (self.memory, self.cache) {
            (Some(_), Some(_)) => Err(values.wrong("cache", "`memory` was given, and is enough")),
            _ => Ok(()),
        }
    }
}

fn mount_options(text: &str) -> Result<Vec<String>, ValueProblem> {
    let options: Vec<String> = text.split(OPTION_GAP).map(str::to_owned).collect();
    if options.iter().any(String::is_empty) {
        return Err("an option is empty".into());
    }
    match options.iter().find(|option| option.contains("discard")) {
        Some(option) => Err(ValueProblem(format!("`{option}` is for the method to decide"))),
        None => Ok(options),
    }
}

/// A real filesystem and its device, not yet made.
#[derive(Debug)]
struct RealSpec {
    kind: FilesystemKind,
    mount_options: Vec<String>,
    /// What the user said of memory.
    cache: Option<CacheControl>,
    path: PathBuf,
}

impl RealSpec {
    /// Reads `key=value[,key=value]...`.
    fn parse(kind: FilesystemKind, text: Option<&str>, path: PathBuf) -> Result<Self, TargetError> {
        let values = options::settings(OF, &RealSettings::rows(), text)?;
        let RealSettings { mount, memory, cache } = RealSettings::read(&values)?;
        let cache = memory.map(CacheControl::Limit).or(cache);
        Ok(Self { kind, mount_options: mount.unwrap_or_default(), cache, path })
    }
}

impl TargetKind for RealSpec {
    /// Claims the device or image file. Nothing has been overwritten yet.
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let inspection = Inspection::of(&self.path)?;
        let environment = inspection.environment().unwrap_or_default();
        let kind = self.kind;
        // An image on a tmpfs would count itself.
        let on_memory = inspection.image_filesystem().as_deref() == Some("tmpfs");
        let limit = if self.cache.is_some() || on_memory { None } else { limit_memory(opening)? };
        let cache = self.cache.unwrap_or_default();
        let options = MakeOptions {
            kind,
            mount_options: self.mount_options.clone(),
            cache,
            seed: opening.seed,
            interrupt: opening.interrupt.clone(),
        };
        let claimed = MkfsProvisioner::claim(&inspection, opening.consent, options);
        let target = claimed.map_err(|error| match error {
            MakeError::Claim(error) => Problem::Claim(error),
            MakeError::Provision(error) => Problem::Provision(error),
            other => unreachable!("{other}: every reason is known"),
        })?;
        let mut identity = inspection.identity();
        identity.insert("filesystem".to_owned(), kind.id().to_owned());
        if !self.mount_options.is_empty() {
            identity.insert("mount-options".to_owned(), self.mount_options.join(","));
        }
        let limited = limit.as_ref().and(opening.memory).map(limited_to);
        identity.insert("page-cache".to_owned(), limited.unwrap_or_else(|| cache_text(cache)));
        let description = Description {
            name: format!("{} on {}", kind.id(), to_text(&self.path)),
            kind: "filesystem",
            identity,
            state: "each filesystem made anew by the method, without lazy initialisation; the \
                    device as the filesystem before left it"
                .to_owned(),
            provenance: None,
            calibrated_through: None,
            caveats: if inspection.is_physical_ssd() {
                Vec::new()
            } else {
                vec![Caveat::NotAPhysicalSsd]
            },
        };
        Ok(OpenTarget {
            environment,
            drives: inspection.drives(),
            notes: cleaned_note(target.cleaned_leftovers().len()),
            read_environment: Box::new(move || inspection.environment().unwrap_or_default()),
            limit,
            ..OpenTarget::new(Form::Filesystems(Box::new(target)), description)
        })
    }

    fn outlook(&self, consent: &Consent) -> Result<TargetOutlook, TargetError> {
        let privileges = "root: to attach a loop device and to mount";
        device::outlook(&self.path, consent, ideal_directory, privileges)
    }

    fn is_filesystem(&self) -> bool {
        true
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.path)
    }

    /// The method mounts it with `discard`.
    fn drain(&self) -> Option<(DrainRule, String)> {
        let name = self.kind.id();
        Some((drain_rule(name, MountDiscard::AtCommit), name.to_owned()))
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
            None => {}
            Some(CacheControl::Keep) => formatter.write_str(",cache=keep")?,
            Some(CacheControl::Drop) => formatter.write_str(",cache=drop")?,
            Some(CacheControl::Limit(limit)) => write!(formatter, ",memory={limit}")?,
        }
        write!(formatter, ":{}", to_text(&self.path))
    }
}

fn read(
    text: &NamedText<'_>,
    _: Option<Bytes>,
) -> Result<Option<Arc<dyn TargetKind>>, TargetError> {
    let kind = FilesystemKind::ALL.into_iter().find(|kind| kind.id() == text.name);
    let kind = kind.expect("it begins with one of our names");
    let found = match at_path(text.below) {
        Ok(found) => found.as_kind().map(|found: &DeviceSpec| found.path.clone()),
        Err(Problem::Unmarked { .. } | Problem::NotATarget { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let path = found.ok_or_else(|| Problem::NothingBelow { below: text.below.to_owned() })?;
    Ok(Some(Arc::new(RealSpec::parse(kind, text.settings, path)?)))
}

fn cache_text(cache: CacheControl) -> String {
    match cache {
        CacheControl::Keep => "kept".to_owned(),
        CacheControl::Drop => "dropped before each filesystem".to_owned(),
        CacheControl::Limit(limit) => limited_to(limit),
    }
}
