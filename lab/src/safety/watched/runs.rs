//! Runs that are watched by the kernel.
//!
//! Three eyes see independently of each other and of the program: BPF programs at the kernel's
//! tracepoints of system calls, `io_uring` and block requests (`observer.bpf.c`), and fanotify over
//! the objects that must not change. What they tell is compared with what was named (`judge`).
//! First come violations to order (`planted`): an observer that misses one is blind.

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

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use xtask::process;

use crate::attempts::Attempts;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;
use draw::{Draw, End, Kind};
use event::Deed;
use furnish::{Furnished, Supplies};
use judge::Bounds;
use observer::{Fate, Observed, Observer};
use planted::PLANTED;
use scene::{Layers, Scene};
use sentry::Sentry;

const WORKERS: usize = 2;
/// Runs in the short form and in full.
const RUNS: [u64; 2] = [60, 5_000];
/// Planted violations that must be seen, at least.
const PLANTED_MIN: f64 = 10.0;
/// When a run gets Ctrl-C.
const LONGEST: Duration = Duration::from_millis(1_200);

/// What came of an attempt.
#[derive(Debug, Default)]
struct Outcome {
    /// What was drawn, or the name of a planted violation.
    what: String,
    /// How the program ended.
    end: String,
    /// Operations that the kernel told of, each object once.
    deeds: usize,
    /// Processes that were watched.
    processes: usize,
    /// How often it was stopped for an exchange.
    stops: u64,
    /// What was seen against the bounds.
    violations: Verdict,
}

/// What was seen against the bounds: by which eye, and what.
type Verdict = BTreeMap<&'static str, Vec<String>>;

/// Watches the planted violations, and then the runs.
pub(super) fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let folder = lab.folder();
    let object = observer::compile(&lab.path(observer::SOURCE), folder)?;
    let planter = planted::compile(&lab.path(planted::SOURCE), folder)?;
    let supplies = supplies(lab)?;
    let worker = |_| Ok(Mutex::new((Observer::load(&object)?, Layers::new()?)));
    let workers = (0..WORKERS).map(worker).collect::<Result<Vec<_>>>()?;
    let worker = |worker: usize| workers[worker].lock().unwrap_or_else(PoisonError::into_inner);
    let attempts = |name, count| {
        let deadline = lab.deadline();
        Attempts { name, count, workers: WORKERS, deadline }
    };
    let seen = attempts("planted", PLANTED.len() as u64).make(|at, number| {
        let (observer, layers) = &mut *worker(at);
        let number = usize::try_from(number).context("a short table")?;
        planted::plant(PLANTED[number], observer, (layers, &planter))
    })?;
    let watched = attempts("watched", lab.form(RUNS[0], RUNS[1]));
    let runs = watched.make(|at, number| {
        let (observer, layers) = &mut *worker(at);
        let draw = Draw::new(&mut watched.random(number));
        attempt(&draw, observer, (layers, &supplies)).with_context(|| format!("{draw:?}"))
    })?;
    Ok(figures(&seen, &runs, watched.count))
}

/// The figures of planted violations and of runs, of which there are to be `least`.
fn figures(planted: &[Outcome], runs: &[Outcome], least: u64) -> Vec<Figure> {
    let broken = |outcome: &&Outcome| !outcome.violations.is_empty();
    let note = runs.iter().find(broken).map(|it| format!("{}: {:?}", it.what, it.violations));
    let unseen: Vec<&str> =
        planted.iter().filter(|it| !broken(it)).map(|it| it.what.as_str()).collect();
    let count = |holds: &dyn Fn(&Outcome) -> bool| runs.iter().filter(|it| holds(it)).count();
    let sum = |of: &dyn Fn(&Outcome) -> usize| runs.iter().map(of).sum::<usize>();
    let figure = |what: &str, value: usize, bar| Figure::new(what, (value as f64, ""), bar);
    vec![
        figure("runs watched", runs.len(), Bar::AtLeast(least as f64)),
        figure("runs that changed what was not theirs", count(&|it| broken(&it)), Bar::Equals(0.0))
            .with_note(note.unwrap_or_default()),
        figure(
            "runs that did not end after Ctrl-C",
            count(&|it| it.end == "hung"),
            Bar::Equals(0.0),
        ),
        figure("planted violations", planted.len(), Bar::AtLeast(PLANTED_MIN)),
        figure("planted violations that were not seen", unseen.len(), Bar::Equals(0.0))
            .with_note(unseen.join("; ")),
        figure("deeds on objects in these runs", sum(&|it| it.deeds), Bar::AtLeast(1.0)),
        figure("processes in these runs", sum(&|it| it.processes), Bar::AtLeast(1.0)),
        figure("runs stopped for an exchange", count(&|it| it.stops > 0), Bar::AtLeast(1.0)),
        figure("runs killed", count(&|it| it.end == "signal 9"), Bar::AtLeast(1.0)),
    ]
}

/// What scenes are given copies of.
fn supplies(lab: &Lab<'_>) -> Result<Supplies> {
    let (record, trace) = (lab.folder().join("record"), lab.folder().join("trace"));
    let sim = ["--target", "sim:generic-sata-tlc,capacity=256MiB", "--set", "span=4MiB"];
    let run = ["run", "steady-state", "--set", "rounds-max=5", "--no-report", "--output"];
    process::output(lab.trimbench(&run)?.arg(&record).args(sim))?;
    let make = ["trace", "generate", "--to", "iolog", "--commands", "500"];
    process::output(lab.trimbench(&make)?.arg(&trace))?;
    Ok(Supplies { program: lab.program()?.path().to_owned(), record, trace })
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
    let mut outcome = Outcome::new(what, &observed, verdict);
    let is_made = matches!(draw.kind, Kind::MadeOnImage(_) | Kind::MadeOnLoop(_));
    if is_made && observed.ending() != "exit 0" {
        // What a killed run left is taken down by the next one: that is watched, too.
        furnished.uncover();
        let again = (&furnished.bounds, &sentry);
        let (observed, verdict) = watch(observer, &furnished.command, again, None)?;
        outcome.add(&observed, verdict);
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
        verdict.entry(eye).or_default().push(event.to_string());
    }
    for what in sentry.seen()? {
        verdict.entry("fanotify").or_default().push(what);
    }
    Ok((observed, verdict))
}

impl Outcome {
    fn new(what: String, observed: &Observed, verdict: Verdict) -> Self {
        let mut new =
            Self { what, end: observed.ending(), stops: observed.stops, ..Self::default() };
        new.add(observed, verdict);
        new
    }

    /// What another run of the same attempt came to.
    fn add(&mut self, observed: &Observed, verdict: Verdict) {
        self.deeds += observed.events.len();
        self.processes += observed.processes.len();
        for (eye, seen) in verdict {
            self.violations.entry(eye).or_default().extend(seen);
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
