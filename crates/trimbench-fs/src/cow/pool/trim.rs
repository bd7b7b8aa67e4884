//! Discards of freed space: the passes of the old manner, and the reports to the drives' policies.

use trimbench_core::{BlockCommand, Instant, Model, Nanos};

use super::Pool;
use crate::cow::config::TrimManner;

#[derive(Debug)]
pub(super) struct Passes {
    /// When the next begins; [`Instant::NEVER`] while one runs, and while nothing waits.
    pub(super) next_pass: Instant,
    /// Discards of the running pass that have not ended.
    outstanding: u64,
}

impl Default for Passes {
    fn default() -> Self {
        Self { next_pass: Instant::NEVER, outstanding: 0 }
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    /// The group that freed it is on the drives: it may be discarded.
    pub(super) fn freed_space_is_safe(&mut self, now: Instant) {
        match self.config.manner {
            TrimManner::FreeBsd => {
                if self.trim.next_pass == Instant::NEVER && self.trim.outstanding == 0 {
                    self.plan_pass(now);
                }
            }
            TrimManner::OpenZfs => {
                self.drives.iter_mut().for_each(|drive| drive.ask_again(now));
                self.pump_all(now);
            }
        }
    }

    /// Takes from each drive what is due, and sends it.
    pub(super) fn start_pass(&mut self, now: Instant) {
        let synced = &self.groups.synced;
        let safe = synced.front().copied().unwrap_or(Instant::START);
        let old = synced.get(self.config.trim_groups as usize).copied();
        let age = now.since_start().saturating_sub(self.config.trim_timeout);
        let ripe = old.unwrap_or(Instant::START).max(Instant::from_start(age));
        self.trim.next_pass = Instant::NEVER;
        for drive in &mut self.drives {
            self.trim.outstanding += drive.start_pass(now, ripe, safe, &self.config);
        }
        if self.trim.outstanding == 0 {
            self.plan_pass(now);
        } else {
            self.counters.passes += 1;
            self.pump_all(now);
        }
    }

    pub(super) fn discard_ended(&mut self, now: Instant) {
        if self.config.manner == TrimManner::OpenZfs {
            return;
        }
        self.trim.outstanding -= 1;
        if self.trim.outstanding == 0 {
            self.drives.iter_mut().for_each(|drive| drive.end_pass(now));
            self.pump_all(now);
            self.plan_pass(now);
        }
    }

    fn plan_pass(&mut self, now: Instant) {
        let waits = self.drives.iter().any(|drive| drive.pending().0 > 0);
        let interval: Nanos = self.config.trim_interval;
        self.trim.next_pass = if waits { now + interval } else { Instant::NEVER };
    }
}
