//! Reads of our own: 4 KiB at a random place of the disk's node every 10 ms, past the page cache.
//!
//! They are made by a thread that is left behind if the disk does not answer: what hangs in the
//! kernel cannot be cancelled, and the watch must end.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use trimbench_claim::sysfs::BlockDevice;
use trimbench_claim::{opening, random};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Nanos, OperationKind};
use trimbench_linux::{AlignedBuffer, monotonic_time};

use super::observation::WatchedRequest;

/// From one read to the next.
const READ_EVERY: Nanos = Nanos::from_millis(10);
/// Bytes of a read: a multiple of every logical block in use.
const READ: u64 = 4_096;
const SECTOR: u64 = 512;

/// Reads until it is dropped.
#[derive(Debug)]
pub(super) struct OwnDiskReads {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    ending: AtomicBool,
    done: Mutex<Reads>,
}

#[derive(Debug, Default)]
struct Reads {
    thread: Option<u32>,
    /// When each began and ended.
    times: Vec<(Nanos, Nanos)>,
    /// When the one under way began.
    begun: Option<Nanos>,
}

impl OwnDiskReads {
    /// `None` where the node may not be read.
    pub(super) fn start(disk: &BlockDevice) -> Option<Self> {
        let flags = opening::READ | OFlags::DIRECT;
        let file: File = rustix::fs::open(disk.node(), flags, Mode::empty()).ok()?.into();
        let places = disk.own_number("size")?.saturating_mul(SECTOR) / READ;
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let reads = move || of_thread.read(&file, places);
        let thread = std::thread::Builder::new().name("own reads".to_owned());
        (places > 0).then(|| thread.spawn(reads).ok()).flatten()?;
        Some(Self { shared })
    }

    /// The number of the thread that reads; `None` before it runs.
    pub(super) fn thread(&self) -> Option<u32> {
        self.shared.lock().thread
    }

    /// The reads, with times that count from `begin`; the last may be under way.
    pub(super) fn requests(&self, begin: Nanos) -> Vec<WatchedRequest> {
        let reads = self.shared.lock();
        let request = |from: Nanos, to: Option<Nanos>| {
            let entered = from.saturating_sub(begin);
            WatchedRequest {
                disk: 0,
                kind: OperationKind::Read,
                count: 1,
                length: Bytes(READ),
                entered,
                issued: Some(entered),
                completed: to.map(|to| to.saturating_sub(begin)),
                thread: None,
                is_own: true,
            }
        };
        let done = reads.times.iter().map(|(from, to)| request(*from, Some(*to)));
        done.chain(reads.begun.map(|from| request(from, None))).collect()
    }
}

impl Drop for OwnDiskReads {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn read(&self, file: &File, places: u64) {
        let mut rng = Rng::new(random().unwrap_or(1));
        let mut buffer = AlignedBuffer::new(index(READ));
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.lock().thread = u32::try_from(thread).ok();
        while !self.ending.load(Ordering::Relaxed) {
            let begun = monotonic_time();
            self.lock().begun = Some(begun);
            let read = file.read_exact_at(&mut buffer, rng.below(places) * READ);
            let mut reads = self.lock();
            reads.begun = None;
            if read.is_err() {
                return;
            }
            reads.times.push((begun, monotonic_time()));
            drop(reads);
            super::collect::pass(READ_EVERY);
        }
    }

    /// Nothing in here panics between two changes that belong together.
    fn lock(&self) -> MutexGuard<'_, Reads> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
