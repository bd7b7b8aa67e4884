//! Step `fuzz`: every reader of traces, fed with damaged files and garbage, until something breaks.
//!
//! An *execution* is drawn from a seed and a number alone: a file of the corpus (each format, each
//! packing) or garbage, what is done to it, how it is read. It must end, with records or an error:
//! no panic, no hang, memory bounded; stamps never go back, no range ends beyond 2^64 - 1, and no
//! more records come than a file of that length can hold.
//!
//! By mutation, without feedback of what code was reached: that takes a nightly compiler, and this
//! runs on the one that builds everything else. The corpus holds a file for each path instead.

mod corpus;
mod execution;
mod mutate;

use std::fs;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::process;
use corpus::Corpus;

#[cfg(test)]
mod tests;

/// An execution that is not over after so much processor time of all workers, for each of them,
/// hangs. Not wall time, which goes on while the machine is stopped; and of all workers, so that
/// one that waits for ever is seen beside one that works.
const HANG: Duration = Duration::from_secs(20);
/// What all executions at once may take at most. The largest file of a trace that is read has a
/// few KB; the rest is windows of decoders.
const MEMORY_MAX_KIB: u64 = 1 << 20;
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What the user asks for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// What executions are drawn from.
    pub seed: u64,
    /// The first of them.
    pub first: u64,
    /// How many, from the first on.
    pub executions: u64,
    /// This one only.
    pub only: Option<u64>,
    /// The summary as JSON.
    pub json: bool,
}

/// What it came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What executions were drawn from.
    pub seed: u64,
    /// Those that were run.
    pub executions: u64,
    /// Those that were read to the end.
    pub whole: u64,
    /// Those that ended with an error, as they should.
    pub refused: u64,
    /// Records that were handed out.
    pub records: u64,
    /// Panics of a decoder that the reader turned into an error.
    pub caught_panics: u64,
    /// Executions in which something did not hold.
    pub violations: u64,
    /// The most memory that the process took, KiB.
    pub memory_kib: u64,
    /// The slowest execution.
    pub slowest_seconds: f64,
    /// Wall time.
    pub seconds: f64,
}

impl Summary {
    /// Whether everything held.
    pub fn is_good(&self) -> bool {
        self.violations == 0 && self.executions > 0
    }
}

/// Runs executions on all processors and prints what they came to; whether that is good.
pub fn run(wish: Wish) -> Result<bool> {
    let start = Instant::now();
    let corpus = Corpus::new()?;
    let state = State::new(wish);
    let quiet = Quiet::new();
    thread::scope(|scope| -> Result<()> {
        let (state, corpus) = (&state, &corpus);
        let spawn = |slot| scope.spawn(move || state.work(corpus, slot));
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
    if wish.json {
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
    run(Wish { seed: 1, first: 0, executions: 200_000, only: None, json: false })
}

/// What the workers share.
#[derive(Debug)]
struct State {
    seed: u64,
    next: AtomicU64,
    end: u64,
    stop: AtomicBool,
    /// The number of the execution that each worker is at.
    slots: Vec<AtomicU64>,
    summary: Mutex<Summary>,
}

impl State {
    fn new(wish: Wish) -> Self {
        let numbers =
            wish.only.map_or(wish.first..wish.first + wish.executions, |only| only..only + 1);
        let workers = thread::available_parallelism().map_or(1, usize::from);
        Self {
            seed: wish.seed,
            next: AtomicU64::new(numbers.start),
            end: numbers.end,
            stop: AtomicBool::new(false),
            slots: (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect(),
            summary: Mutex::new(Summary { seed: wish.seed, ..Summary::default() }),
        }
    }

    /// Runs executions until there are no more, or one has failed.
    fn work(&self, corpus: &Corpus, slot: &AtomicU64) {
        let mut sum = Summary::default();
        while !self.stop.load(Ordering::Relaxed) && !process::interrupted() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.end {
                break;
            }
            let begun = Instant::now();
            slot.store(number, Ordering::Relaxed);
            sum.executions += 1;
            match execution::run(corpus, self.seed, number) {
                Ok(done) => {
                    sum.records += done.records;
                    sum.whole += u64::from(done.whole);
                    sum.refused += u64::from(!done.whole);
                }
                Err(violation) => {
                    sum.violations += 1;
                    self.stop.store(true, Ordering::Relaxed);
                    eprintln!("error: execution {number}: {violation}\n{}", self.again(number));
                }
            }
            sum.slowest_seconds = sum.slowest_seconds.max(begun.elapsed().as_secs_f64());
        }
        slot.store(u64::MAX, Ordering::Relaxed);
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        summary.executions += sum.executions;
        summary.whole += sum.whole;
        summary.refused += sum.refused;
        summary.records += sum.records;
        summary.violations += sum.violations;
        summary.slowest_seconds = summary.slowest_seconds.max(sum.slowest_seconds);
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
        format!("again: cargo xtask fuzz {} --execution {number}", self.seed)
    }
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
        panic::set_hook(Box::new(|_| {
            PANICS.fetch_add(1, Ordering::Relaxed);
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

/// The most memory that this process took so far.
fn memory_kib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    process::peak_kib(&status)
}
