//! One session of a plan: what is known of it before anything is open.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use trimbench_core::settings::SettingError;
use trimbench_core::{Bytes, DrainRule, Nanos};
use trimbench_devices::{Consent, TargetSpec};
use trimbench_engine::{
    ASSUMED_RATE, Demand, DiscardWaits, Method, MethodDefinition as _, MethodError, MethodInfo,
    Preset, ResolvedMethod,
};
use trimbench_methods::delete_stall::DeleteStall;
use trimbench_methods::delete_storm::DeleteStorm;
use trimbench_results::PlannedSession;
use trimbench_trace::Traces as _;

use super::{methods, preset};
use crate::failure::Failure;
use crate::traces::TraceFiles;

/// The options of `delete-stall` that say what is deleted, and which deletion is asked about.
const SIZES: &str = "sizes";
const DELETES: &str = "deletes";
/// Those of `delete-storm`.
const WRITERS: &str = "writers";
const FILE_SIZE: &str = "file-size";
/// What a number without a unit may have been meant in, the likeliest first.
const USUAL_UNITS: [&str; 5] = ["s", "ms", "MiB", "GiB", "%"];

/// One method on one target, resolved.
#[derive(Clone, Debug)]
pub struct ResolvedSession {
    /// As the record has it.
    pub planned: PlannedSession,
    /// The target, which is not open.
    pub target: TargetSpec,
    /// The method, as it is listed.
    pub info: &'static MethodInfo,
    /// The method with its options.
    pub method: Arc<dyn Method>,
}

/// Waits of a session for discards, as they can be foretold.
#[derive(Clone, Debug)]
pub struct DiscardOutlook {
    /// How many, and how long they take where nobody else discards.
    pub waits: DiscardWaits,
    /// When they are over.
    pub rule: DrainRule,
    /// On whose files.
    pub files: String,
}

impl ResolvedSession {
    /// How it is called where there is little room.
    pub fn title(&self) -> String {
        let drive = self.target.emulated_drive();
        let target = drive.map_or(&self.planned.target, |drive| &drive.profile().name);
        format!("{} on {target}", self.planned.method)
    }

    /// Why its target may not be overwritten, and what to do; `None` if it may, or if nothing is.
    pub fn refusal(&self, consent: &Consent) -> Option<(String, String)> {
        match self.target.outlook(consent) {
            Ok(outlook) => outlook.refusal,
            Err(error) => {
                Some((error.to_string(), "name a block device or an image file".to_owned()))
            }
        }
    }

    /// What it takes at so many bytes a second, without a look into traces; `None` if it will be
    /// left out.
    pub fn rough_demand(&self, consent: &Consent, rate: u64) -> Option<Demand> {
        let outlook = self.target.outlook(consent).ok()?;
        self.method.fits(&outlook.ideal).ok()?;
        let of = outlook.measure();
        let on_files = self.target.is_filesystem();
        let demand = if on_files {
            self.method.demand_on_filesystems(of, rate)
        } else {
            self.method.demand(of, rate)
        };
        Some(self.with_discard_waits(demand))
    }

    /// Its waits for discards; `None` where there are none that can be foretold.
    pub(crate) fn discards(&self) -> Option<DiscardOutlook> {
        let (rule, files) = self.target.drain()?;
        let waits = self.method.discard_waits(&rule, self.target.is_filesystem());
        (waits.deletions > 0).then_some(DiscardOutlook { waits, rule, files })
    }

    pub(crate) fn with_discard_waits(&self, Demand { written, time }: Demand) -> Demand {
        let waits = self.discards().map_or(Nanos::ZERO, |it| it.waits.total());
        Demand { written, time: time.saturating_add(waits) }
    }

    /// Refuses a trace that cannot be opened, or that its own replay would overwrite.
    pub(crate) fn check_trace(&self) -> Result<(), Failure> {
        let Some(name) = self.method.trace() else { return Ok(()) };
        TraceFiles.open(name).map_err(MethodError::from)?;
        let Some(target) = self.target.place() else { return Ok(()) };
        for file in TraceFiles::paths(name) {
            if self.target.overwrites(&file)? {
                let error = anyhow::anyhow!(
                    "the trace `{}` lies on the target `{}`, which its replay would overwrite",
                    file.display(),
                    target.display()
                );
                return Err(Failure::target(error).with_hint("copy the trace to another disk"));
            }
        }
        Ok(())
    }

    /// Whether its figures rest on the time of a place of this machine, which others may use.
    pub fn rests_on_quiet(&self) -> bool {
        self.target.place().is_some() && self.method.measures_time()
    }

    /// How much there is to emulate, to begin with the longest: bytes that are written.
    pub(crate) fn weight(&self) -> u64 {
        let drive = self.target.emulated_drive();
        drive.map_or(0, |drive| self.method.demand(drive.capacity(), ASSUMED_RATE).written.0)
    }

    /// Whether the method works on its target, if that lacks nothing.
    pub(super) fn may_fit(&self, consent: &Consent) -> bool {
        self.target.outlook(consent).is_ok_and(|it| self.method.fits(&it.ideal).is_ok())
    }

    /// As a record has it, on the target that it names.
    pub(crate) fn recorded(planned: &PlannedSession, target: TargetSpec) -> Result<Self, Failure> {
        let method = methods(std::slice::from_ref(&planned.method))?[0];
        Self::new(target, method, preset(&planned.preset)?, &planned.options)
    }

    pub(super) fn new(
        target: TargetSpec,
        info: &'static MethodInfo,
        preset: Preset,
        set: &BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        let set = &*sizes_asked(info, set);
        let resolved = info.resolve(preset, set);
        let ResolvedMethod { options, method } =
            resolved.map_err(|error| wrong_setting(error, (info, preset), set))?;
        let method: Arc<dyn Method> = method.into();
        let target = target.settled(method.emulated_capacity(), method.space());
        let planned = PlannedSession {
            method: info.id.to_owned(),
            target: target.to_string(),
            preset: preset.id().to_owned(),
            options: options.to_map(),
        };
        Ok(Self { planned, target, info, method })
    }
}

/// The settings with the sizes of deletions that measure the one that is asked about, unless they
/// are set.
fn sizes_asked<'a>(
    info: &MethodInfo,
    set: &'a BTreeMap<String, String>,
) -> Cow<'a, BTreeMap<String, String>> {
    let asked: Option<Bytes> = set.get(DELETES).and_then(|text| text.parse().ok());
    let sizes = asked.and_then(|asked| match info.id {
        id if id == DeleteStall::INFO.id => Some((SIZES, DeleteStall::sizes_about(asked))),
        id if id == DeleteStorm::INFO.id => {
            let writers = set.get(WRITERS).and_then(|text| text.parse().ok());
            Some((FILE_SIZE, DeleteStorm::file_size_of(asked, writers).to_string()))
        }
        _ => None,
    });
    let Some((key, text)) = sizes.filter(|(key, _)| !set.contains_key(*key)) else {
        return Cow::Borrowed(set);
    };
    let mut set = set.clone();
    set.insert(key.to_owned(), text);
    Cow::Owned(set)
}

/// A setting that a method refuses, with the number in a unit that it takes.
fn wrong_setting(
    error: SettingError,
    (info, preset): (&MethodInfo, Preset),
    set: &BTreeMap<String, String>,
) -> Failure {
    let mut hint = format!("see `trimbench list methods --explain {}`", info.id);
    if let SettingError::Value { key, .. } = &error
        && let Some(text) = set.get(*key).filter(|text| text.parse::<f64>().is_ok())
    {
        let taken = USUAL_UNITS.iter().find(|unit| {
            let mut set = set.clone();
            set.insert((*key).to_owned(), format!("{text}{unit}"));
            info.resolve(preset, &set).is_ok()
        });
        if let Some(unit) = taken {
            hint = format!("write for example `{key}={text}{unit}`; {hint}");
        }
    }
    Failure::usage(error).with_hint(hint)
}
