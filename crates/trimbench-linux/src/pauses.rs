//! Notices when this process should have run and did not.
//!
//! A thread of its own wakes every [`TICK`] and looks at two things:
//!
//! - How late it woke. All threads are late when the process was stopped (a signal, a debugger, a
//!   freezer), or the machine was: suspended, or a virtual machine that did not run. The clock is
//!   `CLOCK_BOOTTIME`, which goes on while the machine sleeps. The time for which the thread that
//!   measures ran meanwhile is no pause: where there is one processor, it is what the watching
//!   thread waits for.
//! - For how long the thread that measures waited for a processor: field 2 of its
//!   `/proc/.../schedstat` (Documentation/scheduler/sched-stats.rst of Linux), in ns; field 1 is
//!   for how long it ran. The wait includes the time for which a quota of a control group held the
//!   thread back. The watching thread does not see that by itself: it uses so little that it goes
//!   on within a quota that others have used up. (Measured with a quota of 20 %: it was never more
//!   than 4 ms late, while the thread that read the disk waited for up to 37 ms, a quarter of the
//!   time.)
//!
//! The longer of the two is the pause of that tick; below [`NOTICED`] it is none.
//!
//! Not noticed: waits for memory (reclaim, swap), during which a thread waits for no processor; and
//! threads beside the one that measures. Where the kernel has no `schedstat`
//! (`CONFIG_SCHED_INFO`), only the first is looked at.
//!
//! A look takes 25 to 50 us of a processor, at most 0.5 % of one. Random reads of 4 KiB at queue
//! depth 1, one run with such a thread and one without, had a median of 34.7 and 33.0 us and a 99th
//! percentile of 64 and 64 us: the difference is not resolved.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use trimbench_core::{Nanos, OwnPauses};

use crate::clock::{pause, time_with_sleep};

#[cfg(test)]
mod tests;

/// From one look to the next.
const TICK: Nanos = Nanos::from_millis(10);
/// What a thread may wait in a tick without a pause: other programs take turns of some hundred
/// microseconds on any machine.
const NOTICED: Nanos = Nanos::from_millis(2);

/// Of the thread that opens it.
const SCHEDSTAT: &str = "/proc/thread-self/schedstat";

/// Watches this process, and the thread that made it, until it is dropped.
#[derive(Debug)]
pub struct PauseWatch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Of the thread that measures; `None` where the kernel keeps no such numbers.
    schedstat: Option<File>,
    tally: Mutex<Tally>,
    ending: AtomicBool,
}

/// The pauses since they were last taken.
#[derive(Debug)]
struct Tally {
    begun: Nanos,
    /// When the next look is due.
    due: Nanos,
    /// Of the thread, at the last look.
    turns: Turns,
    longest: Nanos,
    total: Nanos,
}

/// For how long a thread ran, and waited for a processor, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turns {
    ran: Nanos,
    waited: Nanos,
}

impl PauseWatch {
    /// Watches from now on. An error if there can be no thread for it.
    pub fn start() -> io::Result<Self> {
        let schedstat = File::open(SCHEDSTAT).ok();
        let tally = Mutex::new(Tally::new(time_with_sleep(), turns(schedstat.as_ref())));
        let shared = Arc::new(Shared { schedstat, tally, ending: AtomicBool::new(false) });
        let watch = {
            let shared = Arc::clone(&shared);
            move || shared.watch()
        };
        let thread = std::thread::Builder::new().name("pauses".to_owned()).spawn(watch)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The pauses since the last call, or since the start.
    pub fn take(&self) -> OwnPauses {
        self.shared.look(Tally::take)
    }
}

impl Drop for PauseWatch {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so; nothing of it is left to wait for.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn watch(&self) {
        while !self.ending.load(Ordering::Relaxed) {
            pause(TICK);
            self.look(|tally, now| tally.due = now + TICK);
        }
    }

    /// Counts what was missed up to now, then does this.
    fn look<R>(&self, then: impl FnOnce(&mut Tally, Nanos) -> R) -> R {
        let mut tally = self.lock();
        let turns = turns(self.schedstat.as_ref());
        // Read last: whatever stops this process before is late for this look.
        let now = time_with_sleep();
        tally.look(now, turns);
        then(&mut tally, now)
    }

    /// Nothing in here panics between two changes that belong together.
    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tally {
    fn new(now: Nanos, turns: Turns) -> Self {
        Self { begun: now, due: now + TICK, turns, longest: Nanos::ZERO, total: Nanos::ZERO }
    }

    /// Counts the pause since the last look. A look before the next is due is never late; one
    /// behind it counts what is late up to now.
    fn look(&mut self, now: Nanos, turns: Turns) {
        let ran = turns.ran.saturating_sub(self.turns.ran);
        let late = now.saturating_sub(self.due).saturating_sub(ran);
        let pause = late.max(turns.waited.saturating_sub(self.turns.waited));
        if pause >= NOTICED {
            self.longest = self.longest.max(pause);
            self.total += pause;
        }
        self.turns = turns;
        self.due = self.due.max(now);
    }

    fn take(&mut self, now: Nanos) -> OwnPauses {
        let Self { begun, longest, total, .. } = *self;
        (self.begun, self.longest, self.total) = (now, Nanos::ZERO, Nanos::ZERO);
        OwnPauses { watched: now.saturating_sub(begun), longest, total }
    }
}

/// For how long the thread that made it has waited for a processor.
#[derive(Debug)]
pub(crate) struct ProcessorWaits(Option<File>);

impl ProcessorWaits {
    pub(crate) fn of_this_thread() -> Self {
        Self(File::open(SCHEDSTAT).ok())
    }

    /// Up to now; zero where the kernel does not say.
    pub(crate) fn total(&self) -> Nanos {
        turns(self.0.as_ref()).waited
    }
}

/// Of the thread up to now; nothing where the kernel does not say.
fn turns(schedstat: Option<&File>) -> Turns {
    // Three numbers of at most 20 digits.
    let mut text = [0_u8; 64];
    let read = schedstat.and_then(|file| file.read_at(&mut text, 0).ok());
    read.and_then(|length| parse(std::str::from_utf8(&text[..length]).ok()?)).unwrap_or_default()
}

/// One line: time on a processor, time waited for one, turns on one.
fn parse(line: &str) -> Option<Turns> {
    let mut fields = line.split_ascii_whitespace().map(|field| field.parse().map(Nanos));
    Some(Turns { ran: fields.next()?.ok()?, waited: fields.next()?.ok()? })
}
