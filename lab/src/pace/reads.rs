//! An open-loop reader: reads that begin on a grid of time, whether earlier ones have ended or not.
//!
//! A read's response time counts from its intended start, so that a device that stalls is charged
//! with every read that should have begun meanwhile. The limit of `rate_iops` of fio cannot be used
//! for this: it waits for completions.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::units::{index, rounded};
use trimbench_core::{Instant, Nanos};
use trimbench_linux::{AlignedBuffer, exact_timers, monotonic_time, pause, run_first};

/// Bytes of a read, and what `O_DIRECT` asks of memory and offsets.
const READ: u64 = 4_096;
/// How many reads can be under way at once.
const THREADS: u64 = 64;
/// The first read begins so long after the threads do.
const LEAD: Nanos = Nanos::from_millis(50);

/// Reads at random aligned places of a file or device, at a fixed rate, until it is
/// [ended](OpenLoopReader::end) or dropped.
#[derive(Debug)]
pub(super) struct OpenLoopReader {
    schedule: Arc<Schedule>,
    threads: Vec<JoinHandle<io::Result<Vec<TimedRead>>>>,
}

/// All reads of an [`OpenLoopReader`].
#[derive(Debug, Default)]
pub(super) struct TimedReads(Vec<TimedRead>);

/// The response times of some reads, in ascending order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub(super) struct ResponseTimes(Vec<Nanos>);

/// Now, by the clock of the intended starts.
pub(super) fn now() -> Instant {
    Instant::from_start(monotonic_time())
}

impl OpenLoopReader {
    /// Begins to read, `rate` times a second.
    pub(super) fn start(path: &Path, rate: u64) -> Result<Self> {
        let mut options = File::options();
        options.read(true).custom_flags(OFlags::DIRECT.bits().cast_signed());
        let open = || options.open(path).with_context(|| format!("open {}", path.display()));
        let places = open()?.seek(SeekFrom::End(0))? / READ;
        ensure!(places > 0, "{} has no block to read", path.display());
        let schedule = Arc::new(Schedule {
            start: now() + LEAD,
            gap: Nanos(1_000_000_000 / rate),
            next: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
        });
        let mut reader = Self { schedule, threads: Vec::new() };
        for number in 0..THREADS {
            let (file, schedule) = (open()?, Arc::clone(&reader.schedule));
            let rng = Rng::new(number);
            reader.threads.push(thread::spawn(move || schedule.work(&file, places, rng)));
        }
        Ok(reader)
    }

    /// Waits for every read that should have begun by now, and returns all.
    pub(super) fn end(mut self) -> Result<TimedReads> {
        let mut reads = Vec::new();
        for thread in self.stop() {
            let of_thread = thread.join().map_err(|_| anyhow!("a reading thread panicked"))?;
            reads.extend(of_thread.context("read beside discards")?);
        }
        Ok(TimedReads(reads))
    }

    fn stop(&mut self) -> Vec<JoinHandle<io::Result<Vec<TimedRead>>>> {
        self.schedule.end.store(now().since_start().0, Ordering::Relaxed);
        std::mem::take(&mut self.threads)
    }
}

impl Drop for OpenLoopReader {
    fn drop(&mut self) {
        // The filesystem cannot be unmounted before they end.
        for thread in self.stop() {
            let _ = thread.join();
        }
    }
}

impl TimedReads {
    /// The reads whose intended start lies in this window, both ends included.
    pub(super) fn within(&self, from: Instant, to: Instant) -> ResponseTimes {
        let of_window = self.0.iter().filter(|read| (from..=to).contains(&read.intended));
        ResponseTimes::of(of_window.map(|read| read.response).collect())
    }
}

impl From<Vec<u64>> for ResponseTimes {
    fn from(times: Vec<u64>) -> Self {
        Self::of(times.into_iter().map(Nanos).collect())
    }
}

impl From<ResponseTimes> for Vec<u64> {
    fn from(times: ResponseTimes) -> Self {
        times.0.into_iter().map(|time| time.0).collect()
    }
}

impl ResponseTimes {
    fn of(mut times: Vec<Nanos>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// Those of both.
    pub(super) fn and(mut self, others: &Self) -> Self {
        self.0.extend(&others.0);
        Self::of(self.0)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that this share of the reads keeps, ms; of 1, the longest. Not a number without
    /// reads.
    pub(super) fn quantile_ms(&self, share: f64) -> f64 {
        // The smallest value that at least this share does not exceed.
        let rank = index(rounded((share * self.0.len() as f64).ceil())).max(1);
        self.0.get(rank - 1).map_or(f64::NAN, |time| time.seconds() * 1e3)
    }

    /// The longest, ms.
    pub(super) fn longest_ms(&self) -> f64 {
        self.quantile_ms(1.0)
    }

    /// The share that took longer than this, in [0, 1]; not a number without reads.
    pub(super) fn share_later(&self, target: Nanos) -> f64 {
        let in_time = self.0.partition_point(|time| *time <= target);
        (self.0.len() - in_time) as f64 / self.0.len() as f64
    }

    /// In words.
    pub(super) fn note(&self) -> String {
        let [half, p99, p999] = [0.5, 0.99, 0.999].map(|share| self.quantile_ms(share));
        let (count, longest) = (self.count(), self.longest_ms());
        format!(
            "{count} reads: p50 {half:.2}, p99 {p99:.2}, p99.9 {p999:.2}, at most {longest:.2} ms"
        )
    }
}

/// One read.
#[derive(Clone, Copy, Debug)]
struct TimedRead {
    intended: Instant,
    /// From the intended start to the end.
    response: Nanos,
}

/// When reads begin. Each thread takes the next one.
#[derive(Debug)]
struct Schedule {
    start: Instant,
    gap: Nanos,
    next: AtomicU64,
    /// No read is made that should begin later; ns by the clock of [`now`].
    end: AtomicU64,
}

impl Schedule {
    fn work(&self, file: &File, places: u64, mut rng: Rng) -> io::Result<Vec<TimedRead>> {
        exact_timers();
        // Waiting for a processor is no latency of the device. Refused, it is a little less exact.
        run_first(1);
        let mut buffer = AlignedBuffer::new(index(READ));
        let mut reads = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let intended = self.start + self.gap.times(number);
            while now() < intended {
                pause(intended.since(now()));
            }
            if intended.since_start().0 > self.end.load(Ordering::Relaxed) {
                return Ok(reads);
            }
            file.read_exact_at(&mut buffer, READ * rng.below(places))?;
            reads.push(TimedRead { intended, response: now().since(intended) });
        }
    }
}

#[cfg(test)]
mod tests;
