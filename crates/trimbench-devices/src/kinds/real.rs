//! Real filesystems on a device or an image file, made as often as a method requests.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trimbench_claim::{Consent, Inspection};
use trimbench_core::settings::{
    FromSettings as _, IfUnset, SettingError, ValueProblem, Values, one_of, optional, parsed,
    within,
};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Caveat, DrainRule, MountDiscard, settings};
use trimbench_linux::{
    CacheControl, FilesystemKind, MakeError, MakeOptions, MkfsProvisioner, drain_rule,
};

use super::attached::AttachedSpec;
use super::device::DeviceSpec;
use super::directory::{cleaned_note, limit_memory, limited_to};
use super::modelled::with_metadata;
use super::{NamedText, Reading, TargetKind, TargetKindInfo, at_path, device};
use crate::attached::AttachedTarget;
use crate::description::Description;
use crate::error::{Problem, TargetError};
use crate::opened::{Form, OpenTarget, Opening};
use crate::options;
use crate::outlook::{TargetOutlook, ideal_directory};

/// The condition of the filesystems.
const STATE: &str = "each filesystem made anew by the method, without lazy initialisation";
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
#[derive(Clone, Debug)]
struct RealSpec {
    kind: FilesystemKind,
    mount_options: Vec<String>,
    /// What the user said of memory.
    cache: Option<CacheControl>,
    below: Below,
}

/// What it is made on.
#[derive(Clone, Debug)]
enum Below {
    /// A block device or an image file.
    Path(PathBuf),
    /// A drive that is attached for it.
    Attached(Box<AttachedSpec>),
}

impl RealSpec {
    /// Reads `key=value[,key=value]...`.
    fn parse(kind: FilesystemKind, text: Option<&str>, below: Below) -> Result<Self, TargetError> {
        let values = options::settings(OF, &RealSettings::rows(), text)?;
        let RealSettings { mount, memory, cache } = RealSettings::read(&values)?;
        let cache = memory.map(CacheControl::Limit).or(cache);
        Ok(Self { kind, mount_options: mount.unwrap_or_default(), cache, below })
    }

    fn options(&self, opening: &Opening<'_>) -> MakeOptions {
        MakeOptions {
            kind: self.kind,
            mount_options: self.mount_options.clone(),
            cache: self.cache.unwrap_or_default(),
            seed: opening.seed,
            interrupt: opening.interrupt.clone(),
        }
    }

    /// What is known of the filesystems, beside what they stand on.
    fn identify(&self, identity: &mut BTreeMap<String, String>, limit: Option<Bytes>) {
        identity.insert("filesystem".to_owned(), self.kind.id().to_owned());
        if !self.mount_options.is_empty() {
            identity.insert("mount-options".to_owned(), self.mount_options.join(","));
        }
        let cache = || cache_text(self.cache.unwrap_or_default());
        identity.insert("page-cache".to_owned(), limit.map_or_else(cache, limited_to));
    }

    /// Claims the device or image file. Nothing has been overwritten yet.
    fn open_at(&self, path: &Path, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        let inspection = Inspection::of(path)?;
        let environment = inspection.environment().unwrap_or_default();
        // An image on a tmpfs would count itself.
        let on_memory = inspection.image_filesystem().as_deref() == Some("tmpfs");
        let limit = if self.cache.is_some() || on_memory { None } else { limit_memory(opening)? };
        let claimed = MkfsProvisioner::claim(&inspection, opening.consent, self.options(opening));
        let target = claimed.map_err(|error| match error {
            MakeError::Claim(error) => Problem::Claim(error),
            MakeError::Provision(error) => Problem::Provision(error),
            other => unreachable!("{other}: every reason is known"),
        })?;
        let mut identity = inspection.identity();
        self.identify(&mut identity, limit.as_ref().and(opening.memory));
        let is_physical = inspection.is_physical_ssd();
        let description = Description {
            name: format!("{} on {}", self.kind.id(), to_text(path)),
            kind: "filesystem",
            identity,
            state: format!("{STATE}; the device as the filesystem before left it"),
            provenance: None,
            calibrated_through: None,
            caveats: if is_physical { Vec::new() } else { vec![Caveat::NotAPhysicalSsd] },
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

    /// Attaches the drive.
    fn open_on(
        &self,
        drive: &AttachedSpec,
        opening: &Opening<'_>,
    ) -> Result<OpenTarget, TargetError> {
        // Before the limit of memory, in which the contents of the drive would count.
        let attached = drive.attach(opening)?;
        let limit = if self.cache.is_some() { None } else { limit_memory(opening)? };
        let (device, capacity) = (AttachedSpec::shared(&attached)?, drive.capacity());
        let target = MkfsProvisioner::on_own(device, capacity, self.options(opening))?;
        let mut identity = drive.identity();
        self.identify(&mut identity, limit.as_ref().and(opening.memory));
        let profile = drive.profile();
        let description = Description {
            name: format!("{} on {}", self.kind.id(), drive.name()),
            kind: "filesystem",
            identity,
            state: format!(
                "{STATE}; the emulated drive as new, then as the filesystem before left it"
            ),
            provenance: Some(profile.provenance),
            calibrated_through: profile.calibrated_through.clone(),
            caveats: drive.caveats(),
        };
        let node = attached.node().to_owned();
        let read_environment = move || AttachedTarget::environment(&node);
        Ok(OpenTarget {
            environment: read_environment(),
            notes: cleaned_note(target.cleaned_leftovers().len()),
            read_environment: Box::new(read_environment),
            attached: Some(attached),
            limit,
            ..OpenTarget::new(Form::Filesystems(Box::new(target)), description)
        })
    }
}

impl TargetKind for RealSpec {
    fn open(&self, opening: &Opening<'_>) -> Result<OpenTarget, TargetError> {
        match &self.below {
            Below::Path(path) => self.open_at(path, opening),
            Below::Attached(drive) => self.open_on(drive, opening),
        }
    }

    fn outlook(&self, consent: &Consent) -> Result<TargetOutlook, TargetError> {
        let privileges = "root: to attach a loop device and to mount";
        match &self.below {
            Below::Path(path) => device::outlook(path, consent, ideal_directory, privileges),
            Below::Attached(drive) => Ok(drive.outlook_as(ideal_directory, privileges)),
        }
    }

    fn is_filesystem(&self) -> bool {
        true
    }

    fn place(&self) -> Option<&Path> {
        match &self.below {
            Below::Path(path) => Some(path),
            Below::Attached(_) => None,
        }
    }

    fn memory(&self) -> Bytes {
        match &self.below {
            Below::Path(_) => Bytes(0),
            Below::Attached(drive) => drive.memory(),
        }
    }

    fn sized_for(&self, own: Option<Bytes>, space: Bytes) -> Option<Arc<dyn TargetKind>> {
        let Below::Attached(drive) = &self.below else { return None };
        let below = Below::Attached(Box::new(drive.settled(own, with_metadata(space))));
        Some(Arc::new(Self { below, ..self.clone() }))
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
        match &self.below {
            Below::Path(path) => write!(formatter, ":{}", to_text(path)),
            Below::Attached(drive) => write!(formatter, ":{drive}"),
        }
    }
}

fn read(
    text: &NamedText<'_>,
    capacity: Option<Bytes>,
) -> Result<Option<Arc<dyn TargetKind>>, TargetError> {
    let kind = FilesystemKind::ALL.into_iter().find(|kind| kind.id() == text.name);
    let kind = kind.expect("it begins with one of our names");
    if let Some(drive) = AttachedSpec::below(text.below, capacity)? {
        let below = Below::Attached(Box::new(drive));
        return Ok(Some(Arc::new(RealSpec::parse(kind, text.settings, below)?)));
    }
    let found = match at_path(text.below) {
        Ok(found) => found.as_kind().map(|found: &DeviceSpec| found.path.clone()),
        Err(Problem::Unmarked { .. } | Problem::NotATarget { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let path = found.ok_or_else(|| Problem::NothingBelow { below: text.below.to_owned() })?;
    Ok(Some(Arc::new(RealSpec::parse(kind, text.settings, Below::Path(path))?)))
}

fn cache_text(cache: CacheControl) -> String {
    match cache {
        CacheControl::Keep => "kept".to_owned(),
        CacheControl::Drop => "dropped before each filesystem".to_owned(),
        CacheControl::Limit(limit) => limited_to(limit),
    }
}
