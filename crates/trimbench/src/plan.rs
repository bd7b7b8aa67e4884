//! Turns arguments into a plan: everything that decides what is done, resolved, checked and
//! printable.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trimbench_core::nearest::{by_likeness, did_you_mean, nearest};
use trimbench_core::settings::SettingError;
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Clock, Nanos};
use trimbench_devices::{Consent, PurgeChoice, TargetSpec, holds_file};
use trimbench_engine::quiet::WINDOW;
use trimbench_engine::{
    ASSUMED_RATE, Demand, Method, MethodDefinition as _, MethodError, MethodInfo, Preset,
    ResolvedMethod,
};
use trimbench_methods::delete_stall::DeleteStall;
use trimbench_methods::postmark::Postmark;
use trimbench_methods::{BY_NAME_ONLY, METHODS};
use trimbench_results::limits::LimitError;
use trimbench_results::{Action, Limit, Metric, PlannedSession, VerdictLimit, VerdictLimitError};
use trimbench_ssd::BUILT_IN;
use trimbench_trace::Traces as _;

use crate::args::{QuietArgs, RunArgs};
use crate::failure::Failure;
use crate::ideal::ideal_device;
use crate::misuse::means_all;
use crate::trace::TraceFiles;
use timed_by::TimedBy;

mod timed_by;

/// Emulated drives of a run without `--target`: the first of the built-in profiles.
const DEFAULT_DRIVES: usize = 4;
/// What is made on them for methods on files.
const DEFAULT_FILESYSTEM: &str = "ext4";

/// The options of `delete-stall` that say what is deleted, and which deletion is asked about.
const SIZES: &str = "sizes";
const DELETES: &str = "deletes";

/// What a number without a unit may have been meant in, the likeliest first.
const USUAL_UNITS: [&str; 5] = ["s", "ms", "MiB", "GiB", "%"];
/// So many names are proposed for one that is not known.
const NEAREST: usize = 8;

/// One method on one target, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) planned: PlannedSession,
    pub(crate) target: TargetSpec,
    pub(crate) info: &'static MethodInfo,
    pub(crate) method: Arc<dyn Method>,
}

/// All that will be done.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// The targets that were named, as a job file has them: paths are absolute. None of a run on
    /// the default drives, or of a resumed run.
    pub(crate) targets: Vec<String>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) limits: Vec<Limit>,
    /// Verdicts that must be, or must not be.
    pub(crate) verdicts: Vec<VerdictLimit>,
    /// What the methods themselves demand of a drive; nothing is said of those that hold.
    pub(crate) demands: Vec<Limit>,
    /// What may be destroyed. Never in the record: a resumed run is told again.
    pub(crate) consent: Consent,
    /// How block devices are purged.
    pub(crate) purge: PurgeChoice,
    /// What is done about others who use a real target.
    pub(crate) others: QuietArgs,
    /// Bytes a second that targets are assumed to read and write.
    pub(crate) assumed_rate: u64,
    /// An earlier run that forecasts of time go by.
    pub(crate) timed_by: TimedBy,
    /// How many emulated drives are measured at a time, at least one.
    pub(crate) jobs: usize,
    /// The methods were named: one that does not fit its target is an error then, and left out
    /// otherwise.
    pub(crate) named: bool,
}

impl Plan {
    /// Resolves the arguments of a new run.
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Failure> {
        let preset = preset(&args.preset)?;
        let methods = methods(&args.methods())?;
        let set = settings(&args.settings(), &methods)?;
        let sessions = if args.targets().is_empty() {
            on_default_targets(args, &methods, preset, &set)?
        } else {
            on_named_targets(args, &methods, preset, &set)?
        };
        let destroys = sessions.iter().any(|session| session.target.emulated_drive().is_none());
        if let (Some(path), false) = (args.destroy.first(), destroys) {
            let error = anyhow::anyhow!(
                "`--destroy {}`, and no `--target` is a block device or an image file",
                path.display()
            );
            return Err(Failure::usage(error).with_hint("name it with `--target` as well"));
        }
        let targets = named_targets(args, &sessions);
        let named = !args.methods().is_empty();
        Ok(Self { targets, named, ..Self::of(args.seed, sessions, args)? })
    }

    /// Whether a session is on something that is no model.
    pub(crate) fn has_real_targets(&self) -> bool {
        self.sessions.iter().any(|session| session.target.emulated_drive().is_none())
    }

    /// Refuses traces that cannot be replayed, before anything is begun.
    pub(crate) fn check_traces(&self) -> Result<(), Failure> {
        self.sessions.iter().try_for_each(Session::check_trace)
    }

    /// The plan of a recorded run, from its record.
    pub(crate) fn recorded(
        seed: u64,
        planned: &[PlannedSession],
        args: &RunArgs,
    ) -> Result<Self, Failure> {
        // Reading a profile takes longer than all else: once for each target.
        let mut targets = BTreeMap::<&str, TargetSpec>::new();
        let mut sessions = Vec::new();
        for session in planned {
            let target = match targets.get(session.target.as_str()) {
                Some(target) => target.clone(),
                None => TargetSpec::parse(&session.target, None)?,
            };
            targets.insert(&session.target, target.clone());
            sessions.push(Session::recorded(session, target)?);
        }
        Self::of(seed, sessions, args)
    }

    /// These sessions, whose targets and methods nobody named.
    fn of(seed: u64, sessions: Vec<Session>, args: &RunArgs) -> Result<Self, Failure> {
        let (verdicts, texts) = verdict_limits(&args.limits)?;
        let (limits, demands) = limits(&texts, &sessions)?;
        let (consent, assumed_rate) = (consent(args), assumed_rate(args)?);
        let timed_by = match &args.timed_by {
            Some(directory) => TimedBy::read(directory, &consent, assumed_rate)?,
            None => TimedBy::default(),
        };
        Ok(Self {
            seed,
            targets: Vec::new(),
            sessions,
            limits,
            verdicts,
            demands,
            consent,
            purge: args.purge,
            others: args.others,
            assumed_rate,
            timed_by,
            jobs: jobs(args.jobs),
            named: false,
        })
    }

    /// How long it is looked for other load before a session, where the target is quiet.
    pub(crate) fn look_time(&self, session: &Session) -> Nanos {
        if self.others.looks() && session.rests_on_quiet() { WINDOW } else { Nanos::ZERO }
    }

    /// What a session takes, in the time that an earlier run makes likely.
    pub(crate) fn paced(&self, session: &Session, demand: Demand) -> Demand {
        let pace = self.timed_by.pace(&session.planned);
        let time = pace.map(|pace| Nanos::from_seconds(demand.time.seconds() * pace));
        Demand { time: time.unwrap_or(demand.time), ..demand }
    }
}

impl Session {
    /// Refuses a trace that cannot be opened, or that its own replay would overwrite.
    pub(crate) fn check_trace(&self) -> Result<(), Failure> {
        let Some(name) = self.method.trace() else { return Ok(()) };
        TraceFiles.open(name).map_err(MethodError::from)?;
        let TargetSpec::Device(target) = &self.target else { return Ok(()) };
        for file in TraceFiles::paths(name) {
            if holds_file(target, &file)? {
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

    /// Whether its figures rest on the time of a real target, which others may use.
    pub(crate) fn rests_on_quiet(&self) -> bool {
        self.target.emulated_drive().is_none() && self.method.measures_time()
    }

    /// How much there is to emulate, to begin with the longest: bytes that are written.
    pub(crate) fn weight(&self) -> u64 {
        let drive = self.target.emulated_drive();
        drive.map_or(0, |drive| self.method.demand(drive.capacity(), ASSUMED_RATE).written.0)
    }

    /// Whether the method works on devices that lack nothing.
    fn fits_devices(&self) -> bool {
        let ideal = match self.target.emulated_drive() {
            Some(drive) => ideal_device(drive.capacity(), Clock::Virtual),
            None => ideal_device(Bytes(u64::MAX), Clock::Wall),
        };
        self.method.fits(&ideal).is_ok()
    }

    /// As a record has it, on the target that it names.
    pub(crate) fn recorded(planned: &PlannedSession, target: TargetSpec) -> Result<Self, Failure> {
        let method = methods(std::slice::from_ref(&planned.method))?[0];
        Self::new(target, method, preset(&planned.preset)?, &planned.options)
    }

    fn new(
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
    let is_open = info.id == DeleteStall::INFO.id && !set.contains_key(SIZES);
    let asked = set.get(DELETES).filter(|_| is_open).and_then(|text| text.parse().ok());
    let Some(asked) = asked else { return Cow::Borrowed(set) };
    let mut set = set.clone();
    set.insert(SIZES.to_owned(), DeleteStall::sizes_about(asked));
    Cow::Owned(set)
}

/// Each method on each target that the user named.
fn on_named_targets(
    args: &RunArgs,
    methods: &[&'static MethodInfo],
    preset: Preset,
    set: &BTreeMap<String, String>,
) -> Result<Vec<Session>, Failure> {
    let texts: Vec<String> = args.targets().iter().map(|text| TargetSpec::text_of(text)).collect();
    let mut sessions = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        if texts[..index].contains(text) {
            let error = anyhow::anyhow!("`--target {text}` is given twice");
            let hint = "leave one out: a run measures each target once";
            return Err(Failure::usage(error).with_hint(hint));
        }
        let target = TargetSpec::parse(text, args.capacity)?;
        for method in methods {
            sessions.push(Session::new(target.clone(), method, preset, set)?);
        }
    }
    Ok(sessions)
}

/// Each target that was named, once, as its sessions have it.
fn named_targets(args: &RunArgs, sessions: &[Session]) -> Vec<String> {
    if args.targets().is_empty() {
        return Vec::new();
    }
    let mut names: Vec<String> =
        sessions.iter().map(|session| session.target.to_string()).collect();
    names.dedup();
    names
}

/// Each method on the emulated drives of a run without `--target`. Methods on files get a
/// filesystem that is made on the drive.
fn on_default_targets(
    args: &RunArgs,
    methods: &[&'static MethodInfo],
    preset: Preset,
    set: &BTreeMap<String, String>,
) -> Result<Vec<Session>, Failure> {
    let mut sessions = Vec::new();
    for drive in &BUILT_IN[..DEFAULT_DRIVES] {
        for method in methods {
            let on = |text: String| {
                let target = TargetSpec::parse(&text, args.capacity)?;
                Session::new(target, method, preset, set)
            };
            let on_drive = on(format!("sim:{}", drive.name))?;
            let session = if on_drive.fits_devices() {
                on_drive
            } else {
                on(format!("{DEFAULT_FILESYSTEM}:sim:{}", drive.name))?
            };
            sessions.push(session);
        }
    }
    Ok(sessions)
}

/// The parameters of a recorded session of `postmark`; `None` for another method's.
pub(crate) fn postmark_of(planned: &PlannedSession) -> Result<Option<Postmark>, Failure> {
    if planned.method != Postmark::INFO.id {
        return Ok(None);
    }
    let preset = preset(&planned.preset)?;
    Ok(Some(Postmark::resolve(preset, &planned.options)?))
}

/// As asked for, else one for each processor.
pub(crate) fn jobs(asked: Option<u32>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(processors, |jobs| jobs as usize)
}

fn assumed_rate(args: &RunArgs) -> Result<u64, Failure> {
    match args.assumed_rate {
        None => Ok(ASSUMED_RATE),
        Some(Bytes(0)) => {
            let error = anyhow::anyhow!("`--assumed-rate 0`: nothing would ever be done");
            Err(Failure::usage(error).with_hint("give what the drive writes a second, as `500MB`"))
        }
        Some(Bytes(rate)) => Ok(rate),
    }
}

/// A relative name that is that of a target in the same command means the same file today.
fn consent(args: &RunArgs) -> Consent {
    let targets = args.targets();
    let is_named = |path: &Path| {
        targets.iter().any(|target| {
            let (target, path) = (target.as_bytes(), path.as_os_str().as_bytes());
            target.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with(b":"))
        })
    };
    let absolute = |path: &PathBuf| {
        let whole = std::path::absolute(path).ok().filter(|_| is_named(path));
        whole.unwrap_or_else(|| path.clone())
    };
    Consent {
        destroy: args.destroy.iter().map(absolute).collect(),
        signatures: args.overwrite_signature.clone(),
        sole_user: args.sole_user,
    }
}

fn preset(id: &str) -> Result<Preset, Failure> {
    Preset::from_id(id).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::id);
        unknown("preset", id, &names)
    })
}

fn methods(ids: &[String]) -> Result<Vec<&'static MethodInfo>, Failure> {
    if ids.is_empty() {
        return Ok(METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id)).collect());
    }
    if let Some(twice) = ids.iter().enumerate().find(|(index, id)| ids[..*index].contains(id)) {
        let error = anyhow::anyhow!("method `{}` is given twice", twice.1);
        let hint = "leave one out: a run measures each method once on each target";
        return Err(Failure::usage(error).with_hint(hint));
    }
    let find = |id: &String| {
        if let Some(hint) = means_all(id) {
            return Err(
                Failure::usage(anyhow::anyhow!("there is no method `{id}`")).with_hint(hint)
            );
        }
        METHODS.iter().find(|method| method.id == id).ok_or_else(|| {
            let names: Vec<&str> = METHODS.iter().map(|method| method.id).collect();
            unknown("method", id, &names)
        })
    };
    ids.iter().map(find).collect()
}

/// An unknown name, with the nearest known one and all of them.
pub(crate) fn unknown(kind: &str, given: &str, known: &[&str]) -> Failure {
    let meant = nearest(given, known.iter().copied());
    Failure::usage(anyhow::anyhow!("there is no {kind} `{given}`{}", did_you_mean(meant)))
        .with_hint(format!("{kind}s: {}", known.join(", ")))
}

/// `--set KEY=VALUE`, each key known to one of the methods.
fn settings(
    texts: &[OsString],
    methods: &[&'static MethodInfo],
) -> Result<BTreeMap<String, String>, Failure> {
    let mut set = BTreeMap::new();
    for argument in texts {
        let Some((key, value)) = key_and_value(argument) else {
            let error = anyhow::anyhow!("`--set {}` is not `KEY=VALUE`", argument.display());
            return Err(Failure::usage(error).with_hint("write for example `--set window=10s`"));
        };
        if !methods.iter().flat_map(|method| keys(method)).any(|known| known == key) {
            return Err(unknown_option(key, methods));
        }
        if set.insert(key.to_owned(), value).is_some() {
            let error = anyhow::anyhow!("`--set {key}` is given twice");
            return Err(Failure::usage(error).with_hint("leave one out"));
        }
    }
    Ok(set)
}

/// The value may be a path of any bytes.
fn key_and_value(argument: &OsStr) -> Option<(&str, String)> {
    let bytes = argument.as_bytes();
    let sign = bytes.iter().position(|byte| *byte == b'=')?;
    let key = std::str::from_utf8(&bytes[..sign]).ok()?;
    Some((key, to_text(OsStr::from_bytes(&bytes[sign + 1..]))))
}

fn keys(method: &MethodInfo) -> impl Iterator<Item = &'static str> + use<> {
    (method.options)().into_iter().map(|option| option.key)
}

/// An option that none of the methods has, with those of the method that it was probably meant for.
fn unknown_option(key: &str, methods: &[&'static MethodInfo]) -> Failure {
    if let Some(other) = METHODS.iter().find(|method| keys(method).any(|known| known == key)) {
        let error =
            anyhow::anyhow!("`{key}` is an option of `{}`, which is not in this run", other.id);
        let mut hint = format!("run `{}` as well, or leave the option out", other.id);
        if let [only] = methods {
            let list = format!("`trimbench list methods --explain {}`", only.id);
            hint = format!("{hint}; {list} lists those of `{}`", only.id);
        }
        return Failure::usage(error).with_hint(hint);
    }
    let meant = nearest(key, methods.iter().flat_map(|method| keys(method)));
    let concerned = match (meant, methods) {
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(meant), _) => methods.iter().find(|method| keys(method).any(|key| key == meant)),
    };
    let hint = concerned.map_or_else(
        || "`trimbench list methods --explain METHOD` lists the options of a method".to_owned(),
        |method| {
            let keys = by_likeness(key, keys(method)).join(", ");
            format!("options of `{}`, the nearest first: {keys}", method.id)
        },
    );
    Failure::usage(anyhow::anyhow!("there is no option `{key}`{}", did_you_mean(meant)))
        .with_hint(hint)
}

/// The method that has several limits under this name, and they.
fn named_limits(name: &str) -> Option<(&'static str, &'static [&'static str])> {
    let of = |method: &'static MethodInfo| {
        let found = method.named_limits.iter().find(|(known, _)| *known == name)?;
        Some((method.id, found.1))
    };
    METHODS.iter().find_map(of)
}

/// The limits on verdicts among those that were given, and the others.
fn verdict_limits(texts: &[String]) -> Result<(Vec<VerdictLimit>, Vec<String>), Failure> {
    let (verdicts, others): (Vec<String>, Vec<String>) =
        texts.iter().cloned().partition(|text| VerdictLimit::is_meant(text));
    let read = |text: &String| {
        text.parse().map_err(|error: VerdictLimitError| {
            let hint = match &error {
                VerdictLimitError::Unknown { id, .. } => {
                    let known: Vec<String> = VerdictLimit::known().collect();
                    let mut nearest = by_likeness(id, known.iter().map(String::as_str));
                    nearest.truncate(NEAREST);
                    let answers = Action::IDS.join(", ");
                    format!(
                        "the answers are {answers}; of all verdicts the nearest: {}, ...",
                        nearest.join(", ")
                    )
                }
                _ => "write for example `--limit verdict!=do-not-trim`".to_owned(),
            };
            Failure::usage(error).with_hint(hint)
        })
    };
    Ok((verdicts.iter().map(read).collect::<Result<_, _>>()?, others))
}

/// `--limit`, each naming a figure that one of the sessions finds; and what the methods themselves
/// demand.
fn limits(texts: &[String], sessions: &[Session]) -> Result<(Vec<Limit>, Vec<Limit>), Failure> {
    let metrics: Vec<Metric> =
        sessions.iter().flat_map(|session| session.method.metrics()).collect();
    let read = |text: &str| -> Result<Limit, Failure> {
        let limit: Limit = text.parse().map_err(wrong_limit)?;
        limit.check_metrics(&metrics).map_err(wrong_limit)?;
        Ok(limit)
    };
    let mut limits = Vec::new();
    for text in texts {
        let Some((method, members)) = named_limits(text) else {
            limits.push(read(text)?);
            continue;
        };
        if !sessions.iter().any(|session| session.planned.method == method) {
            let error = anyhow::anyhow!(
                "`--limit {text}` limits figures of `{method}`, which is not in this run"
            );
            return Err(Failure::usage(error).with_hint(format!("run `{method}` as well")));
        }
        for member in members {
            limits.push(read(member)?);
        }
    }
    let mut demands: Vec<Limit> = Vec::new();
    for text in sessions.iter().flat_map(|session| session.method.built_in_limits()) {
        let demand = read(&text)?;
        if !demands.contains(&demand) {
            demands.push(demand);
        }
    }
    Ok((limits, demands))
}

/// A limit that cannot be understood, with one that could.
fn wrong_limit(error: LimitError) -> Failure {
    let example = |limit: String| format!("write for example `--limit {limit}`");
    let hint = match &error {
        LimitError::NoUnit { figure, value, has, .. } => example(format!("{figure}={value}{has}")),
        LimitError::OtherQuantity { figure, has, .. } => example(format!("{figure}=1{has}")),
        LimitError::UnknownFigure { figure, known, .. } => {
            let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
            let mut nearest = by_likeness(figure, known);
            nearest.truncate(NEAREST);
            format!("figures of this run, the nearest first: {}, ...", nearest.join(", "))
        }
        _ => example("p99.9=5ms".to_owned()),
    };
    Failure::usage(error).with_hint(hint)
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
