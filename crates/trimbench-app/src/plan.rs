//! Turns options into a plan: everything that decides what is done, resolved and checked.

mod limits;
mod session;
mod timed_by;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use trimbench_core::nearest::{by_likeness, did_you_mean, nearest};
use trimbench_core::text::{shell_word, to_text};
use trimbench_core::{Bytes, Nanos};
use trimbench_devices::{Consent, PurgeChoice, TargetSpec};
use trimbench_engine::quiet::WINDOW;
use trimbench_engine::{ASSUMED_RATE, Demand, MethodInfo, Preset};
use trimbench_methods::{BY_NAME_ONLY, METHODS};
use trimbench_results::{Limit, PlannedSession, VerdictLimit};
use trimbench_ssd::BUILT_IN;

use crate::failure::Failure;
use crate::options::{PlanOptions, QuietOptions};
use limits::{limits, verdict_limits};
pub use session::{DiscardOutlook, ResolvedSession};
use timed_by::TimedBy;

/// The option that is a command to run.
const COMMAND: &str = "command";
/// What is said to those who want all methods.
pub const LEAVE_METHODS_OUT: &str =
    "leave it out: `trimbench run` without methods measures all that suit the target";
/// What people write who want them.
const ALL: [&str; 3] = ["all", "*", "everything"];

/// Emulated drives of a run without `--target`: the first of the built-in profiles.
const DEFAULT_DRIVES: usize = 4;
/// What is made on them for methods on files.
const DEFAULT_FILESYSTEM: &str = "ext4";

/// All that will be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// The targets that were named, as a job file has them: paths are absolute. None of a run on
    /// the default drives, or of a resumed run.
    pub targets: Vec<String>,
    /// What is measured, in this order.
    pub sessions: Vec<ResolvedSession>,
    /// Limits on figures.
    pub limits: Vec<Limit>,
    /// Verdicts that must be, or must not be.
    pub verdicts: Vec<VerdictLimit>,
    /// What the methods themselves demand of a drive; nothing is said of those that hold.
    pub demands: Vec<Limit>,
    /// What may be destroyed. Never in the record: a resumed run is told again.
    pub consent: Consent,
    /// How block devices are purged.
    pub purge: PurgeChoice,
    /// What the run does about others that use a real target.
    pub quiet: QuietOptions,
    /// Bytes a second that targets are assumed to read and write.
    pub assumed_rate: u64,
    /// How many emulated drives are measured at a time, at least one.
    pub jobs: usize,
    /// The program that serves drives which are attached for a run.
    pub(crate) drive_server: Option<PathBuf>,
    /// The methods were named: one that does not fit its target is an error then, and left out
    /// otherwise.
    pub named: bool,
    /// An earlier run that forecasts of time go by.
    timed_by: TimedBy,
}

impl Plan {
    /// Resolves the options of a new run. Nothing is opened but profiles and the earlier run that
    /// it is timed by.
    pub fn new(options: &PlanOptions) -> Result<Self, Failure> {
        let preset = preset(&options.preset)?;
        let methods = methods(&options.methods)?;
        let set = settings(&options.settings, &methods)?;
        let sessions = if options.targets.is_empty() {
            on_default_targets(options, &methods, preset, &set)?
        } else {
            on_named_targets(options, &methods, preset, &set)?
        };
        let destroys = sessions.iter().any(|session| session.target.emulated_drive().is_none());
        if let (Some(path), false) = (options.consent.destroy.first(), destroys) {
            let error = anyhow::anyhow!(
                "`--destroy {}`, and no `--target` is a block device or an image file",
                path.display()
            );
            return Err(Failure::usage(error).with_hint("name it with `--target` as well"));
        }
        let targets = named_targets(options, &sessions);
        let named = !options.methods.is_empty();
        Ok(Self { targets, named, ..Self::of(options.seed, sessions, options)? })
    }

    /// What must be said of the plan: what is not believed of the earlier run that it is timed by,
    /// each in a sentence without a full stop.
    pub fn remarks(&self) -> &[String] {
        self.timed_by.flaws()
    }

    /// Whether a session is on something that is no model.
    pub(crate) fn has_real_targets(&self) -> bool {
        self.sessions.iter().any(|session| session.target.emulated_drive().is_none())
    }

    /// Refuses traces that cannot be replayed: before a directory is made and anything begun.
    pub fn check_traces(&self) -> Result<(), Failure> {
        self.sessions.iter().try_for_each(ResolvedSession::check_trace)
    }

    /// The plan of a recorded run, from its record.
    pub(crate) fn recorded(
        seed: u64,
        planned: &[PlannedSession],
        options: &PlanOptions,
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
            sessions.push(ResolvedSession::recorded(session, target)?);
        }
        Self::of(seed, sessions, options)
    }

    /// These sessions, whose targets and methods nobody named.
    fn of(
        seed: u64,
        sessions: Vec<ResolvedSession>,
        options: &PlanOptions,
    ) -> Result<Self, Failure> {
        check_commands(&sessions, &options.consent)?;
        let (verdicts, texts) = verdict_limits(&options.limits)?;
        let (limits, demands) = limits(&texts, &sessions)?;
        let (consent, assumed_rate) = (consent(options), assumed_rate(options)?);
        let timed_by = match &options.timed_by {
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
            purge: options.purge,
            quiet: options.quiet,
            assumed_rate,
            jobs: jobs(options.jobs),
            drive_server: options.drive_server.clone(),
            named: false,
            timed_by,
        })
    }

    /// How long a session looks for other load before it begins, if there is none.
    pub(crate) fn look_time(&self, session: &ResolvedSession) -> Nanos {
        if self.quiet.looks() && session.rests_on_quiet() { WINDOW } else { Nanos::ZERO }
    }

    /// How many times as long as assumed the earlier run took for such a session, if it says so.
    pub(crate) fn pace(&self, session: &ResolvedSession) -> Option<f64> {
        self.timed_by.pace(&session.planned)
    }

    /// What a session takes, in the time that an earlier run makes likely.
    pub(crate) fn paced(&self, session: &ResolvedSession, demand: Demand) -> Demand {
        let pace = self.pace(session);
        let time = pace.map(|pace| Nanos::from_seconds(demand.time.seconds() * pace));
        Demand { time: time.unwrap_or(demand.time), ..demand }
    }
}

/// Refuses to run a command that is in a setting, a job file or a record, which may come from
/// anybody, unless whoever starts the run gives the same.
fn check_commands(sessions: &[ResolvedSession], consent: &Consent) -> Result<(), Failure> {
    let asked = sessions.iter().filter_map(|session| session.planned.options.get(COMMAND));
    let mut refused =
        asked.filter(|line| *line != "none" && consent.command.as_ref() != Some(*line));
    let Some(line) = refused.next() else { return Ok(()) };
    let error = anyhow::anyhow!("a command is run only where it is given on the command line");
    Err(Failure::usage(error).with_hint(format!("add `--command {}`", shell_word(line))))
}

/// Each method on each target that the user named.
fn on_named_targets(
    options: &PlanOptions,
    methods: &[&'static MethodInfo],
    preset: Preset,
    set: &BTreeMap<String, String>,
) -> Result<Vec<ResolvedSession>, Failure> {
    let texts: Vec<String> = options.targets.iter().map(|text| TargetSpec::text_of(text)).collect();
    let mut sessions = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        if texts[..index].contains(text) {
            let error = anyhow::anyhow!("`--target {text}` is given twice");
            let hint = "leave one out: a run measures each target once";
            return Err(Failure::usage(error).with_hint(hint));
        }
        let target = TargetSpec::parse(text, options.capacity)?;
        for method in methods {
            sessions.push(ResolvedSession::new(target.clone(), method, preset, set)?);
        }
    }
    Ok(sessions)
}

/// Each target that was named, once, as its sessions have it.
fn named_targets(options: &PlanOptions, sessions: &[ResolvedSession]) -> Vec<String> {
    if options.targets.is_empty() {
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
    options: &PlanOptions,
    methods: &[&'static MethodInfo],
    preset: Preset,
    set: &BTreeMap<String, String>,
) -> Result<Vec<ResolvedSession>, Failure> {
    let mut sessions = Vec::new();
    for drive in &BUILT_IN[..DEFAULT_DRIVES] {
        for method in methods {
            let on = |text: String| {
                let target = TargetSpec::parse(&text, options.capacity)?;
                ResolvedSession::new(target, method, preset, set)
            };
            let on_drive = on(format!("sim:{}", drive.name))?;
            let session = if on_drive.may_fit(&options.consent) {
                on_drive
            } else {
                on(format!("{DEFAULT_FILESYSTEM}:sim:{}", drive.name))?
            };
            sessions.push(session);
        }
    }
    Ok(sessions)
}

/// How many sessions run at a time: as asked for, else one for each processor.
pub fn jobs(asked: Option<u32>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(processors, |jobs| jobs as usize)
}

fn assumed_rate(options: &PlanOptions) -> Result<u64, Failure> {
    match options.assumed_rate {
        None => Ok(ASSUMED_RATE),
        Some(Bytes(0)) => {
            let error = anyhow::anyhow!("`--assumed-rate 0`: nothing would ever be done");
            Err(Failure::usage(error).with_hint("give what the drive writes a second, as `500MB`"))
        }
        Some(Bytes(rate)) => Ok(rate),
    }
}

/// A relative name that is that of a target in the same command means the same file today.
fn consent(options: &PlanOptions) -> Consent {
    let is_named = |path: &Path| {
        options.targets.iter().any(|target| {
            let (target, path) = (target.as_bytes(), path.as_os_str().as_bytes());
            target.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with(b":"))
        })
    };
    let absolute = |path: &PathBuf| {
        let whole = std::path::absolute(path).ok().filter(|_| is_named(path));
        whole.unwrap_or_else(|| path.clone())
    };
    Consent {
        destroy: options.consent.destroy.iter().map(absolute).collect(),
        ..options.consent.clone()
    }
}

/// The preset of this id.
pub fn preset(id: &str) -> Result<Preset, Failure> {
    Preset::from_id(id).ok_or_else(|| Failure::unknown("preset", id, &Preset::ALL.map(Preset::id)))
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
        if ALL.contains(&id.as_str()) {
            let error = anyhow::anyhow!("there is no method `{id}`");
            return Err(Failure::usage(error).with_hint(LEAVE_METHODS_OUT));
        }
        METHODS.iter().find(|method| method.id == id).ok_or_else(|| {
            let names: Vec<&str> = METHODS.iter().map(|method| method.id).collect();
            Failure::unknown("method", id, &names)
        })
    };
    ids.iter().map(find).collect()
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
