//! A kill at a random moment of a run, or after a number of changes in its output directory: what
//! there is of a record, trace or recording is readable and as new as was said, the next start goes
//! on to the same end, and nothing of what the killed run held is left.

mod left;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::inotify;
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use tests::Need::{Filesystem, Loop, Program, Root, Tracing};
use trimbench_core::rng::Rng;
use trimbench_results::RunRecord;

use super::interrupted::record::{Acknowledged, names};
use super::interrupted::variant::{Makes, Scene, VARIANTS, Variant};
use super::interrupted::{self, Bench, Outcome, Resumed, text};
use crate::attempts::Attempts;
use crate::entry::Entry;
use crate::figure::Figure;
use crate::lab::Lab;
use left::Held;

/// The measurement.
pub(crate) const ENTRY: Entry = Entry {
    name: "killed",
    title: "After SIGKILL records are readable, runs go on to the same end, and nothing is left",
    needs: &[
        Root,
        Loop,
        Tracing,
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
        Filesystem("xfs"),
        Filesystem("btrfs"),
    ],
    sources: interrupted::SOURCES,
    run,
};

/// Kills in the short form and in full.
const KILLS: [u64; 2] = [24, 500];
/// How long a recording takes if it is not killed.
const RECORDING: Duration = Duration::from_millis(2_500);
/// What was recorded longer before the kill must be kept: four times what the program says.
const KEPT_AFTER: Duration = Duration::from_secs(1);
/// How often a variant is begun that ends before it is killed, each time to be killed sooner.
const TRIES: u32 = 8;
/// How long children of a killed program may take to end.
const CHILDREN: Duration = Duration::from_secs(10);
/// How long the start of another program may take to remove what is left.
const CLEANING: Duration = Duration::from_secs(2);
/// How often a running program is polled.
const POLL: Duration = Duration::from_micros(100);
/// Changes in a directory of outputs.
const CHANGES: inotify::WatchFlags = inotify::WatchFlags::CREATE
    .union(inotify::WatchFlags::MODIFY)
    .union(inotify::WatchFlags::CLOSE_WRITE)
    .union(inotify::WatchFlags::MOVE)
    .union(inotify::WatchFlags::DELETE);

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let bench = Bench::new(lab)?;
    let references = Mutex::default();
    let count = lab.form(KILLS[0], KILLS[1]);
    let attempts = Attempts { name: "killed", count, workers: 2, deadline: lab.deadline() };
    let kills =
        attempts.make(|_, number| kill((&bench, &references), &mut attempts.random(number)))?;
    let what = "kills after which something was lost, wrong or left behind";
    Ok(vec![interrupted::count("kills", &kills, count), interrupted::wrong(what, kills.iter())])
}

/// Variants that were run to their end, by their names and arguments.
type References = Mutex<BTreeMap<String, Arc<Reference>>>;

/// A variant that was run to its end.
#[derive(Debug)]
struct Reference {
    /// The record or trace, byte by byte.
    bytes: Vec<u8>,
    span: Duration,
    changes: u64,
}

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    After(Duration),
    Change(u64),
}

/// Makes one attempt.
fn kill((bench, references): (&Bench, &References), rng: &mut Rng) -> Result<Outcome> {
    let drawn = usize::try_from(rng.below(VARIANTS.len() as u64)).expect("it is small");
    let variant = &VARIANTS[drawn];
    let reference = reference((bench, references), variant)?;
    // Nothing happens in the first and last permille that another would not show.
    let (is_change, mut part) = (rng.below(2) == 0, rng.below(1_000));
    for _ in 0..TRIES {
        let moment = if is_change {
            Moment::Change(1 + reference.changes * part / 1_000)
        } else {
            Moment::After(reference.span.mul_f64(part as f64 / 1_000.0))
        };
        let mut under_way = UnderWay::start(bench, variant)?;
        let Some(held) = under_way.kill_at(moment)? else {
            part = part * 3 / 4;
            continue;
        };
        let mut outcome = under_way.after(bench, &reference)?;
        outcome.wrong.extend(under_way.left(&held));
        outcome.held = held.count();
        outcome.what = format!("{} at {moment:?}", variant.name);
        return Ok(outcome);
    }
    bail!("{} always ends before it is killed", variant.name)
}

/// The whole run of a variant, made once. Whoever comes second may make it as well: it is the same.
fn reference(
    (bench, references): (&Bench, &References),
    variant: &Variant,
) -> Result<Arc<Reference>> {
    let known = || references.lock().unwrap_or_else(PoisonError::into_inner);
    let key = format!("{variant:?}");
    if let Some(reference) = known().get(&key) {
        return Ok(Arc::clone(reference));
    }
    let reference = Arc::new(whole(bench, variant)?);
    known().insert(key, Arc::clone(&reference));
    Ok(reference)
}

/// Runs a variant to its end.
fn whole(bench: &Bench, variant: &Variant) -> Result<Reference> {
    let mut under_way = UnderWay::start(bench, variant)?;
    let mut changes = Changes::in_folder(&under_way.watched)?;
    let start = Instant::now();
    let mut count = 0;
    let status = loop {
        count += changes.count();
        match under_way.child.try_wait().context("wait for the program")? {
            Some(status) => break status,
            None => thread::sleep(POLL),
        }
    };
    let span = start.elapsed();
    // Measured figures may be invalid on a busy machine.
    let is_good = matches!(status.code(), Some(0 | 4));
    ensure!(is_good, "{} {status}: {}", variant.name, under_way.errors());
    let bytes = fs::read(under_way.made()).context("read what was made")?;
    Ok(Reference { bytes, span, changes: count + changes.count() })
}

/// A variant at work in a scene of its own.
#[derive(Debug)]
struct UnderWay<'a> {
    child: Child,
    load: Option<Load>,
    variant: &'a Variant,
    /// What it writes to: the directory of a run, or a trace.
    output: PathBuf,
    /// The directory in which something changes.
    watched: PathBuf,
    /// How long it had been at work after it said what it does when it was killed.
    recorded_for: Duration,
    scene: Scene,
}

impl<'a> UnderWay<'a> {
    fn start(bench: &Bench, variant: &'a Variant) -> Result<Self> {
        let scene = Scene::new(variant, bench.input())?;
        let folder = scene.folder();
        let output = folder.join("out");
        let is_run = matches!(variant.makes, Makes::SameRecord | Makes::Record);
        let watched = if is_run { output.clone() } else { folder.join("traces") };
        fs::create_dir(&watched).context("make a folder")?;
        let output = if is_run { output } else { watched.join("out") };
        let mut arguments = scene.begin(variant, &output);
        if variant.makes == Makes::Recording {
            arguments.extend(["--time".to_owned(), format!("{}ms", RECORDING.as_millis())]);
        }
        let create = |name: &str| File::create(folder.join(name)).context("make a file");
        let mut command = bench.command(&arguments, folder);
        command.stdout(create("stdout")?).stderr(create("stderr")?).process_group(0);
        let load = scene.device().map(|device| Load::on(device.node()));
        let child = command.spawn().context("start the program")?;
        let recorded_for = Duration::ZERO;
        Ok(Self { child, load, variant, output, watched, recorded_for, scene })
    }

    /// The file that is made.
    fn made(&self) -> PathBuf {
        if self.watched == self.output { self.output.join("run.json") } else { self.output.clone() }
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.scene.folder().join("stderr")).unwrap_or_default()
    }

    /// Kills it at this moment and says what it held then; `None` if it ended before.
    fn kill_at(&mut self, moment: Moment) -> Result<Option<Held>> {
        let start = Instant::now();
        let mut changes = Changes::in_folder(&self.watched)?;
        let mut count = 0;
        loop {
            if self.child.try_wait().context("wait for the program")?.is_some() {
                return Ok(None);
            }
            count += changes.count();
            let is_now = match moment {
                Moment::After(span) => start.elapsed() >= span,
                Moment::Change(number) => count >= number,
            };
            if is_now {
                break;
            }
            thread::sleep(POLL);
        }
        let process = Pid::from_child(&self.child);
        // It stands still while it is looked at, and never goes on.
        kill_process(process, Signal::STOP).context("stop the program")?;
        let said = fs::metadata(self.scene.folder().join("stderr")).and_then(|it| it.modified());
        let said = said.context("look at what the program says")?;
        if !self.errors().is_empty() {
            self.recorded_for = said.elapsed().unwrap_or_default();
        }
        let held = Held::by(process);
        kill_process(process, Signal::KILL).context("kill the program")?;
        self.child.wait().context("wait for the program")?;
        let patience = Instant::now() + CHILDREN;
        while test_kill_process_group(process).is_ok() {
            ensure!(Instant::now() < patience, "a child of the killed program does not end");
            thread::sleep(POLL);
        }
        drop(self.load.take());
        Ok(Some(held))
    }

    /// Looks at what is there after the kill, and makes the next start.
    fn after(&self, bench: &Bench, reference: &Reference) -> Result<Outcome> {
        let mut outcome = Outcome { is_kept: self.made().exists(), ..Outcome::default() };
        match self.variant.makes {
            Makes::SameRecord | Makes::Record => self.after_run(bench, reference, &mut outcome)?,
            Makes::SameTrace => self.after_trace(bench, reference, &mut outcome)?,
            Makes::Recording => self.after_recording(bench, &mut outcome)?,
        }
        let folder = self.scene.folder();
        let unknown = |name: &String| {
            !["image", "out", "stderr", "stdout", "tmp", "traces"].contains(&name.as_str())
        };
        let in_target = self.scene.directory().map(names).unwrap_or_default();
        let others = names(folder).into_iter().filter(unknown).chain(in_target);
        outcome.wrong.extend(interrupted::left(others.chain(names(&self.scene.temporary()))));
        Ok(outcome)
    }

    /// What is left of what it held. Another start may be removing it at this moment.
    fn left(&self, held: &Held) -> Vec<String> {
        let patience = Instant::now() + CLEANING;
        loop {
            let left = held.left(self.scene.folder());
            if left.is_empty() || Instant::now() > patience {
                return left;
            }
            thread::sleep(CLEANING / 20);
        }
    }

    fn after_run(&self, bench: &Bench, reference: &Reference, outcome: &mut Outcome) -> Result<()> {
        let of = RunRecord::from_json(&reference.bytes).context("read the reference")?;
        let is_same = self.variant.makes == Makes::SameRecord;
        let printed = fs::read_to_string(self.scene.folder().join("stdout")).unwrap_or_default();
        let least = Acknowledged::by_all(self.variant.makes.promise(), &printed);
        let resumed = Resumed { bench, scene: &self.scene, output: &self.output };
        resumed.check(self.variant, (&of, is_same), least, outcome)?;
        let bytes = fs::read(self.made()).unwrap_or_default();
        if is_same && outcome.wrong.is_empty() && bytes != reference.bytes {
            outcome.wrong.push("the resumed run does not equal one that was not killed".to_owned());
        }
        Ok(())
    }

    fn after_trace(
        &self,
        bench: &Bench,
        reference: &Reference,
        outcome: &mut Outcome,
    ) -> Result<()> {
        if outcome.is_kept && fs::read(&self.output).unwrap_or_default() != reference.bytes {
            outcome.wrong.push("half of a trace stands at its name".to_owned());
        }
        let mut again = self.scene.begin(self.variant, &self.output);
        again.push("--overwrite".to_owned());
        let ended = bench.run(&again, self.scene.folder())?;
        if ended.status != Some(0) {
            outcome.wrong.push(format!("the next start: {}", ended.complaint()));
        } else if fs::read(&self.output).unwrap_or_default() != reference.bytes {
            outcome.wrong.push("the next start makes another trace".to_owned());
        }
        let left = names(&self.watched).into_iter().filter(|name| name != "out");
        outcome.wrong.extend(interrupted::left(left));
        Ok(())
    }

    /// What there is of a recording must be readable, under whatever name, unless it had only
    /// begun.
    fn after_recording(&self, bench: &Bench, outcome: &mut Outcome) -> Result<()> {
        outcome.is_kept = false;
        let mut unread = vec!["nothing is kept of the recording".to_owned()];
        for name in names(&self.watched) {
            let path = self.watched.join(&name);
            // Under its own name it is whole.
            let lenient: &[&str] = if name == "out" { &[] } else { &["--lenient"] };
            let read = bench
                .run(&[&["trace", "stat", text(&path)?], lenient].concat(), self.scene.folder())?;
            let is_read = read.status == Some(0);
            outcome.is_kept |= is_read;
            unread.extend((!is_read).then(|| format!("`{name}`: {}", read.complaint())));
        }
        if !outcome.is_kept && self.recorded_for >= KEPT_AFTER {
            outcome.wrong.push(unread.join("; "));
        }
        let next = self.watched.join("next");
        let mut again = self.scene.begin(self.variant, &next);
        again.extend(["--time".to_owned(), "20ms".to_owned()]);
        let ended = bench.run(&again, self.scene.folder())?;
        if ended.status != Some(0) {
            outcome.wrong.push(format!("the next start: {}", ended.complaint()));
        }
        Ok(())
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // An attempt that could not be made leaves no program running.
        let _ = self.child.kill();
        let _ = self.child.wait();
        drop(self.load.take());
    }
}

/// Changes in a folder.
#[derive(Debug)]
struct Changes {
    watch: rustix::fd::OwnedFd,
}

impl Changes {
    fn in_folder(folder: &Path) -> Result<Self> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags).context("watch a folder")?;
        inotify::add_watch(&watch, folder, CHANGES).context("watch a folder")?;
        Ok(Self { watch })
    }

    /// How many there were since it was last asked for.
    fn count(&mut self) -> u64 {
        let mut space = [MaybeUninit::uninit(); 4_096];
        let mut reader = inotify::Reader::new(&self.watch, &mut space);
        let mut count = 0;
        while reader.next().is_ok() {
            count += 1;
        }
        count
    }
}

/// Discards on a device until it is dropped: something to record.
#[derive(Debug)]
struct Load {
    ends: Arc<AtomicBool>,
    worker: Option<thread::JoinHandle<()>>,
}

impl Load {
    fn on(node: &str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (flag, node) = (Arc::clone(&ends), node.to_owned());
        let worker = thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                // A failure shows as a recording of nothing.
                let mut discard = std::process::Command::new("blkdiscard");
                let _ = discard.args(["--length", "1048576", &node]).output();
                thread::sleep(Duration::from_millis(5));
            }
        });
        Self { ends, worker: Some(worker) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
