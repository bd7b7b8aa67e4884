//! Threads for what the kernel does only while a thread waits: discards before Linux 6.12.
//!
//! As many as discards are under way, at most [`THREADS`]; more wait their turn. Reads and writes
//! never pass here.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use trimbench_core::{Errno, Instant};

use crate::clock::MonotonicClock;

#[cfg(test)]
mod tests;

/// Discards under way at once.
const THREADS: usize = 32;

/// What a thread does with a range: first byte and length.
pub(super) type Perform = Box<dyn Fn(u64, u64) -> Result<(), Errno> + Send + Sync>;

/// A range to work on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) slot: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A range that was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    pub(super) slot: u32,
    pub(super) at: Instant,
    pub(super) result: Result<(), Errno>,
}

/// The threads.
pub(super) struct Helpers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// Counter whose change ends the wait in `reap`.
    bell: Arc<OwnedFd>,
    clock: MonotonicClock,
    perform: Perform,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    idle: usize,
    /// Threads that have not ended.
    alive: usize,
    finished: Vec<Finished>,
    closing: bool,
}

/// Reports a job when it is dropped: as an error unless its result was put in, so that a thread
/// that panics leaves nobody waiting.
struct Report<'a> {
    shared: &'a Shared,
    slot: u32,
    result: Result<(), Errno>,
}

impl Helpers {
    /// No thread yet.
    pub(super) fn new(bell: Arc<OwnedFd>, clock: MonotonicClock, perform: Perform) -> Self {
        let (state, wake) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { state, wake, bell, clock, perform });
        Self { shared, threads: Vec::new() }
    }

    /// Gives a job to a thread that is free, or to a new one. An error if there is no thread.
    pub(super) fn give(&mut self, job: Job) -> Result<(), Errno> {
        let mut state = lock(&self.shared.state);
        if state.idle <= state.jobs.len() && state.alive < THREADS {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name("trimbench-trim".to_owned())
                .spawn(move || shared.work());
            match thread {
                Ok(thread) => {
                    state.alive += 1;
                    self.threads.push(thread);
                }
                Err(error) if state.alive == 0 => {
                    return Err(Errno(error.raw_os_error().unwrap_or(libc::EAGAIN)));
                }
                // Those that there are do it when they can.
                Err(_) => {}
            }
        }
        state.jobs.push_back(job);
        drop(state);
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Takes what ended.
    pub(super) fn take_finished(&self, into: &mut Vec<Finished>) {
        into.append(&mut lock(&self.shared.state).finished);
    }
}

impl Drop for Helpers {
    /// Waits for the jobs under way: the kernel works on the device meanwhile.
    fn drop(&mut self) {
        lock(&self.shared.state).closing = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; nothing of it is left to wait for.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            let mut report = Report { shared: self, slot: job.slot, result: Err(Errno::EIO) };
            report.result = (self.perform)(job.offset, job.length);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        state.idle += 1;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                return Some(job);
            }
            if state.closing {
                state.idle -= 1;
                state.alive -= 1;
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        let (slot, result, at) = (self.slot, self.result, self.shared.clock.now());
        let mut state = lock(&self.shared.state);
        state.finished.push(Finished { slot, at, result });
        if std::thread::panicking() {
            state.alive -= 1;
        }
        drop(state);
        // A counter that is full has been rung already.
        let _ = rustix::io::write(&*self.shared.bell, &1_u64.to_ne_bytes());
    }
}

/// Every critical section here is a few pushes and counts that cannot panic halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
