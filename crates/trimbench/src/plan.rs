//! From arguments to a plan: everything that decides what is done, resolved, checked and printable.

use std::collections::BTreeMap;
use std::fmt::Write;

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::{Bytes, Nanos};
use trimbench_methods::delete_stall::{self, DeleteStall, Mode};
use trimbench_methods::method::METHODS;
use trimbench_methods::{MethodInfo, Preset};
use trimbench_results::{Limit, PlannedSession};
use trimbench_ssd::BUILT_IN;
use trimbench_target::TargetSpec;

use crate::args::RunArgs;
use crate::failure::Failure;

/// Emulated drives of a run without `--target`: the first of the built-in profiles.
const DEFAULT_DRIVES: usize = 4;
/// What a real target is assumed to write at in estimates, bytes a second.
const ASSUMED_WRITE_RATE: u64 = 500_000_000;

/// One method on one target, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) planned: PlannedSession,
    pub(crate) target: TargetSpec,
    pub(crate) method: DeleteStall,
}

/// All that will be done.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) sessions: Vec<Session>,
    pub(crate) limits: Vec<Limit>,
}

impl Plan {
    /// Resolves the arguments of a new run.
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Failure> {
        let preset = preset(&args.preset)?;
        let methods = methods(&args.methods)?;
        let set = settings(&args.set, &methods)?;
        let texts: Vec<String> = if args.targets.is_empty() {
            BUILT_IN[..DEFAULT_DRIVES].iter().map(|drive| format!("sim:{}", drive.name)).collect()
        } else {
            args.targets.clone()
        };
        let mut sessions = Vec::new();
        for text in &texts {
            let target = TargetSpec::parse(text, args.capacity)?;
            for _ in &methods {
                sessions.push(Session::new(target.clone(), preset, &set)?);
            }
        }
        let limits = limits(&args.limits)?;
        Ok(Self { seed: args.seed, sessions, limits })
    }

    /// The plan of a recorded run, from its record.
    pub(crate) fn recorded(
        seed: u64,
        planned: &[PlannedSession],
        limits: &[String],
    ) -> Result<Self, Failure> {
        let mut sessions = Vec::new();
        for session in planned {
            methods(std::slice::from_ref(&session.method))?;
            let target = TargetSpec::parse(&session.target, None)?;
            sessions.push(Session::new(target, preset(&session.preset)?, &session.options)?);
        }
        Ok(Self { seed, sessions, limits: self::limits(limits)? })
    }

    /// What `--dry-run` prints.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("seed {}\n", self.seed);
        for session in &self.sessions {
            session.describe(&mut text);
        }
        text
    }
}

impl Session {
    fn new(
        target: TargetSpec,
        preset: Preset,
        set: &BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        let method = DeleteStall::resolve(preset, set)?;
        let target = match target {
            TargetSpec::Emulated(spec) => {
                TargetSpec::Emulated(Box::new(spec.settled(method.needed())))
            }
            directory @ TargetSpec::Directory(_) => directory,
        };
        let planned = PlannedSession {
            method: delete_stall::ID.to_owned(),
            target: target.to_string(),
            preset: preset.id().to_owned(),
            options: method.to_map(),
        };
        Ok(Self { planned, target, method })
    }

    fn describe(&self, text: &mut String) {
        let PlannedSession { method, target, preset, .. } = &self.planned;
        let (clock, privileges) = match &self.target {
            TargetSpec::Emulated(_) => ("virtual", "none"),
            TargetSpec::Directory(_) if self.method.mode == Mode::Trim => {
                ("wall", "root, for fstrim")
            }
            TargetSpec::Directory(_) => ("wall", "to write in the directory"),
        };
        let time = self.method.estimate(ASSUMED_WRITE_RATE);
        let _ = writeln!(text, "\n{method} ({preset}) on {target}");
        if let TargetSpec::Emulated(spec) = &self.target {
            let _ = writeln!(text, "  profile      {}", spec.profile().summary);
            let _ = writeln!(text, "  provenance   {}", spec.profile().provenance);
        }
        let _ = writeln!(text, "  space        {} needed", self.method.needed());
        let _ = writeln!(text, "  files        {} written before the load", self.method.written());
        let _ = writeln!(text, "  load         about {} more", self.load_bytes());
        let _ = writeln!(text, "  time         about {} of {clock} time", rough(time));
        let _ = writeln!(text, "  destroys     nothing: works in what it makes itself");
        let _ = writeln!(text, "  privileges   {privileges}");
        if let TargetSpec::Directory(_) = &self.target {
            let _ = writeln!(text, "  not checked  room, permission and discards: when it starts");
        }
    }

    /// Bytes that the load writes.
    fn load_bytes(&self) -> Bytes {
        let method = &self.method;
        let trials =
            method.sizes.len() as u64 * u64::from(method.repetitions) + u64::from(method.placebos);
        let loaded = (method.lead + method.window).times(trials);
        let accesses = loaded.0 / method.gap.0;
        let writes = accesses - method.read_share.of(accesses);
        Bytes(writes * method.access.0 / (1 << 20) * (1 << 20))
    }
}

/// A span to the second or the minute.
fn rough(span: Nanos) -> String {
    let seconds = span.0.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

fn preset(id: &str) -> Result<Preset, Failure> {
    Preset::from_id(id).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::id);
        unknown("preset", id, &names)
    })
}

fn methods(ids: &[String]) -> Result<Vec<&'static MethodInfo>, Failure> {
    if ids.is_empty() {
        return Ok(METHODS.iter().collect());
    }
    let find = |id: &String| {
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
    texts: &[String],
    methods: &[&'static MethodInfo],
) -> Result<BTreeMap<String, String>, Failure> {
    let mut set = BTreeMap::new();
    for text in texts {
        let Some((key, value)) = text.split_once('=') else {
            let error = anyhow::anyhow!("`--set {text}` is not `KEY=VALUE`");
            return Err(Failure::usage(error).with_hint("write for example `--set window=10s`"));
        };
        let known: Vec<&str> =
            methods.iter().flat_map(|method| method.options).map(|option| option.key).collect();
        if !known.contains(&key) {
            return Err(unknown("option", key, &known));
        }
        if set.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::usage(anyhow::anyhow!("`--set {key}` is given twice")));
        }
    }
    Ok(set)
}

fn limits(texts: &[String]) -> Result<Vec<Limit>, Failure> {
    let known = delete_stall::announced_figures();
    let mut limits = Vec::new();
    for text in texts {
        let limit: Limit = text.parse().map_err(Failure::usage)?;
        limit.check(known.iter().map(|(id, _)| id.as_str())).map_err(Failure::usage)?;
        for (id, unit) in known.iter().filter(|(id, _)| limit.names(id)) {
            limit.check_unit(id, unit).map_err(Failure::usage)?;
        }
        limits.push(limit);
    }
    Ok(limits)
}
