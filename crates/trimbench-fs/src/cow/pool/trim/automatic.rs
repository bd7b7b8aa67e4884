//! `OpenZFS` with `autotrim=on`. Source: \[OPENZFS\] `vdev_autotrim_thread`.
//!
//! Every 32nd metaslab is visited, one after the other: 0, 32, 64, ..., after the next group's sync
//! 1, 33, 65, ... One in which something was freed is disabled; what was freed is discarded, drive
//! after drive, each beginning when all of the one before is queued; after the syncs of five groups
//! the metaslab is enabled and the next one visited.

use trimbench_core::{BlockCommand, Instant, Model};

use super::Trimming;
use crate::cow::pool::Pool;
use crate::cow::range_tree::RangeTree;

/// Groups until each metaslab was visited. Source: \[OPENZFS\] `zfs_trim_txg_batch`.
const BATCH: usize = 32;
/// Syncs of groups after which the discards of a metaslab are over. Source: \[OPENZFS\]
/// `TXG_CONCURRENT_STATES` + `TXG_DEFER_SIZE`.
const SETTLING: u32 = 5;

#[derive(Debug, Default)]
pub(in crate::cow::pool) struct Autotrim {
    /// The first metaslab of this round.
    first: usize,
    visit: Option<Visit>,
}

/// A metaslab that is disabled.
#[derive(Debug)]
struct Visit {
    metaslab: usize,
    stage: VisitStage,
}

#[derive(Debug)]
enum VisitStage {
    /// The drives before `next` have been handed in what was freed.
    Drives { next: usize, freed: RangeTree, since: Instant },
    /// All have: so many groups are waited for.
    Settling { groups: u32 },
}

impl Autotrim {
    pub(super) fn is_busy(&self) -> bool {
        self.visit.is_some()
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    fn automatic(&mut self) -> &mut Autotrim {
        let Trimming::Automatic(automatic) = &mut self.trim else { unreachable!("autotrim is on") };
        automatic
    }

    pub(super) fn automatic_after_group(&mut self, now: Instant) {
        let automatic = self.automatic();
        let Some(visit) = &mut automatic.visit else {
            let first = automatic.first;
            self.visit(first, now);
            return;
        };
        let VisitStage::Settling { groups } = &mut visit.stage else { return };
        *groups -= 1;
        if *groups == 0 {
            let metaslab = visit.metaslab;
            self.space.enable(metaslab);
            self.visit(metaslab + BATCH, now);
        }
    }

    /// Visits the next metaslab of the round in which something was freed, from this one on.
    fn visit(&mut self, from: usize, now: Instant) {
        let mut round = (from..self.space.metaslabs()).step_by(BATCH);
        let Some(metaslab) = round.find(|&metaslab| self.space.has_trims(metaslab)) else {
            let automatic = self.automatic();
            automatic.first = (automatic.first + 1) % BATCH;
            automatic.visit = None;
            return;
        };
        assert!(self.space.disable(metaslab), "one metaslab is disabled at a time");
        let (freed, since) = self.space.take_trims(metaslab);
        self.counters.passes += 1;
        let stage = VisitStage::Drives { next: 0, freed, since };
        self.automatic().visit = Some(Visit { metaslab, stage });
        self.automatic_on(now);
    }

    /// Hands in what was freed to the next drive once all of the one before is queued.
    pub(super) fn automatic_on(&mut self, now: Instant) {
        while let Trimming::Automatic(Autotrim { visit: Some(visit), .. }) = &mut self.trim
            && let VisitStage::Drives { next, freed, since } = &mut visit.stage
        {
            let (drive, since) = (*next, *since);
            let before = drive.checked_sub(1);
            if before.is_some_and(|before| !self.drives[before].is_handed_in()) {
                return;
            }
            if drive == self.drives.len() {
                visit.stage = VisitStage::Settling { groups: SETTLING };
                return;
            }
            *next += 1;
            let freed = self.stripe.tree_on_drive(freed, drive as u64);
            self.drives[drive].hand_in(now, since, &freed);
            self.pump(drive, now);
        }
    }
}
