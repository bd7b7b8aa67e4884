//! The drive's time, made from the machine's.

use trimbench_core::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// Turns the machine's monotonic time into the time of an emulated drive, and back.
///
/// The drive's time runs `slow_down` times slower than the machine's, and stands still during a
/// stall. It never runs backwards.
#[derive(Clone, Debug)]
pub(crate) struct DriveClock {
    /// What the machine's clock shows when the drive's shows zero, but for stalls that have ended.
    origin: Nanos,
    slow_down: u32,
    /// The machine's time at which the stall begins and ends, that is under way or to come.
    stall: Option<(Nanos, Nanos)>,
}

impl DriveClock {
    /// A clock that shows zero at `machine`. `slow_down` is at least 1.
    pub(crate) fn start(machine: Nanos, slow_down: u32) -> Self {
        Self { origin: machine, slow_down: slow_down.max(1), stall: None }
    }

    /// The drive's time when the machine's clock shows `machine`.
    pub(crate) fn at(&mut self, machine: Nanos) -> Instant {
        let mut machine = machine;
        if let Some((from, until)) = self.stall {
            if machine >= until {
                self.origin += until.saturating_sub(from);
                self.stall = None;
            } else {
                machine = machine.min(from);
            }
        }
        let elapsed = machine.saturating_sub(self.origin).0;
        Instant::from_start(Nanos(elapsed / u64::from(self.slow_down)))
    }

    /// When the machine's clock shows that the drive's has come to `at`, as far as is known now.
    pub(crate) fn machine_time(&self, at: Instant) -> Nanos {
        let elapsed = at.since_start().times(u64::from(self.slow_down));
        let machine = self.origin.saturating_add(elapsed);
        match self.stall {
            Some((from, until)) if machine > from => {
                machine.saturating_add(until.saturating_sub(from))
            }
            _ => machine,
        }
    }

    /// From `from` on, which is not in the past, the drive's time stands still for this span of the
    /// machine's. A stall that is under way or to come is replaced; what has passed of it stays.
    pub(crate) fn stall(&mut self, now: Nanos, from: Nanos, span: Nanos) {
        if let Some((begun, _)) = self.stall.take() {
            self.origin += now.saturating_sub(begun.min(now));
        }
        let from = from.max(now);
        self.stall = Some((from, from.saturating_add(span)));
    }
}
