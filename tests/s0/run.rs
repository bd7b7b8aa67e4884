//! One run of PostMark on an emulated drive below the modelled filesystem, and many in parallel.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{BlockCommand, Bytes, Interrupt, Model, Opened, Virtual};
use trimbench_engine::MethodDefinition as _;
use trimbench_engine::{KeepFailed, Monitor, Slots, Stage};
use trimbench_engine::{Preset, SessionContext};
use trimbench_fs::{FileSystem, FsConfig};
use trimbench_methods::postmark::{METRICS, Postmark, PostmarkStep};
use trimbench_results::Step;
use trimbench_ssd::{PreconditionStep, SsdConfig};
use trimbench_trace::NoTraces;

use super::published::{Durations, PublishedColumn};

/// PostMark's seed in the first repetition: its own. Each further one has the next number.
const FIRST_SEED: u32 = 42;
/// What the drive had written before mkfs trimmed it, in the second repetition; in each further one
/// as much more.
const WRITTEN_BEFORE: Bytes = Bytes::mib(100);
/// Bytes of a mapping unit.
const UNIT: u64 = 4_096;

/// Simulations side by side.
const THREADS: usize = 2;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRun {
    /// The drive.
    pub vendor: String,
    /// The column of its table.
    pub column: PublishedColumn,
    /// Which repetition, from 0 on.
    pub repetition: u32,
    /// How long the phases took.
    pub durations: Durations,
    /// The 13 metrics, in the order of the tables, by their true formulas.
    pub metrics: Vec<f64>,
    /// From the end of the last deletion to that of the last discard, in seconds.
    pub after: f64,
}

/// Runs one repetition of a column on a drive.
fn repeat(
    (vendor, config): (&str, &SsdConfig),
    column: PublishedColumn,
    repetition: u32,
) -> Result<ColumnRun> {
    let mut drive = config.clone().build().context("build the drive")?;
    let units = narrow(WRITTEN_BEFORE.0 / UNIT * u64::from(repetition));
    drive.precondition_with((0..units).map(PreconditionStep::Write));
    drive.precondition_with((0..units).map(PreconditionStep::Discard));
    Ok(play((vendor, drive), column, repetition)?.run)
}

/// A run, and what is known beside it.
pub(super) struct Played<M> {
    pub(super) run: ColumnRun,
    /// Files that the last phase deleted.
    pub(super) deleted_alone: f64,
    pub(super) device: M,
}

/// Runs a column on this device.
pub(super) fn play<M: Model<Command = BlockCommand>>(
    (vendor, device): (&str, M),
    column: PublishedColumn,
    repetition: u32,
) -> Result<Played<M>> {
    let machine = FsConfig::s0();
    let discard = machine.discard.filter(|_| column.discard);
    let filesystem = FileSystem::make(FsConfig { discard, ..machine }, device)?;
    let set = [
        ("repetitions", "1".to_owned()),
        ("seed", (FIRST_SEED + repetition).to_string()),
        ("buffering", column.buffered.to_string()),
    ];
    let set: BTreeMap<_, _> = set.map(|(key, value)| (key.to_owned(), value)).into();
    let method = Postmark::resolve(Preset::Published, &set)?;
    let mut target = Virtual::new(filesystem);
    let (interrupt, rng) = (Interrupt::default(), Rng::new(u64::from(repetition)));
    let context = SessionContext {
        rng: &rng,
        interrupt: &interrupt,
        monitor: &mut Silent,
        traces: &NoTraces,
        slots: &Slots::new(1, Bytes(0)),
        done: Vec::new(),
    };
    let found = trimbench_engine::run(&method, Opened::Directory(&mut target), context)?;
    let step = found.steps.first().context("one repetition was measured")?;
    let step: PostmarkStep = step.read()?;
    let phases = step.phases;
    let durations = Durations {
        creation: phases.creation_s,
        transactions: phases.transactions_s,
        deletion: phases.deletion_s,
    };
    let metrics: Option<Vec<f64>> = METRICS.iter().map(|metric| (metric.value)(&step)).collect();
    let run = ColumnRun {
        vendor: vendor.to_owned(),
        column,
        repetition,
        durations,
        metrics: metrics.context("a phase took no time")?,
        after: step.sync_s + step.drain_s,
    };
    let deleted_alone = phases.deleted_alone_count as f64;
    Ok(Played { run, deleted_alone, device: target.into_model().into_device() })
}

/// Runs the columns of drives, each `repetitions` times; in the order of drives, columns and
/// repetitions.
pub fn runs(drives: &[(String, SsdConfig)], repetitions: u32) -> Result<Vec<ColumnRun>> {
    let mut wanted = Vec::new();
    for (vendor, config) in drives {
        for column in PublishedColumn::ALL {
            let runs = (0..repetitions).map(|number| ((vendor.as_str(), config), column, number));
            wanted.extend(runs);
        }
    }
    side_by_side(&wanted, |&(drive, column, repetition)| repeat(drive, column, repetition))
}

/// Does `work` on each item, [`THREADS`] at a time; the results in the order of the items.
fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            let result = work(item);
            done.lock().expect("no worker panicked").push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(worker);
        }
    });
    let mut done = done.into_inner().expect("no worker panicked");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A monitor that ignores everything.
struct Silent;

impl Monitor for Silent {
    fn stage(&mut self, _: &Stage<'_>) {}

    fn keep(&mut self, _: &Step) -> Result<(), KeepFailed> {
        Ok(())
    }
}
