//! Discards: what they free, what they cost, and the work that the drive postpones.

use std::collections::VecDeque;
use std::ops::Range;

use trimbench_core::units::narrow;
use trimbench_core::{BlockCommand, Bytes, Instant, LbaRange, Nanos, Rejected};

use super::path::translation::PageReads;
use super::{LOGICAL_BLOCK, Ssd};
use crate::config::TrimArbitration;
use crate::events::Action;
use crate::mapping::Deallocated;
use crate::slots::Slot;
use crate::trim::{Found, work};

/// TRIMs that wait for their turn with the controller, where that is not the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: VecDeque<(Slot, Nanos, PageReads)>,
    /// The controller has a TRIM, or one waits until it is free; [`Action::NextTrim`] will come.
    taken: bool,
}

impl Ssd {
    #[inline(never)]
    pub(super) fn start_discard(&mut self, at: Instant, slot: Slot, ranges: &[LbaRange]) {
        let trim = self.config.trim;
        let acts = trim.mode.frees();
        let (mut units, mut sent) = (Deallocated::default(), 0);
        let mut reads = PageReads::default();
        for range in ranges {
            sent += range.length().bytes(LOGICAL_BLOCK).pieces(trim.range_max);
            let freed = self.reach(&self.granules.within(self.unit.span(*range).whole()));
            if acts && self.contents.is_some() {
                self.journal(freed.clone());
            }
            if let (true, Some(flash)) = (acts, &mut self.flash) {
                units += flash.deallocate(&freed, &mut self.counters);
            }
            if acts && self.config.mapping_cache.is_some() {
                self.trim_pages(&freed, at, &mut reads);
            }
        }
        let cost = if acts {
            let found = Found::new(units, self.unit);
            work(&trim, sent, found) + self.tail.next(&trim, found)
        } else {
            Nanos::ZERO
        };
        self.counters.discards += 1;
        let overhead = self.config.host.command + trim.command;
        if trim.mode.postpones() {
            let done = self.controller.reserve(at, overhead) + trim.latency;
            self.backlog.add(at, cost + self.time_of(reads));
            self.begins_at = self.begins_at.min(self.backlog.next_slice());
            if !self.backlog.hold(slot, done) {
                self.finish(done, slot);
            }
            return;
        }
        self.counters.trim_work_done += cost;
        self.alone = trim.mode.is_exclusive();
        if trim.arbitration != TrimArbitration::FirstCome {
            self.turns.waiting.push_back((slot, overhead + cost, reads));
            if !self.turns.taken {
                self.next_trim(at);
            }
            return;
        }
        let done = self.controller.reserve(at, overhead + cost);
        self.finish_discard(done, slot, reads);
    }

    /// The controller takes the TRIM whose turn it is, if there is one.
    pub(super) fn next_trim(&mut self, at: Instant) {
        self.turns.taken = !self.turns.waiting.is_empty();
        if !self.turns.taken {
            return;
        }
        let free_at = self.controller.free_at();
        if self.config.trim.arbitration == TrimArbitration::ReadsFirst && free_at > at {
            self.events.add(free_at, Action::NextTrim);
        } else if let Some((slot, span, reads)) = self.turns.waiting.pop_front() {
            let done = self.controller.reserve(at, span);
            self.finish_discard(done, slot, reads);
            self.events.add(done, Action::NextTrim);
        }
    }

    /// What a TRIM of these units frees: others only with a planted fault.
    fn reach(&self, trimmed: &Range<u32>) -> Range<u32> {
        let units = |length| narrow(self.unit.units(length));
        let beyond = trimmed.end.saturating_add(units(self.overreach.behind));
        let last = narrow(self.config.exported_units());
        trimmed.start.saturating_sub(units(self.overreach.before))..beyond.min(last)
    }

    pub(super) fn blocks(&self, what: BlockCommand) -> bool {
        self.config.trim.mode.is_exclusive() && matches!(what, BlockCommand::Discard(_))
    }

    /// A slice of put-off TRIM work. TRIMs that wait for it alone do not make the drive busy.
    pub(super) fn run_slice(&mut self) {
        let at = self.backlog.next_slice();
        let idle = self.slots.taken() == self.backlog.held();
        let took = self.backlog.run_slice(idle);
        self.counters.trim_work_done += took;
        if !idle {
            self.controller.reserve(at, took);
            self.nand.occupy_dies(at, took);
        }
        while let Some((slot, done)) = self.backlog.acknowledged(at, took) {
            self.finish(done, slot);
        }
    }

    #[inline(never)]
    pub(super) fn validate_discard(&self, ranges: &[LbaRange]) -> Result<Bytes, Rejected> {
        let mut length = Bytes(0);
        for range in ranges {
            length += self.within(*range)?;
        }
        let maximum = self.config.trim.command_max;
        let fits = length <= maximum;
        if fits { Ok(length) } else { Err(Rejected::DiscardTooLarge { length, maximum }) }
    }
}
