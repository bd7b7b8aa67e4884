//! Wakes the timer's thread. Others may bring its time forward without waking it: a switch to the
//! thread and back, at every request, took more time than all else.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use trimbench_core::Nanos;

/// The clock is the one of [`trimbench_linux::monotonic_time`].
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    /// One that does not go off yet.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?))
    }

    /// Has it go off when the clock shows `at`, or has shown it, and then only.
    pub(crate) fn set(&self, at: Nanos) {
        // Zero would mean never.
        let at = at.max(Nanos(1));
        let whole = |part: u64| i64::try_from(part).expect("a u64 of nanoseconds is short");
        let (seconds, rest) = (whole(at.0 / 1_000_000_000), whole(at.0 % 1_000_000_000));
        let value = Timespec { tv_sec: seconds, tv_nsec: rest };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &once).expect("a time is valid");
    }

    /// Waits until it goes off.
    pub(crate) fn wait(&self) {
        let mut count = [0; 8];
        // A signal only has it look at the time too early.
        let _ = rustix::io::read(&self.0, &mut count);
    }
}
