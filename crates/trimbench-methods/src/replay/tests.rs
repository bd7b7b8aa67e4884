mod fitting;
mod looking;
mod passes;
mod threads;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use trimbench_core::rng::Rng;
use trimbench_core::{BlockCommand, BlockSize, Bytes, Instant, Nanos, Virtual};
use trimbench_results::Step;
use trimbench_trace::{Record, RecordKind, TraceError, TraceSource, Traces};

use super::*;
use trimbench_core::Device;
use trimbench_engine::testing::{KeptSteps, Toy, settings};
use trimbench_engine::{MethodDefinition as _, MethodResult, Preset, SessionContext, Slots};

/// A trace in memory.
struct Listed {
    records: Vec<Record>,
    timed: bool,
    given: bool,
    /// It cannot be read behind its records.
    broken: bool,
}

impl TraceSource for Listed {
    fn is_timed(&self) -> bool {
        self.timed
    }

    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        batch.clear();
        if !self.given {
            self.given = true;
            batch.extend(&self.records);
        } else if self.broken {
            let error = io::Error::other("the disk is gone");
            return Err(TraceError::Io { name: "trace".to_owned(), error });
        }
        Ok(())
    }
}

/// Opens one trace, whatever it is called; some openings give one that breaks off.
struct Shelf {
    records: Vec<Record>,
    timed: bool,
    opened: AtomicUsize,
    broken: &'static [usize],
}

impl Shelf {
    fn of(records: Vec<Record>) -> Self {
        Self { records, timed: true, opened: AtomicUsize::new(0), broken: &[] }
    }
}

impl Traces for Shelf {
    fn open(&self, _: &str) -> Result<Box<dyn TraceSource>, TraceError> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let broken = self.broken.contains(&number);
        let (records, timed) = (self.records.clone(), self.timed);
        Ok(Box::new(Listed { records, timed, given: false, broken }))
    }
}

/// A replay of the shelf's trace, at rest for no time.
fn replay(set: &[(&str, &str)]) -> Replay {
    let own = [("trace", "shelf"), ("rest", "0"), ("span", "all"), ("window", "100")];
    let set = settings(&[&own, set].concat());
    Replay::resolve(Preset::Quick, &set).unwrap()
}

fn run(
    method: &Replay,
    device: &mut dyn Device,
    shelf: &Shelf,
    done: Vec<Step>,
) -> (Result<MethodResult, MethodError>, KeptSteps) {
    let mut keeper = KeptSteps::default();
    let interrupt = keeper.interrupt.clone();
    let rng = Rng::new(7);
    let (monitor, traces) = (&mut keeper, shelf);
    let slots = &Slots::new(1, Bytes(0));
    let context = SessionContext { rng: &rng, interrupt: &interrupt, monitor, traces, slots, done };
    let found = trimbench_engine::method::run(method, Opened::Device(device), context);
    (found, keeper)
}

/// A command of 4 KiB units at a time in microseconds.
fn record(micros: u64, kind: RecordKind, first: u64, units: u64) -> Record {
    let (offset, length) = (Bytes(first * 4_096), Bytes(units * 4_096));
    Record { time: Nanos::from_micros(micros), kind, offset, length }
}

/// 2,000 commands within 16 MiB; every tenth a TRIM of what was written before, and bursts.
fn mixed() -> Vec<Record> {
    let mut rng = Rng::new(3);
    let mut micros = 0;
    let commands = (0..2_000).map(|number| {
        micros += if number % 50 == 0 { 30_000 } else { rng.below(40) };
        let first = rng.below(4_000);
        let kind = if number % 10 == 9 { RecordKind::Discard } else { RecordKind::Write };
        record(micros, kind, first, 1 + rng.below(8))
    });
    commands.collect()
}

/// What a device was sent behind its fill, with the times since the first of it.
fn sent(log: &[(Instant, BlockCommand)], fill: usize) -> Vec<(Nanos, BlockCommand)> {
    let log = &log[fill..];
    log.iter().map(|(at, command)| (at.since(log[0].0), *command)).collect()
}

/// Start and end in bytes of what has a place.
fn place(command: &BlockCommand) -> (u64, u64) {
    let (BlockCommand::Read(range)
    | BlockCommand::Discard(range)
    | BlockCommand::Write { range, .. }) = command
    else {
        panic!("{command:?} has a place")
    };
    (range.start().0 * 512, range.end().0 * 512)
}

/// Commands of a fill of [`Toy`], which takes pieces of 1 MiB.
const FILL: usize = 16;
