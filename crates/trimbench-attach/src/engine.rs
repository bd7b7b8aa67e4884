//! The engine: an emulated drive that answers in the machine's time.
//!
//! The model stands under one lock, with its clock and its bytes. A command is stamped with the
//! drive's time when it gets the lock, after everything due by then has happened: so the log of
//! arrivals alone says what the model did, and a replay in virtual time comes to the same instants.
//! A reply leaves at the model's instant, sent by the timer's thread; how much later it left is
//! counted as *lateness*.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use trimbench_core::fault::Faulty;
use trimbench_core::{Errno, Instant, Nanos};
use trimbench_linux::monotonic_time;
use trimbench_ssd::Ssd;

use crate::alarm::Alarm;
use crate::delayed::DelayedDrive;
use crate::faults::LiveFault;
use crate::log::LogEntry;
use crate::statistics::{PAUSE, RequestKind, Statistics, Timings};
use crate::store::Store;
use state::{Due, State};

mod state;
#[cfg(test)]
mod tests;

/// Above the transport's threads.
const TIMER_PRIORITY: i32 = 2;

/// What a transport asks for. Addresses and lengths are bytes, whole logical blocks of 512.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Read so much.
    Read {
        /// From here on.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// Write these bytes.
    Write {
        /// From here on.
        offset: u64,
        /// What.
        data: &'a [u8],
    },
    /// Have them read as zeroes: written as such, as to a drive that has no command for it.
    Zero {
        /// From here on.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// The same, and the drive may free them: a discard after which they read as zeroes, also
    /// where the drive frees nothing of them.
    ZeroFreeing {
        /// From here on.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// They are no longer needed.
    Discard {
        /// From here on.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// Make durable what was written.
    Flush,
}

/// How a request ended: the bytes of a read, and nothing of others.
pub type RequestOutcome = Result<Vec<u8>, Errno>;
/// Tells the transport how its request ended. Called once, by any thread, without a lock.
pub type Reply = Box<dyn FnOnce(RequestOutcome) + Send>;

/// An emulated drive that answers in the machine's time. Shared by the threads of a transport.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// The thread that sends what is due. When it is dropped, what is still under way ends with EIO,
/// and what the drive holds is kept, where a file does.
#[derive(Debug)]
pub struct Timer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    alarm: Alarm,
    timing: Mutex<Timings>,
}

impl Engine {
    /// An engine of this drive, which holds what `store` says, and whose time runs `slow_down`
    /// times slower than the machine's. With `logs`, everything that happens to it is kept until it
    /// is [taken](Self::take_log).
    pub(crate) fn start(
        drive: Faulty<Ssd>,
        store: Store,
        slow_down: u32,
        logs: bool,
    ) -> std::io::Result<(Self, Timer)> {
        let drive = DelayedDrive::new(drive);
        let state = State::new(drive, store, (monotonic_time(), slow_down), logs);
        let shared = Arc::new(Shared {
            timing: Mutex::new(Timings::new(slow_down)),
            state: Mutex::new(state),
            alarm: Alarm::new()?,
        });
        let timers = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("drive-timer".to_owned());
        let thread = builder.spawn(move || timers.run())?;
        let timer = Timer { shared: Arc::clone(&shared), thread: Some(thread) };
        Ok((Self { shared }, timer))
    }

    /// Bytes that the drive exports.
    pub fn capacity(&self) -> u64 {
        self.shared.state().capacity()
    }

    /// Submits a request, which `reply` is told the end of. EINVAL of one that is no whole blocks
    /// or lies beyond the end of the drive.
    pub fn submit(&self, request: Request<'_>, reply: Reply) {
        self.shared.with(|state, now, due| state.submit(now, request, reply, due));
    }

    /// Plants a fault, or takes it back.
    ///
    /// # Errors
    /// Why that cannot be done: in words.
    pub fn plant(&self, fault: &LiveFault) -> Result<(), String> {
        self.shared.with(|state, now, due| state.plant(now, fault, due))
    }

    /// What has happened since the drive was attached.
    pub fn statistics(&self) -> Statistics {
        let counted = self.shared.with(|state, _, _| state.counted());
        self.shared.timing().all().statistics(counted)
    }

    /// The same with the requests that have ended since this was last called.
    pub fn statistics_since(&self) -> Statistics {
        let counted = self.shared.with(|state, _, _| state.counted());
        self.shared.timing().take().statistics(counted)
    }

    /// The drive's time since it was attached: what the log's times are.
    pub fn elapsed(&self) -> Nanos {
        self.shared.with(|_, now, _| now.since_start())
    }

    /// What happened since the last call, if it is logged.
    pub fn take_log(&self) -> Vec<LogEntry> {
        self.shared.state().take_log()
    }

    /// Gives back the room of up to 1 MiB that was discarded; whether there is more to do. To be
    /// called again and again: it takes the drive's lock.
    pub fn reclaim(&self) -> bool {
        self.shared.with(|state, now, _| state.reclaim(Some(now)))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timing(&self) -> MutexGuard<'_, Timings> {
        self.timing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the drive at its present instant, sends what is due then, and sets the
    /// alarm if something comes earlier than it goes off.
    fn with<T>(&self, act: impl FnOnce(&mut State, Instant, &mut Vec<Due>) -> T) -> T {
        let mut due = Vec::new();
        let mut state = self.state();
        let now = state.advance(monotonic_time(), &mut due);
        let answer = act(&mut state, now, &mut due);
        // What takes next to no time has ended by now, and need not wait for the timer.
        state.advance(monotonic_time(), &mut due);
        if let Some(earlier) = state.earlier_alarm() {
            self.alarm.set(earlier);
        }
        drop(state);
        self.send(&mut due);
        answer
    }

    /// Sends replies, and counts how late they are.
    fn send(&self, due: &mut Vec<Due>) {
        for due in due.drain(..) {
            let Due { reply, outcome, timed } = due;
            reply(outcome);
            if let Some(timed) = timed {
                let lateness = monotonic_time().saturating_sub(timed.due);
                let kind = (timed.kind, timed.bytes);
                self.timing().now.count(kind, timed.took, lateness);
            }
        }
    }

    /// The timer's thread.
    fn run(&self) {
        trimbench_linux::exact_timers();
        trimbench_linux::run_first(TIMER_PRIORITY);
        let mut due = Vec::new();
        // When this thread was to go on at the latest.
        let mut expected = monotonic_time();
        let mut state = self.state();
        while !state.has_stopped() {
            let machine = monotonic_time();
            let late = machine.saturating_sub(expected);
            if late >= PAUSE {
                self.timing().now.paused(late);
            }
            expected = machine;
            state.advance(machine, &mut due);
            if !due.is_empty() {
                drop(state);
                self.send(&mut due);
                state = self.state();
                continue;
            }
            // Also while nothing is under way a pause of this process must be noticed: a request
            // that came meanwhile was taken late.
            expected = state.next_alarm(machine + PAUSE);
            self.alarm.set(expected);
            drop(state);
            self.alarm.wait();
            state = self.state();
        }
        state.fail_all(&mut due);
        drop(state);
        self.send(&mut due);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.state().stop();
        self.shared.alarm.set(Nanos::ZERO);
        if let Some(thread) = self.thread.take() {
            // Its panic was reported by its own thread.
            let _ = thread.join();
        }
        // What cannot be kept is as after a power cut at the last flush.
        let _ = self.shared.state().keep_all();
    }
}

/// A request's times.
#[derive(Clone, Copy, Debug)]
struct Timed {
    kind: RequestKind,
    bytes: u64,
    /// From its arrival to the model's instant, in the drive's time.
    took: Nanos,
    /// The machine's time of that instant.
    due: Nanos,
}
