//! Step `fuzz`: every reader of what others wrote, fed with damaged inputs and garbage, until
//! something breaks.
//!
//! An *execution* is drawn from a seed, a [`FuzzSubject`] and a number alone: an input of the
//! corpus or garbage, what is done to it, how it is read. It must end, with what was understood or
//! an error: no panic, no hang, no more than 256 MiB. What else must hold is each subject's: stamps
//! of traces never go back; what is understood of a record is written and reads as the same; a
//! profile that passes its checks is a drive that works; a text that is read prints as one that
//! means the same; no text of a record is more than text in a report.
//!
//! Damages are of bytes, and of the tree that a document is (`tree`), so that most inputs get
//! past the first look of a parser. By mutation, without feedback of what code was reached: that
//! takes a nightly compiler, and this runs on the one that builds everything else. The corpus holds
//! an input for each path instead, and how executions end is counted by the name of the error.

mod mutate;
mod options;
mod profiles;
mod records;
mod reports;
mod subject;
mod traces;
mod tree;

use std::alloc::System;
use std::collections::BTreeMap;
use std::fs;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use cap::Cap;
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;

use crate::process;
pub use subject::FuzzSubject;
use subject::{Done, End, Feed};

#[cfg(test)]
mod tests;

/// An execution that is not over after so much processor time of all workers, for each of them,
/// hangs. Not wall time, which goes on while the machine is stopped; and of all workers, so that
/// one that waits for ever is seen beside one that works.
const HANG: Duration = Duration::from_secs(20);
/// What all executions at once may take at most, touched or not. The largest input that is read has
/// a few KB; the rest is windows of decoders, and tables of small drives.
const MEMORY_MAX_KIB: u64 = 256 << 10;
/// How often that is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Counts what is allocated: what was asked for and never touched is in no other count.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What the user asks for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FuzzOptions {
    /// What is drawn from
    #[arg(default_value_t = 1)]
    pub seed: u64,
    /// What is read
    #[arg(long, value_enum, default_value_t)]
    pub subject: FuzzSubject,
    /// The number of the first input
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub first: u64,
    /// How many inputs are read
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub executions: u64,
    /// This one only
    #[arg(long, value_name = "NUMBER")]
    pub execution: Option<u64>,
    /// The summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// What it came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FuzzSummary {
    /// What was read.
    pub subject: String,
    /// What executions were drawn from.
    pub seed: u64,
    /// Those that were run.
    pub executions: u64,
    /// Those whose input was understood, a trace to its end.
    pub whole: u64,
    /// Those that ended with an error, as they should.
    pub refused: u64,
    /// How they ended, and how many so: as what an input was understood, or the name of the error.
    pub ends: BTreeMap<String, u64>,
    /// Records of traces that were handed out; elsewhere the same as `whole`.
    pub records: u64,
    /// Panics of a decoder that the reader turned into an error.
    pub caught_panics: u64,
    /// Executions in which something did not hold.
    pub violations: u64,
    /// The most memory that the process took, touched or not, KiB.
    pub memory_kib: u64,
    /// The slowest execution.
    pub slowest_seconds: f64,
    /// Its number.
    pub slowest_number: u64,
    /// Wall time.
    pub seconds: f64,
}

impl FuzzSummary {
    /// Whether everything held.
    pub fn is_good(&self) -> bool {
        self.violations == 0 && self.executions > 0
    }

    /// Notes how long an execution took.
    fn slower(&mut self, seconds: f64, number: u64) {
        if seconds > self.slowest_seconds {
            (self.slowest_seconds, self.slowest_number) = (seconds, number);
        }
    }
}

/// Runs executions on all processors and prints what they came to; whether that is good.
pub fn run(options: FuzzOptions) -> Result<bool> {
    let start = Instant::now();
    let feed = options.subject.feed()?;
    let state = State::new(options);
    let quiet = Quiet::new();
    thread::scope(|scope| -> Result<()> {
        let (state, feed) = (&state, &*feed);
        let spawn = |slot| scope.spawn(move || state.work(feed, slot));
        let workers: Vec<_> = state.slots.iter().map(spawn).collect();
        let mut watch = Watch::new(workers.len());
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(LOOK);
            state.check(&mut watch)?;
        }
        Ok(())
    })?;
    let mut summary = state.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.caught_panics = quiet.panics().saturating_sub(summary.violations);
    summary.memory_kib = memory_kib()?;
    summary.seconds = start.elapsed().as_secs_f64();
    if options.json {
        println!("{}", serde_json::to_string(&summary).context("write the summary")?);
    } else {
        println!("{summary:#?}");
    }
    if process::interrupted() {
        bail!("interrupted");
    }
    Ok(summary.is_good())
}

/// What CI runs: a seed that stays the same.
pub fn smoke() -> Result<bool> {
    let parts = [
        (FuzzSubject::Traces, 200_000),
        (FuzzSubject::Records, 20_000),
        (FuzzSubject::Reports, 10_000),
        (FuzzSubject::Profiles, 20_000),
        (FuzzSubject::Options, 50_000),
    ];
    let smoke = |(subject, executions)| {
        run(FuzzOptions { subject, seed: 1, first: 0, executions, execution: None, json: false })
    };
    parts.into_iter().try_fold(true, |good, part| Ok(good & smoke(part)?))
}

/// What the workers share.
#[derive(Debug)]
struct State {
    subject: FuzzSubject,
    seed: u64,
    next: AtomicU64,
    end: u64,
    stop: AtomicBool,
    /// The number of the execution that each worker is at.
    slots: Vec<AtomicU64>,
    summary: Mutex<FuzzSummary>,
}

impl State {
    fn new(options: FuzzOptions) -> Self {
        let all = options.first..options.first.saturating_add(options.executions);
        let numbers = options.execution.map_or(all, |number| number..number + 1);
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let (subject, seed) = (options.subject, options.seed);
        let empty =
            FuzzSummary { subject: subject.id().to_owned(), seed, ..FuzzSummary::default() };
        Self {
            subject,
            seed,
            next: AtomicU64::new(numbers.start),
            end: numbers.end,
            stop: AtomicBool::new(false),
            slots: (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect(),
            summary: Mutex::new(empty),
        }
    }

    /// Runs executions until there are no more, or one has failed.
    fn work(&self, feed: &dyn Feed, slot: &AtomicU64) {
        let (mut sum, mut ends) = (FuzzSummary::default(), BTreeMap::<End, u64>::new());
        while !self.stop.load(Ordering::Relaxed) && !process::interrupted() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.end {
                break;
            }
            let begun = Instant::now();
            slot.store(number, Ordering::Relaxed);
            sum.executions += 1;
            match execute(feed, self.seed, number) {
                Ok(done) => {
                    sum.records += done.records;
                    sum.whole += u64::from(done.whole);
                    sum.refused += u64::from(!done.whole);
                    *ends.entry(done.end).or_default() += 1;
                }
                Err(violation) => {
                    sum.violations += 1;
                    self.stop.store(true, Ordering::Relaxed);
                    eprintln!("error: execution {number}: {violation}\n{}", self.again(number));
                }
            }
            sum.slower(begun.elapsed().as_secs_f64(), number);
        }
        slot.store(u64::MAX, Ordering::Relaxed);
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        for (end, count) in ends {
            *summary.ends.entry(end.into_owned()).or_default() += count;
        }
        summary.executions += sum.executions;
        summary.whole += sum.whole;
        summary.refused += sum.refused;
        summary.records += sum.records;
        summary.violations += sum.violations;
        summary.slower(sum.slowest_seconds, sum.slowest_number);
    }

    /// Ends the process if an execution hangs or takes too much memory: neither can be stopped.
    fn check(&self, watch: &mut Watch) -> Result<()> {
        let memory = memory_kib()?;
        let at: Vec<u64> = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).collect();
        let hanging = watch.look(&at, processor_time()?);
        let wrong = if memory > MEMORY_MAX_KIB {
            at.iter().map(|&number| (number, format!("{memory} KiB"))).collect()
        } else {
            hanging.map(|number| (number, "hangs".to_owned())).into_iter().collect::<Vec<_>>()
        };
        for (number, what) in &wrong {
            eprintln!("error: execution {number}: {what}\n{}", self.again(*number));
        }
        if !wrong.is_empty() {
            std::process::exit(1);
        }
        Ok(())
    }

    fn again(&self, number: u64) -> String {
        let Self { subject, seed, .. } = self;
        format!("again: cargo xtask fuzz {seed} --subject {} --execution {number}", subject.id())
    }
}

/// Runs one execution; an error is what did not hold.
fn execute(feed: &dyn Feed, seed: u64, number: u64) -> Result<Done, String> {
    feed.run(&mut Rng::new(seed).split(&number.to_string()))
}

/// What each worker is at, and the processor time of the process when it was first seen there.
#[derive(Debug)]
struct Watch {
    seen: Vec<(u64, Duration)>,
}

impl Watch {
    fn new(workers: usize) -> Self {
        Self { seen: vec![(u64::MAX, Duration::ZERO); workers] }
    }

    /// An execution that hangs, where the workers are `at` these after `used` processor time.
    fn look(&mut self, at: &[u64], used: Duration) -> Option<u64> {
        let limit = HANG * u32::try_from(at.len()).expect("workers are few");
        for (&number, (before, since)) in at.iter().zip(&mut self.seen) {
            if number != *before {
                (*before, *since) = (number, used);
            } else if number != u64::MAX && used.saturating_sub(*since) >= limit {
                return Some(number);
            }
        }
        None
    }
}

/// Panics are counted instead of printed, as long as this lives.
struct Quiet {
    /// Panics that were counted before.
    before: u64,
}

static PANICS: AtomicU64 = AtomicU64::new(0);

impl Quiet {
    fn new() -> Self {
        panic::set_hook(Box::new(|info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            subject::note_place(info.location());
        }));
        Self { before: PANICS.load(Ordering::Relaxed) }
    }

    fn panics(&self) -> u64 {
        PANICS.load(Ordering::Relaxed) - self.before
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        drop(panic::take_hook());
    }
}

/// What this process has computed so far.
fn processor_time() -> Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).context("read the processor time")
}

/// The most memory that this process took so far: resident, or allocated.
fn memory_kib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    Ok(process::peak_kib(&status)?.max(ALLOCATOR.max_allocated() as u64 / 1024))
}
