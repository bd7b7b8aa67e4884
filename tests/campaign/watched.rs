//! Campaign `safe.2`: the program runs on random stacks, under random names, into random traps, is
//! stopped while something is exchanged, and is killed; and from outside, the kernel tells of
//! everything that it does.
//!
//! Three eyes see independently of each other and of the program: BPF programs at the kernel's
//! tracepoints of system calls, `io_uring` and block requests (`observer.bpf.c`), and fanotify over
//! the objects that must not change. What they tell is compared with what was named (`judge`).
//! The first attempts are violations to order (`planted`): an observer that misses one is blind.

mod draw;
mod event;
mod furnish;
mod judge;
mod observer;
mod planted;
mod scene;
mod sentry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Attempts, Campaign, Ledger, SAFETY};
use crate::acceptance::{Bar, Finding};
use crate::{Repository, process};
use draw::{Draw, End, Kind};
use event::Deed;
use furnish::{Furnished, Supplies};
use judge::Bounds;
use observer::{Fate, Observed, Observer};
use scene::{Layers, Scene};
use sentry::Sentry;

/// The campaign.
pub const CAMPAIGN: Campaign = Campaign {
    id: "safe.2",
    title: "A run that is watched from outside",
    sources: SAFETY,
    workers: WORKERS,
    prepare,
    judge,
};

const WORKERS: usize = 2;
const RUNS: u64 = 5_000;
/// Planted violations that must be seen, at least.
const PLANTED_MIN: f64 = 10.0;
/// When a run gets Ctrl-C.
const LONGEST: Duration = Duration::from_millis(1_200);
/// Violations that a line names.
const NAMED_MAX: usize = 4;

/// What came of an attempt.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Outcome {
    /// What was drawn, or the name of a planted violation.
    what: String,
    /// How the program ended.
    end: String,
    /// Whether a violation was planted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    planted: bool,
    /// Reported operations, each object once.
    deeds: u64,
    /// Processes that were watched.
    processes: u64,
    /// How often it was stopped for an exchange.
    #[serde(default, skip_serializing_if = "is_zero")]
    stops: u64,
    /// Which eyes saw a violation.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    eyes: BTreeSet<String>,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    violations: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What was seen against the bounds: by which eye, and what.
#[derive(Debug, Default)]
struct Verdict(BTreeMap<&'static str, Vec<String>>);

struct Watched {
    supplies: Supplies,
    planter: PathBuf,
    workers: Vec<Mutex<(Observer, Layers)>>,
    _record: tempfile::TempDir,
}

fn prepare(repository: &Repository, folder: &Path) -> Result<Box<dyn Attempts>> {
    // To hold another program against the same attempts: the binary of an earlier commit.
    let program = match std::env::var_os("TRIMBENCH_PROGRAM") {
        Some(program) => program.into(),
        None => super::program(repository, folder)?,
    };
    let object = observer::compile(repository.root(), folder)?;
    let planter = planted::compile(repository.root(), folder)?;
    let scratch = tempfile::tempdir_in("/dev/shm").context("make a folder in memory")?;
    let (record, trace) = (scratch.path().join("record"), scratch.path().join("trace"));
    let sim = ["--target", "sim:generic-sata-tlc,capacity=256MiB", "--set", "span=4MiB"];
    let run = ["run", "steady-state", "--set", "rounds-max=5", "--no-report", "--output"];
    process::output(Command::new(&program).args(run).arg(&record).args(sim))?;
    let make = ["trace", "generate", "--to", "iolog", "--commands", "500"];
    process::output(Command::new(&program).args(make).arg(&trace))?;
    let worker = |_| Ok(Mutex::new((Observer::load(&object)?, Layers::new()?)));
    let workers = (0..WORKERS).map(worker).collect::<Result<_>>()?;
    let supplies = Supplies { program, record, trace };
    Ok(Box::new(Watched { supplies, planter, workers, _record: scratch }))
}

impl Attempts for Watched {
    fn total(&self) -> u64 {
        RUNS + u64::try_from(planted::count()).expect("a short table")
    }

    fn attempt(&self, worker: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let mut worker = self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner);
        let (observer, layers) = &mut *worker;
        let outcome = match usize::try_from(number) {
            Ok(number) if number < planted::count() => {
                planted::plant(number, observer, (layers, &self.planter))?
            }
            _ => {
                let draw = Draw::new(seed, number);
                let outcome = attempt(&draw, observer, (layers, &self.supplies));
                outcome.with_context(|| format!("attempt {number}: {draw:?}"))?
            }
        };
        let Value::Object(line) = serde_json::to_value(outcome).context("write an outcome")? else {
            unreachable!("a structure is an object")
        };
        Ok(line)
    }
}

/// One run.
fn attempt(
    draw: &Draw,
    observer: &mut Observer,
    (layers, supplies): (&Layers, &Supplies),
) -> Result<Outcome> {
    let mut scene = Scene::new(layers, draw.layer, draw.name)?;
    let furnished = furnish::furnish(draw, &mut scene, supplies)?;
    let sentry = Sentry::new()?;
    furnished.guarded.iter().try_for_each(|path| sentry.watch(path))?;
    let eyes = (&furnished.bounds, &sentry);
    let (observed, verdict) =
        watch(observer, &furnished.command, eyes, Some((draw, &scene, &furnished)))?;
    let what =
        format!("{:?} {:?} {:?} {:?} {:?}", draw.kind, draw.layer, draw.form, draw.trap, draw.end);
    let mut outcome = Outcome::new(what, &observed, verdict, &scene);
    let is_made = matches!(draw.kind, Kind::MadeOnImage(_) | Kind::MadeOnLoop(_));
    if is_made && observed.ending() != "exit 0" {
        // What a killed run left is taken down by the next one: that is watched, too.
        furnished.uncover();
        let again = (&furnished.bounds, &sentry);
        let (observed, verdict) = watch(observer, &furnished.command, again, None)?;
        outcome.add(&observed, verdict, &scene);
    }
    furnished.uncover();
    unmount_leftovers(scene.path())?;
    Ok(outcome)
}

/// Runs a program under all eyes, and compares.
fn watch(
    observer: &mut Observer,
    command: &Command,
    (bounds, sentry): (&Bounds, &Sentry),
    drawn: Option<(&Draw, &Scene, &Furnished)>,
) -> Result<(Observed, Verdict)> {
    sentry.seen()?;
    let mut signals = VecDeque::new();
    let mut swaps = VecDeque::new();
    let mut interrupt = LONGEST;
    match drawn.map(|(draw, ..)| draw.end) {
        Some(End::Killed(call)) => signals.push_back((call, Signal::KILL)),
        Some(End::Swapped(first, one, second, two)) => {
            signals.extend([(first, Signal::STOP), (second, Signal::STOP)]);
            swaps.extend([one, two]);
        }
        Some(End::Interrupted(milliseconds)) => interrupt = Duration::from_millis(milliseconds),
        Some(End::Own) | None => {}
    }
    let mut meanwhile = || {
        if let (Some((_, scene, furnished)), Some(swap)) = (drawn, swaps.pop_front()) {
            furnished.swap(swap, scene);
        }
        Ok(())
    };
    let guarded = bounds.guarded();
    let fate = Fate { signals, meanwhile: &mut meanwhile, interrupt, guarded };
    let observed = observer.watch(command, fate)?;
    ensure!(observed.lost == 0, "{} events were lost: the attempt does not count", observed.lost);
    let mut verdict = Verdict::default();
    for event in observed.events.iter().filter(|event| !bounds.allow(event)) {
        let eye = if event.deed == Deed::BlockRequest { "block" } else { "call" };
        verdict.0.entry(eye).or_default().push(event.to_string());
    }
    for what in sentry.seen()? {
        verdict.0.entry("fanotify").or_default().push(what);
    }
    Ok((observed, verdict))
}

impl Outcome {
    fn new(what: String, observed: &Observed, verdict: Verdict, scene: &Scene) -> Self {
        let mut new =
            Self { what, end: observed.ending(), stops: observed.stops, ..Self::default() };
        new.add(observed, verdict, scene);
        new
    }

    /// What another run of the same attempt came to.
    fn add(&mut self, observed: &Observed, verdict: Verdict, scene: &Scene) {
        let count = |length: usize| u64::try_from(length).expect("64 bits");
        self.deeds += count(observed.events.len());
        self.processes += count(observed.processes.len());
        let folder = scene.path().display().to_string();
        let name = scene.path().file_name().unwrap_or_default().display().to_string();
        let shown = |text: &str| text.replace(&folder, "$A").replace(&name, "$A");
        for (eye, seen) in verdict.0 {
            self.eyes.insert(eye.to_owned());
            let named = seen.into_iter().map(|text| format!("{eye}: {}", shown(&text)));
            self.violations.extend(named.take(NAMED_MAX));
        }
    }
}

/// Takes down what is still mounted of an attempt, with its loop devices: the machine is kept clean
/// whatever the program did.
fn unmount_leftovers(folder: &Path) -> Result<()> {
    let mounts = std::fs::read("/proc/self/mounts").context("read the mounts")?;
    // Names that are no UTF-8 are other mounts' than those below `/run`.
    for line in String::from_utf8_lossy(&mounts).lines() {
        let mut words = line.split(' ');
        let (Some(device), Some(place)) = (words.next(), words.next()) else { continue };
        let Some(name) = device.strip_prefix("/dev/loop") else { continue };
        let below = std::fs::read_to_string(format!("/sys/block/loop{name}/loop/backing_file"));
        if below.is_ok_and(|below| below.starts_with(&*folder.to_string_lossy())) {
            process::quietly(Command::new("umount").args(["--lazy", place]));
        }
    }
    Ok(())
}

fn judge(ledger: &Ledger) -> Result<Vec<Finding>> {
    let outcomes: Vec<Outcome> = ledger.outcomes()?;
    let (planted, runs): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.planted);
    let count = |of: &[&Outcome], holds: &dyn Fn(&Outcome) -> bool| {
        of.iter().filter(|outcome| holds(outcome)).count() as f64
    };
    let broken = |outcome: &Outcome| !outcome.violations.is_empty();
    let note = runs.iter().find(|outcome| broken(outcome));
    let note = note.map(|outcome| format!("{}: {}", outcome.what, outcome.violations.join("; ")));
    let missed = count(&planted, &|outcome| !broken(outcome));
    let sum = |of: fn(&Outcome) -> u64| runs.iter().map(|outcome| of(outcome)).sum::<u64>() as f64;
    // A small sample may well have no kill in it.
    let (runs_min, some) = if ledger.is_whole() { (RUNS as f64, 1.0) } else { (1.0, 0.0) };
    let hung = count(&runs, &|outcome| outcome.end == "hung");
    let find = |what: &str, figure: f64, bar: Bar| ledger.finding(what, (figure, ""), bar);
    Ok(vec![
        find("runs watched", runs.len() as f64, Bar::AtLeast(runs_min)),
        find("runs that changed what was not theirs", count(&runs, &broken), Bar::Equals(0.0))
            .with_note(&note.unwrap_or_default()),
        find("runs that did not end after Ctrl-C", hung, Bar::Equals(0.0)),
        find("planted violations", planted.len() as f64, Bar::AtLeast(PLANTED_MIN)),
        find("planted violations that were not seen", missed, Bar::Equals(0.0)),
        find("deeds on objects in these runs", sum(|it| it.deeds), Bar::AtLeast(1.0)),
        find("processes in these runs", sum(|it| it.processes), Bar::AtLeast(1.0)),
        find("exchanges in these runs", sum(|it| it.stops), Bar::AtLeast(some)),
        find("runs killed", count(&runs, &|it| it.end == "signal 9"), Bar::AtLeast(some)),
    ])
}
