//! Preconditioning: brings the drive into a state, without passing time.

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Data};

use super::Ssd;
use crate::nand::Nand;

/// So many steps are known before they are taken: what they need of memory comes meanwhile.
const AHEAD: usize = 32;

/// A step of a preconditioning: what happens to one mapping unit, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreconditionStep {
    /// It is written.
    Write(u32),
    /// It is discarded.
    Discard(u32),
}

impl Ssd {
    /// Preconditioning: writes `[start, start + length)` (whole units) in order, in no time. The
    /// drive must be idle; it is at rest afterwards.
    ///
    /// # Panics
    /// If the range ends beyond the drive.
    pub fn precondition_sequential(&mut self, start: Bytes, length: Bytes) {
        assert!(start.0 + length.0 <= self.config.capacity.0, "preconditioning beyond the drive");
        let first = narrow(self.unit.units(start));
        let end = narrow(self.unit.units(start + length));
        self.precondition_with((first..end).map(PreconditionStep::Write));
    }

    /// From now on [`Drive::fill_from`](trimbench_core::Drive::fill_from) fills nothing: what is
    /// not written as a command stays empty, and serves as over-provisioning.
    pub fn stay_empty(&mut self) {
        self.stays_empty = true;
    }

    /// Preconditioning: writes and discards single units in this order, in no time. A discard frees
    /// what it would as a command. The drive must be idle; it is at rest afterwards.
    ///
    /// # Panics
    /// If a unit lies beyond the drive.
    pub fn precondition_with(&mut self, changes: impl Iterator<Item = PreconditionStep>) {
        self.contents = None;
        self.fill(changes, Data::Random);
    }

    /// Preconditioning: writes `count` units at uniformly random addresses, in no time. The drive
    /// must be idle; it is at rest afterwards.
    pub fn precondition_random(&mut self, count: u64, rng: &mut Rng) {
        let units = self.config.exported_units();
        self.precondition_with(
            (0..count).map(|_| PreconditionStep::Write(narrow(rng.below(units)))),
        );
    }

    /// Makes the changes in no time and without a trace in the contents; the drive is at rest
    /// afterwards.
    pub(super) fn fill(&mut self, changes: impl Iterator<Item = PreconditionStep>, data: Data) {
        let (acts, granules) = (self.config.trim.mode.frees(), self.granules);
        let percent = self.stored_percent(data);
        let Some(flash) = &mut self.flash else { return };
        let counters = &mut self.counters;
        let (resting, now) = (Nand::new(&self.config), self.now);
        flash.begin_untimed();
        let (mut changes, mut ahead) = (changes.fuse(), Vec::with_capacity(AHEAD));
        loop {
            ahead.extend(changes.by_ref().take(AHEAD));
            if ahead.is_empty() {
                break;
            }
            for change in &ahead {
                if let PreconditionStep::Write(lpn) = change {
                    flash.prefetch_write(*lpn);
                }
            }
            for change in ahead.drain(..) {
                match change {
                    PreconditionStep::Write(lpn) => {
                        counters.host_written += self.config.mapping_unit;
                        flash.write(lpn, percent, (&resting, now), counters);
                    }
                    PreconditionStep::Discard(lpn) => {
                        counters.discards += 1;
                        if acts {
                            flash.deallocate(&granules.within(lpn..lpn + 1), counters);
                        }
                    }
                }
            }
        }
        flash.end_untimed(&resting, counters);
        self.nand = Nand::new(&self.config);
        self.plan();
    }
}
