//! Collection in bursts: what moves data waits until it makes a whole burst.
//!
//! Model: moves become due evenly, as the host fills the freed space. Where no bursts are set, each
//! group of the host pays what is due; with bursts, the group with which the due programs reach the
//! size of a burst pays for all of it, and those before it pay nothing. So a victim that holds
//! little makes bursts rarer, not more expensive. Erases move nothing and stay spread.

use std::collections::VecDeque;

use super::{GarbageCollector, Owed};
use crate::config::SsdConfig;

/// What waits for its burst.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Reads and programs, in their order.
    waiting: VecDeque<Owed>,
    /// How many of them are due, from the front; and the programs among those.
    due: usize,
    programs: u32,
    /// Programs of a burst, at least 1.
    size: u32,
}

impl Bursts {
    pub(super) fn of(config: &SsdConfig) -> Option<Self> {
        let programs = config.gc.burst?.0 / config.geometry.program_bytes.0;
        let size = u32::try_from(programs).expect("at most 1GiB");
        Some(Self { waiting: VecDeque::new(), due: 0, programs: 0, size })
    }

    /// The share of one of `groups_left` groups becomes due: the bursts that are whole with it.
    fn advance(&mut self, groups_left: u32) -> impl Iterator<Item = Owed> {
        let share = (self.waiting.len() - self.due).div_ceil(groups_left as usize);
        let mut ready = 0;
        for owed in self.waiting.range(self.due..self.due + share) {
            self.due += 1;
            self.programs += u32::from(matches!(owed, Owed::Program { .. }));
            if self.programs == self.size {
                (self.programs, ready) = (0, self.due);
            }
        }
        self.due -= ready;
        self.waiting.drain(..ready)
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        (self.due, self.programs) = (0, 0);
    }
}

impl GarbageCollector {
    /// Where reads and programs are owed.
    #[inline]
    pub(super) fn moves(&mut self) -> &mut VecDeque<Owed> {
        match &mut self.bursts {
            None => &mut self.debt,
            Some(bursts) => &mut bursts.waiting,
        }
    }

    /// Whether one of `groups_left` groups completes bursts, which are then at the end of the debt.
    pub(super) fn completes_bursts(&mut self, groups_left: u32) -> bool {
        let Some(bursts) = &mut self.bursts else { return false };
        let before = self.debt.len();
        self.debt.extend(bursts.advance(groups_left));
        self.debt.len() > before
    }

    /// All that waits for a burst is debt that idle time pays.
    pub(super) fn break_bursts(&mut self) {
        if let Some(bursts) = &mut self.bursts {
            self.debt.append(&mut bursts.waiting);
            bursts.clear();
        }
    }
}
