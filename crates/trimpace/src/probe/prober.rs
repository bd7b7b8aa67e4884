//! The threads that make the requests: one keeps the schedule, others wait for the device.
//!
//! The schedule does not depend on when requests end: what falls into a stall is submitted in it,
//! so that the share of late requests is that of the time. A gap varies by half of itself, so that
//! the schedule keeps no step with anything.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use trimbench_claim::random;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Instant, Nanos};
use trimbench_linux::{AlignedBuffer, exact_timers, monotonic_time, pause, run_first};
use trimbench_policy::pacing::SeenRequest;

use super::place::{ProbePlace, READ};

/// Requests under way at once. More that are due wait for one of these.
const WORKERS: usize = 8;
/// Requests that are due and wait, at most: those of a longer stall are taken to end with it.
const WAITING: usize = 8;
/// A longer gap is looked at again after this, for it may have been shortened.
const SLICE: Nanos = Nanos::from_millis(1);

/// What a probe asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// A read of 4 KiB.
    Reads,
    /// A flush of its volatile cache, as each `fsync` needs one.
    Flushes,
}

/// Makes requests until it is dropped.
#[derive(Debug)]
pub struct Prober {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    place: ProbePlace,
    kind: ProbeKind,
    /// From one request to the next, nanoseconds.
    gap: AtomicU64,
    ending: AtomicBool,
    made: Mutex<Made>,
    /// Told when a request is due.
    due: Condvar,
}

#[derive(Debug, Default)]
struct Made {
    /// Those that are due: when, and what they stand for.
    waiting: VecDeque<(Instant, Nanos)>,
    /// When those under way were due.
    under_way: Vec<Instant>,
    seen: Vec<SeenRequest>,
    /// Requests so far.
    count: u64,
    /// What ended the probe: the device answers no more.
    failure: Option<io::Error>,
    has_failed: bool,
}

impl Prober {
    /// Begins.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(place: ProbePlace, kind: ProbeKind, gap: Nanos) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            place,
            kind,
            gap: AtomicU64::new(gap.0),
            ending: AtomicBool::new(false),
            made: Mutex::default(),
            due: Condvar::new(),
        });
        let mut prober = Self { shared, threads: Vec::new() };
        for number in 0..=WORKERS {
            let shared = Arc::clone(&prober.shared);
            let run = move || if number == 0 { shared.schedule() } else { shared.work() };
            prober.threads.push(std::thread::Builder::new().name("probe".to_owned()).spawn(run)?);
        }
        Ok(prober)
    }

    /// From now on, requests are this far apart, in the mean.
    pub fn set_gap(&self, gap: Nanos) {
        self.shared.gap.store(gap.0, Ordering::Relaxed);
    }

    /// The requests that were completed since the last call.
    pub fn take(&self) -> Vec<SeenRequest> {
        std::mem::take(&mut self.shared.lock().seen)
    }

    /// How many were made so far; their number is subtracted from what the device counts.
    pub fn count(&self) -> u64 {
        self.shared.lock().count
    }

    /// Whether one that was due before this instant is under way or waits.
    pub fn waits_since(&self, instant: Instant) -> bool {
        let made = self.shared.lock();
        let waiting = made.waiting.iter().map(|(due, _)| due);
        !made.has_failed && waiting.chain(&made.under_way).any(|due| *due < instant)
    }

    /// Why no more requests are made, if the device has refused one. Told once.
    pub fn failure(&self) -> Option<io::Error> {
        self.shared.lock().failure.take()
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        self.shared.due.notify_all();
        // A request that hangs in the kernel cannot be cancelled: then its thread is left behind.
        let long_ago = |due: &Instant| now().since(*due) > Nanos::from_secs(1);
        if !self.shared.lock().under_way.iter().any(long_ago) {
            self.threads.drain(..).for_each(|thread| drop(thread.join()));
        }
    }
}

impl Shared {
    fn schedule(&self) {
        exact_timers();
        // Waiting for a processor is no latency of the device. Refused, it is a little less exact.
        run_first(1);
        let mut rng = Rng::new(random().unwrap_or(1));
        let mut gap = self.gap();
        let mut due = now();
        while !self.ending.load(Ordering::Relaxed) {
            let latest = self.gap();
            if latest != gap {
                // As if the new distance had been kept always: the next is due at any time of it.
                gap = latest;
                due = now() + Nanos(gap.0 * rng.below(1 << 10) / (1 << 10));
            }
            let left = due.since(now());
            if left > Nanos::ZERO {
                pause(left.min(SLICE));
                continue;
            }
            self.is_due(due, gap);
            due += Nanos(gap.0 / 2 + gap.0 * rng.below(1 << 10) / (1 << 10));
        }
    }

    fn gap(&self) -> Nanos {
        Nanos(self.gap.load(Ordering::Relaxed).max(1))
    }

    /// Hands a request on. This thread may have been late itself: what is due long since is not
    /// made up for.
    fn is_due(&self, due: Instant, stands_for: Nanos) {
        let mut made = self.lock();
        if made.waiting.len() >= WAITING {
            let completed = now();
            made.seen.push(SeenRequest { submitted: due, completed, stands_for });
            return;
        }
        made.waiting.push_back((due, stands_for));
        drop(made);
        self.due.notify_one();
    }

    fn work(&self) {
        run_first(1);
        let mut rng = Rng::new(random().unwrap_or(1));
        let mut block = AlignedBuffer::new(index(READ));
        let places = u64::try_from(self.place.offsets.len()).unwrap_or(1);
        while let Some((submitted, stands_for)) = self.next() {
            let offset = self.place.offsets[index(rng.below(places))];
            let file = &self.place.file;
            let result = match self.kind {
                ProbeKind::Reads => file.read_exact_at(&mut block, offset),
                ProbeKind::Flushes => file.sync_all(),
            };
            let completed = now();
            let mut made = self.lock();
            made.under_way.retain(|due| *due != submitted);
            made.count += 1;
            match result {
                Ok(()) => made.seen.push(SeenRequest { submitted, completed, stands_for }),
                Err(error) => {
                    made.failure = Some(error).filter(|_| !made.has_failed);
                    made.has_failed = true;
                    self.ending.store(true, Ordering::Relaxed);
                    self.due.notify_all();
                }
            }
        }
    }

    /// The next request that is due; `None` at the end.
    fn next(&self) -> Option<(Instant, Nanos)> {
        let mut made = self.lock();
        loop {
            if self.ending.load(Ordering::Relaxed) {
                return None;
            }
            if let Some((due, stands_for)) = made.waiting.pop_front() {
                made.under_way.push(due);
                return Some((due, stands_for));
            }
            made = self.due.wait(made).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nothing in here panics between two changes that belong together.
    fn lock(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The monotonic clock as an instant: requests and laws share it.
pub(crate) fn now() -> Instant {
    Instant::from_start(monotonic_time())
}
