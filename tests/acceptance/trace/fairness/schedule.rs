//! When the commands of a replay are submitted to an emulated drive, with and without the TRIMs of
//! the trace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Completion, Content, Device, DeviceStatistics, Drive,
    DriveError, Drives, Instant, Interrupt, LbaRange, Model, Nanos, Opened, Ppm, PurgeMeans,
    Rejected, Tag, TrimPromise, Virtual, Wear,
};
use trimbench_engine::{
    KeepFailed, MethodDefinition as _, Monitor, Preset, SessionContext, Slots, Stage,
};
use trimbench_methods::replay::Replay;
use trimbench_results::Step;
use trimbench_ssd::{Profile, Ssd, SsdConfig};
use trimbench_trace::generate::{Mix, MixConfig};
use trimbench_trace::{Record, RecordKind, TraceError, TraceSource, Traces};

/// A drive that stops for each TRIM, large enough for a huge one.
const DRIVE: &str = "vendor2";
const CAPACITY: Bytes = Bytes::gib(8);
/// The huge TRIM, start and end in bytes; and how many commands come before it.
pub(super) const HUGE: (u64, u64) = (4_096, 4_096 + (4 << 30) + 4_096);
const BEFORE: usize = 1_000;
/// The other commands: some 20 ms apart, of which one in twenty is a TRIM.
const MIX: MixConfig = MixConfig {
    capacity: CAPACITY,
    commands: 4_000,
    reads: Ppm(0),
    discards: Ppm(50_000),
    flushes: Ppm(5_000),
    size: Bytes(16 << 10),
    sequential: Ppm(250_000),
    gap: Nanos::from_millis(20),
};

/// A command that reached the drive. The time counts from the first one, in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Issue {
    pub(super) at: u64,
    pub(super) kind: String,
    /// In bytes; 0 for a flush.
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// The mix with the huge TRIM in it.
struct Trace {
    mix: Mix,
    given: usize,
}

impl TraceSource for Trace {
    fn is_timed(&self) -> bool {
        true
    }

    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        self.mix.read(batch)?;
        let place = BEFORE.checked_sub(self.given).filter(|place| *place < batch.len());
        self.given += batch.len();
        if let Some(place) = place {
            let (offset, length) = (Bytes(HUGE.0), Bytes(HUGE.1 - HUGE.0));
            let time = batch[place].time;
            batch.insert(place, Record { time, kind: RecordKind::Discard, offset, length });
        }
        Ok(())
    }
}

/// Opens it under any name.
struct OneTrace;

impl Traces for OneTrace {
    fn open(&self, _: &str) -> Result<Box<dyn TraceSource>, TraceError> {
        let mix = Mix::new(MIX, Rng::new(1)).expect("a mix of checked numbers");
        Ok(Box::new(Trace { mix, given: 0 }))
    }
}

/// What reached a drive, and when.
type Log = Arc<Mutex<Vec<(Instant, BlockCommand)>>>;

/// A drive that notes its commands.
struct Logged {
    ssd: Ssd,
    log: Log,
}

impl Model for Logged {
    type Command = BlockCommand;

    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push((now, command));
        self.ssd.submit(now, tag, command)
    }

    fn next_event(&self) -> Instant {
        self.ssd.next_event()
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        self.ssd.advance(now, out);
    }

    fn statistics(&self) -> DeviceStatistics {
        self.ssd.statistics()
    }

    fn capabilities(&self) -> &Capabilities {
        self.ssd.capabilities()
    }
}

impl Drive for Logged {
    fn purge_means(&self) -> PurgeMeans {
        self.ssd.purge_means()
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        Drive::purge(&mut self.ssd)
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        self.ssd.examine(range, out)
    }

    fn trim_promise(&self) -> TrimPromise {
        self.ssd.trim_promise()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.ssd.wear()
    }
}

/// One drive, filled.
struct OneDrive {
    config: SsdConfig,
    capabilities: Capabilities,
    log: Log,
}

impl Drives for OneDrive {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn make(&self) -> Box<dyn Device> {
        let mut ssd = self.config.clone().build().expect("the numbers of a profile");
        ssd.precondition_sequential(Bytes(0), CAPACITY);
        Box::new(Virtual::new(Logged { ssd, log: Arc::clone(&self.log) }))
    }
}

/// Shows nothing and keeps nothing.
struct Silent;

impl Monitor for Silent {
    fn stage(&mut self, _: &Stage<'_>) {}

    fn keep(&mut self, _: &Step) -> Result<(), KeepFailed> {
        Ok(())
    }
}

/// What reaches the drive when the trace is replayed at its own times: `kept` with its TRIMs,
/// `stripped` without.
pub(super) fn issues(pass: &str) -> Result<Vec<Issue>> {
    let set = [("trace", "it"), ("span", "all"), ("pace", "100%"), ("passes", pass)];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let method = Replay::resolve(Preset::Quick, &BTreeMap::from(set))?;
    let profile = Profile::built_in(DRIVE).context("a built-in profile")?;
    let config = SsdConfig { capacity: CAPACITY, ..profile.config };
    let (capabilities, log) = (config.capabilities(), Log::default());
    let drive = OneDrive { config, capabilities, log: Arc::clone(&log) };
    let (rng, interrupt) = (Rng::new(1), Interrupt::default());
    let (monitor, traces, done) = (&mut Silent, &OneTrace, Vec::new());
    let slots = &Slots::new(1, Bytes(0));
    let context = SessionContext { rng: &rng, interrupt: &interrupt, monitor, traces, slots, done };
    trimbench_engine::run(&method, Opened::Drives(&drive), context)?;
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let begun = log.first().context("nothing was issued")?.0;
    let issue = |(at, command): &(Instant, BlockCommand)| {
        let (kind, range) = match command {
            BlockCommand::Read(range) => ("read", Some(range)),
            BlockCommand::Write { range, .. } => ("write", Some(range)),
            BlockCommand::Discard(range) => ("discard", Some(range)),
            BlockCommand::Flush => ("flush", None),
        };
        let bytes = |blocks: u64| blocks * 512;
        Issue {
            at: at.since(begun).0,
            kind: kind.to_owned(),
            offset: range.map_or(0, |range| bytes(range.start().0)),
            length: range.map_or(0, |range| bytes(range.length().0)),
        }
    };
    Ok(log.iter().map(issue).collect())
}
