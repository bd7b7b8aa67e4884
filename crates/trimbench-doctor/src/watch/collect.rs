//! Watching: requests by tracepoints or counters, waiting threads, pressure, and reads of our own.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::thread::nanosleep;
use rustix::time::Timespec;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{Instant, Nanos, OperationKind};
use trimbench_linux::{EventTask, RequestWatch, TracedRequest, TracingError, monotonic_time};

use super::counters::{DiskCounters, SAMPLE};
use super::latencies::{WatchLatencies, latencies};
use super::observation::{WatchObservation, WatchSource, WatchedRequest, WatchedThread};
use super::probe::OwnDiskReads;
use super::scene::WatchScene;
use super::threads::WaitingThreads;
use super::{WatchError, WatchOptions};

/// How often events are fetched.
const FETCH: Nanos = Nanos::from_millis(50);
/// Requests that are kept, 200 MB. Of what comes later only discards and slow requests are.
const KEPT_MAX: usize = 3 << 20;
const SLOW: Nanos = Nanos::from_millis(5);
const PRESSURE: &str = "/proc/pressure/io";

/// What was watched.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) seen: WatchObservation,
    /// Why there were no tracepoints.
    pub(super) source_reason: Option<String>,
    /// Fast requests that were not kept.
    pub(super) left_out: u64,
    /// For how long some threads waited for storage, and all.
    pub(super) pressure: [Option<Nanos>; 2],
}

/// Watches how long the requests of a disk take, beside something else that is done.
#[derive(Debug)]
pub struct LatencyWatch {
    watch: RequestWatch,
    threads: BTreeMap<EventTask, u32>,
    seen: WatchObservation,
}

impl LatencyWatch {
    /// Begins with the disk of this node: of a partition the whole disk. Needs root.
    ///
    /// # Errors
    /// See [`TracingError`].
    pub fn start(node: &Path) -> Result<Self, TracingError> {
        let device = BlockDevice::from_node(node).ok_or(TracingError::NoDevice)?;
        let watch = RequestWatch::start(&[device])?;
        let disks = watch.devices().iter().map(|disk| disk.name.clone()).collect();
        let seen = WatchObservation { disks, ..WatchObservation::default() };
        Ok(Self { watch, threads: BTreeMap::new(), seen })
    }

    /// The disks that are watched.
    pub fn disks(&self) -> &[String] {
        &self.seen.disks
    }

    /// Takes in what ended: to be called often enough that nothing is lost.
    pub fn take(&mut self) {
        let mut traced = Vec::new();
        self.watch.take(&mut traced);
        keep(traced, (&mut self.threads, None), &mut self.seen);
    }

    /// Of each class with and without discards in flight, of the requests that ended; and how many
    /// events were lost, at least.
    pub fn finish(mut self) -> (Vec<WatchLatencies>, u64) {
        self.take();
        self.seen.span = monotonic_time().saturating_sub(self.watch.begin());
        (latencies(&WatchScene::new(&self.seen)), self.watch.lost())
    }
}

/// Where requests come from.
enum Requests {
    Traced { watch: RequestWatch, threads: BTreeMap<EventTask, u32>, own: Option<u32> },
    Counted(Vec<DiskCounters>),
}

pub(super) fn collect(
    options: &WatchOptions,
    disks: &[BlockDevice],
) -> Result<Collected, WatchError> {
    let (mut requests, source_reason) = source(options, disks)?;
    let begin = match &requests {
        Requests::Traced { watch, .. } => watch.begin(),
        Requests::Counted(_) => monotonic_time(),
    };
    let mut waiting = WaitingThreads::new(&options.target, disks);
    let before = pressure();
    let own = if options.own_reads { OwnDiskReads::start(&disks[0]) } else { None };
    let mut seen = WatchObservation {
        source: requests.source(),
        disks: disks.iter().map(|disk| disk.name.clone()).collect(),
        resolution: requests.resolution(),
        ..WatchObservation::default()
    };
    let (mut left_out, mut next) = (0, begin);
    let elapsed = || monotonic_time().saturating_sub(begin);
    while elapsed() < options.span && !options.interrupt.requested() {
        next = (next + requests.interval()).max(monotonic_time());
        pass(next.min(begin + options.span).saturating_sub(monotonic_time()));
        requests.know(own.as_ref().and_then(OwnDiskReads::thread));
        left_out += requests.take(&mut seen, elapsed());
        waiting.look(elapsed());
    }
    requests.take_rest(&mut seen, elapsed());
    seen.span = elapsed();
    if let (Requests::Counted(_), Some(own)) = (&requests, &own) {
        seen.requests.extend(own.requests(begin));
    }
    seen.events_lost = requests.lost();
    seen.wait_resolution = waiting.resolution();
    seen.waits = waiting.end();
    let after = pressure();
    let pressure = [0, 1].map(|at| Some(after[at]?.saturating_sub(before[at]?)));
    Ok(Collected { seen, source_reason, left_out, pressure })
}

/// Lets time pass. A signal ends it early.
pub(super) fn pass(span: Nanos) {
    let seconds = i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX);
    let rest = i64::try_from(span.0 % 1_000_000_000).expect("less than a second fits");
    let _ = nanosleep(&Timespec { tv_sec: seconds, tv_nsec: rest });
}

fn source(
    options: &WatchOptions,
    disks: &[BlockDevice],
) -> Result<(Requests, Option<String>), WatchError> {
    let reason = if options.counters_only {
        None
    } else {
        match RequestWatch::start(disks) {
            Ok(watch) => {
                let (threads, own) = (BTreeMap::new(), None);
                return Ok((Requests::Traced { watch, threads, own }, None));
            }
            Err(error) => Some(error.to_string()),
        }
    };
    let counters = |disk: &BlockDevice| {
        let missing = || WatchError::NoCounters { disk: disk.name.clone() };
        DiskCounters::open(disk).ok_or_else(missing)
    };
    let counters = disks.iter().map(counters).collect::<Result<_, _>>()?;
    Ok((Requests::Counted(counters), reason))
}

impl Requests {
    fn source(&self) -> WatchSource {
        match self {
            Self::Traced { .. } => WatchSource::Tracepoints,
            Self::Counted(_) => WatchSource::Counters,
        }
    }

    fn interval(&self) -> Nanos {
        match self {
            Self::Traced { .. } => FETCH,
            Self::Counted(_) => SAMPLE,
        }
    }

    fn resolution(&self) -> Nanos {
        match self {
            Self::Traced { .. } => Nanos::ZERO,
            Self::Counted(_) => SAMPLE,
        }
    }

    fn lost(&self) -> u64 {
        match self {
            Self::Traced { watch, .. } => watch.lost(),
            Self::Counted(_) => 0,
        }
    }

    /// The thread that reads for the watch.
    fn know(&mut self, thread: Option<u32>) {
        if let Self::Traced { own, .. } = self {
            *own = own.or(thread);
        }
    }

    /// Appends what ended; how many requests were not kept.
    fn take(&mut self, seen: &mut WatchObservation, now: Nanos) -> u64 {
        match self {
            Self::Counted(disks) => {
                for (number, disk) in (0..).zip(disks) {
                    disk.look(number, now, &mut seen.requests);
                }
                0
            }
            Self::Traced { watch, threads, own } => {
                let mut traced = Vec::new();
                watch.take(&mut traced);
                keep(traced, (threads, *own), seen)
            }
        }
    }

    /// Appends what is left, at the end.
    fn take_rest(&mut self, seen: &mut WatchObservation, now: Nanos) {
        match self {
            Self::Counted(_) => {
                self.take(seen, now);
            }
            Self::Traced { watch, threads, own } => {
                let mut traced = Vec::new();
                watch.take_rest(&mut traced);
                keep(traced, (threads, *own), seen);
            }
        }
    }
}

/// Adds requests to what was seen; how many were not kept.
fn keep(
    traced: Vec<TracedRequest>,
    (threads, own): (&mut BTreeMap<EventTask, u32>, Option<u32>),
    seen: &mut WatchObservation,
) -> u64 {
    let mut left_out = 0;
    for TracedRequest { request, length, task } in traced {
        let at = |instant: Instant| (instant != Instant::NEVER).then(|| instant.since_start());
        let (entered, completed) = (request.entered.since_start(), at(request.completed));
        let is_fast = completed.is_some_and(|end| end.saturating_sub(entered) < SLOW);
        if seen.requests.len() >= KEPT_MAX && is_fast && request.kind != OperationKind::Discard {
            left_out += 1;
            continue;
        }
        let thread = *threads.entry(task).or_insert_with(|| {
            seen.threads.push(WatchedThread { name: task.name(), pid: task.thread });
            u32::try_from(seen.threads.len() - 1).unwrap_or(u32::MAX)
        });
        seen.requests.push(WatchedRequest {
            disk: request.device,
            kind: request.kind,
            count: 1,
            length,
            entered,
            issued: at(request.issued),
            completed,
            thread: Some(thread),
            is_own: own == Some(task.thread),
        });
    }
    left_out
}

/// For how long some threads of the machine have waited for storage, and all. Source:
/// Documentation/accounting/psi.rst of Linux; in microseconds.
fn pressure() -> [Option<Nanos>; 2] {
    let text = std::fs::read_to_string(PRESSURE).unwrap_or_default();
    let total = |line: &str| {
        let fields = text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(' '))?;
        let total = fields.split_ascii_whitespace().find_map(|it| it.strip_prefix("total="))?;
        total.parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
    };
    ["some", "full"].map(total)
}
