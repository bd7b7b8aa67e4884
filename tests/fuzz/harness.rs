//! What harnesses share: inputs are drawn from what bolero offers, and while one is read, its time
//! and its memory are watched.

use std::alloc::System;
use std::fmt::{self, Debug};
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bolero::{Driver, ValueGenerator};
use cap::Cap;
use serde_json::json;

/// Counts what is allocated: what was asked for and never touched is in no other count.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What all inputs that are read at once may take. The largest has a few KB; the rest is windows of
/// decoders, and tables of small drives.
const MEMORY_MAX: usize = 256 << 20;
/// An input that is still read after so many looks, a second apart, hangs. Not after so much time:
/// that goes on while the machine is stopped.
const LOOKS: u32 = 60;
/// With fewer inputs the share that was understood says nothing.
const INPUTS_MIN: u64 = 1_000;

/// Where inputs are drawn from: random numbers, or the bytes of a fuzzer.
pub(crate) trait Draw {
    /// Below `bound`, which is at least 1; 0 when there are no more bytes.
    fn below(&mut self, bound: usize) -> usize;
}

impl<D: Driver> Draw for D {
    fn below(&mut self, bound: usize) -> usize {
        self.gen_usize(Bound::Included(&0), Bound::Excluded(&bound)).unwrap_or(0)
    }
}

impl dyn Draw + '_ {
    /// True for one in so many.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    /// One of a list.
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("below 256")
    }
}

/// A generator of what a function draws.
pub(crate) struct Drawn<F>(pub(crate) F);

impl<T: 'static, F: Fn(&mut dyn Draw) -> T> ValueGenerator for Drawn<F> {
    type Output = T;

    fn generate<D: Driver>(&self, driver: &mut D) -> Option<T> {
        Some((self.0)(driver))
    }
}

/// Bytes of an input, shown as one may paste them.
#[derive(Clone)]
pub(crate) struct InputBytes(pub(crate) Vec<u8>);

impl Debug for InputBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Has inputs read, watches each, and counts those that were understood.
pub(crate) struct Watched<T> {
    harness: &'static str,
    reading: Arc<Mutex<Reading<T>>>,
    understood: AtomicU64,
}

/// How many inputs were begun, and the one that is read.
struct Reading<T> {
    count: u64,
    input: Option<T>,
}

impl<T: Clone + Debug + Send + 'static> Watched<T> {
    /// For one harness.
    pub(crate) fn new(harness: &'static str) -> Self {
        let reading = Arc::new(Mutex::new(Reading { count: 0, input: None }));
        let watched = Arc::downgrade(&reading);
        thread::spawn(move || end_what_hangs(&watched));
        Self { harness, reading, understood: AtomicU64::new(0) }
    }

    /// Has an input read; `read` says whether it was understood.
    pub(crate) fn read(&self, input: &T, read: impl FnOnce(&T) -> bool) {
        let mut reading = lock(&self.reading);
        reading.count += 1;
        reading.input = Some(input.clone());
        drop(reading);
        self.understood.fetch_add(read(input).into(), Ordering::Relaxed);
        lock(&self.reading).input = None;
        check_memory();
    }

    /// Says what was read, which `safety.inputs` of the lab counts. If not about this share was
    /// understood, inputs are damaged too much or too little. Whether there were enough to say so.
    pub(crate) fn expect_understood(&self, share: Range<f64>) -> bool {
        let (read, understood) =
            (lock(&self.reading).count, self.understood.load(Ordering::Relaxed));
        let memory = ALLOCATOR.max_allocated() / 1024;
        let harness = self.harness;
        let line = json!({
            "harness": harness, "read": read, "understood": understood, "memory_kib": memory,
        });
        println!("{line}");
        let found = understood as f64 / read as f64;
        let is_enough = read >= INPUTS_MIN;
        assert!(!is_enough || share.contains(&found), "{harness}: {found} were understood");
        is_enough
    }
}

fn lock<T>(reading: &Mutex<Reading<T>>) -> MutexGuard<'_, Reading<T>> {
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process once an input hangs, for nothing else ends what reads it.
fn end_what_hangs<T: Debug>(watched: &Weak<Mutex<Reading<T>>>) {
    let (mut seen, mut looks) = (0, 0);
    while let Some(reading) = watched.upgrade() {
        let now = lock(&reading);
        looks = if now.count == seen && now.input.is_some() { looks + 1 } else { 0 };
        seen = now.count;
        if looks == LOOKS {
            eprintln!("error: this input hangs: {:?}", now.input);
            std::process::abort();
        }
        drop(now);
        drop(reading);
        thread::sleep(Duration::from_secs(1));
    }
}

/// Fails once for each new maximum, so that no smaller input is blamed for it.
fn check_memory() {
    static MOST: AtomicUsize = AtomicUsize::new(MEMORY_MAX);
    let most = ALLOCATOR.max_allocated();
    let before = MOST.fetch_max(most, Ordering::Relaxed);
    assert!(most <= before, "this input, or one beside it, takes {most} bytes");
}
