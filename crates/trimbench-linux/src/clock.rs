//! The two clocks that trimbench reads: the monotonic one to measure, the wall clock to date
//! records.

use std::cell::Cell;
use std::num::NonZeroU64;

use rustix::time::{ClockId, Timespec, clock_gettime};
use trimbench_core::{Instant, Nanos};

/// `CLOCK_MONOTONIC`, counted from this clock's start. It is slewed by NTP (at most 0.05 %) but
/// never steps, and stands still while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonotonicClock {
    origin: Nanos,
}

/// Time since 1970-01-01 UTC by the wall clock. It may step; for dates only, never for spans.
pub fn wall_time_unix() -> Nanos {
    nanos(clock_gettime(ClockId::Realtime))
}

/// Time by the clock that never steps, since some instant before the program began: for spans that
/// are shown to people.
pub fn monotonic_time() -> Nanos {
    MonotonicClock::monotonic()
}

impl MonotonicClock {
    /// A clock that shows [`Instant::START`] now.
    pub(crate) fn start() -> Self {
        Self { origin: nanos(clock_gettime(ClockId::Monotonic)) }
    }

    #[inline]
    pub(crate) fn now(self) -> Instant {
        self.at_monotonic(Self::monotonic())
    }

    #[inline]
    pub(crate) fn monotonic() -> Nanos {
        nanos(clock_gettime(ClockId::Monotonic))
    }

    /// What this clock shows when `CLOCK_MONOTONIC` shows `time`; its start for what was before.
    #[inline]
    pub(crate) fn at_monotonic(self, time: Nanos) -> Instant {
        Instant::from_start(time.saturating_sub(self.origin))
    }
}

/// Time by `CLOCK_BOOTTIME`: monotonic time and the time for which the machine slept.
pub(crate) fn time_with_sleep() -> Nanos {
    nanos(clock_gettime(ClockId::Boottime))
}

/// Asks the kernel to wake this thread on time, not up to 50 us later as it may by default.
pub fn exact_timers() {
    thread_local! {
        static ASKED: Cell<bool> = const { Cell::new(false) };
    }
    if !ASKED.replace(true) {
        // A refusal costs 50 us of lateness, which is measured where it matters.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
}

/// Lets time pass. A signal ends it early.
pub fn pause(span: Nanos) {
    let seconds = i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX);
    let rest = i64::try_from(span.0 % 1_000_000_000).expect("less than a second fits");
    let _ = rustix::thread::nanosleep(&Timespec { tv_sec: seconds, tv_nsec: rest });
}

/// Kernel time to nanoseconds; a date before 1970 counts as 1970.
fn nanos(time: Timespec) -> Nanos {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos::from_secs(seconds) + Nanos(rest)
}
