//! Pacing: firmware that holds the host to one rate while it collects.
//!
//! Model: acknowledgements of writes are at least `pace` apart for each unit written. What a write
//! does to buffer and flash is not delayed: a host that keeps a number of writes outstanding sends
//! the next one later. So its rate is the lower of 1 / pace and what the flash can do.

use trimbench_core::{Instant, Nanos};

use super::{Bursts, GarbageCollector};

impl GarbageCollector {
    /// When a write of so many units is acknowledged that could be at `at`: where the collector
    /// paces the host and has work to do, no sooner than the writes before it allow.
    #[inline]
    pub(crate) fn paced(&mut self, at: Instant, units: u64) -> Instant {
        if self.pace == Nanos::ZERO || !self.owes() {
            return at;
        }
        let acknowledged = at.max(self.paced_at);
        self.paced_at = acknowledged + self.pace.times(units);
        acknowledged
    }

    /// The writes before are gone: the next need not keep a distance from them.
    pub(crate) fn unpace(&mut self) {
        self.paced_at = Instant::START;
    }

    /// Whether flash operations are owed that no group of the host has paid.
    fn owes(&self) -> bool {
        !self.debt.is_empty() || self.bursts.as_ref().is_some_and(Bursts::has_waiting)
    }
}
