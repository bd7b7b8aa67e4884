//! FreeBSD: passes over all drives. Source: \[FBZFS\] `trim_map.c`, `trim_thread`.
//!
//! A pass lasts until its last discard has ended on every drive. Where a policy holds discards of a
//! pass back, the pass goes on when the policy grants them; writes wait only while some discard is
//! under way.

use trimbench_core::{BlockCommand, Instant, Model};

use super::Trimming;
use crate::cow::pool::Pool;

#[derive(Debug)]
pub(in crate::cow::pool) struct Passes {
    /// When the next begins; [`Instant::NEVER`] while one runs, and while nothing waits.
    pub(super) next: Instant,
    is_running: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Self { next: Instant::NEVER, is_running: false }
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    fn passes(&mut self) -> &mut Passes {
        let Trimming::Passes(passes) = &mut self.trim else { unreachable!("FreeBSD has passes") };
        passes
    }

    /// The group that freed it is on the drives: it may be discarded.
    pub(super) fn freed_space_is_safe(&mut self, now: Instant) {
        let passes = self.passes();
        if passes.next == Instant::NEVER && !passes.is_running {
            self.plan_pass(now);
        }
    }

    /// Lets each drive send what is due.
    pub(in crate::cow::pool) fn start_pass(&mut self, now: Instant) {
        let synced = &self.groups.synced;
        let safe = synced.front().copied().unwrap_or(Instant::START);
        let old = synced.get(self.config.trim_groups as usize).copied();
        let age = now.since_start().saturating_sub(self.config.trim_timeout);
        let ripe = old.unwrap_or(Instant::START).max(Instant::from_start(age));
        *self.passes() = Passes { next: Instant::NEVER, is_running: true };
        for drive in &mut self.drives {
            drive.begin_pass(now, (ripe, safe));
        }
        if self.is_pass_over() {
            self.plan_pass(now);
        } else {
            self.counters.passes += 1;
            self.pump_all(now);
        }
    }

    /// Once no discard is under way: ends the pass, unless a policy holds back more of it.
    pub(super) fn pass_on(&mut self, now: Instant) {
        let under_way = self.drives.iter().any(|drive| drive.unended() > 0);
        if !self.passes().is_running || under_way {
            return;
        }
        self.drives.iter_mut().for_each(|drive| drive.free_places(now));
        self.pump_all(now);
        if self.is_pass_over() {
            self.plan_pass(now);
        }
    }

    fn is_pass_over(&self) -> bool {
        self.drives.iter().all(|drive| drive.unended() == 0 && !drive.is_in_pass())
    }

    fn plan_pass(&mut self, now: Instant) {
        let waits = self.drives.iter().any(|drive| drive.pending().0 > 0);
        let next = if waits { now + self.config.trim_interval } else { Instant::NEVER };
        *self.passes() = Passes { next, is_running: false };
    }
}
