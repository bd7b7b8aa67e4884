//! Which closed superblock is collected.
//!
//! Greedy needs no more than the index of valid counts. The other policies keep here what they
//! need beside it, by superblock: nothing of it is touched when a unit is written or invalidated.

use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;

use super::{CHUNK, Mapping, NOT_CLOSED, Packing};
use crate::config::VictimPolicy;

#[cfg(test)]
mod tests;

/// What a policy knows of the closed superblocks beside their valid counts.
#[derive(Debug, Default)]
pub(super) enum Order {
    #[default]
    Greedy,
    /// The closed ones, the first closed in front.
    Fifo(VecDeque<u32>),
    /// How many had been closed before each was, and how many until now.
    CostBenefit {
        closed_at: Vec<u64>,
        closed: u64,
    },
    DChoices {
        count: u32,
        rng: Rng,
    },
}

impl Order {
    fn new(policy: VictimPolicy, superblocks: usize) -> Self {
        match policy {
            VictimPolicy::Greedy => Self::Greedy,
            VictimPolicy::Fifo => Self::Fifo(VecDeque::new()),
            VictimPolicy::CostBenefit => {
                Self::CostBenefit { closed_at: vec![0; superblocks], closed: 0 }
            }
            // A seed of its own: the drive's choices do not depend on the host's.
            VictimPolicy::DChoices(count) => {
                Self::DChoices { count, rng: Rng::new(0).split("victims") }
            }
        }
    }

    /// A superblock becomes a candidate.
    pub(super) fn closed(&mut self, superblock: u32) {
        match self {
            Self::Fifo(order) => order.push_back(superblock),
            Self::CostBenefit { closed_at, closed } => {
                closed_at[superblock as usize] = *closed;
                *closed += 1;
            }
            Self::Greedy | Self::DChoices { .. } => {}
        }
    }

    /// A candidate was collected.
    pub(super) fn collected(&mut self, superblock: u32) {
        if let Self::Fifo(order) = self {
            // The first, but for one that was taken because it held nothing any more.
            let place = order.iter().position(|&closed| closed == superblock);
            order.remove(place.expect("a candidate is in the order"));
        }
    }

    /// What it chooses; `None` without a candidate, and for greedy, which asks the index.
    fn choose(&mut self, candidates: Candidates<'_>) -> Option<u32> {
        match self {
            Self::Greedy => None,
            Self::Fifo(order) => order.front().copied(),
            Self::CostBenefit { closed_at, closed } => {
                let offer = |superblock: u32| Offer {
                    superblock,
                    age: *closed - closed_at[superblock as usize],
                    valid: candidates.valid(superblock),
                };
                let better = |best: Offer, next: Offer| {
                    if next.beats(best, candidates.whole) { next } else { best }
                };
                candidates.all().map(offer).reduce(better).map(|best| best.superblock)
            }
            Self::DChoices { count, rng } => {
                candidates.all().next()?;
                // Nearly all superblocks are candidates whenever one is wanted.
                let superblocks = candidates.counts.len() as u64;
                let drawn = std::iter::repeat_with(|| narrow(rng.below(superblocks)));
                let drawn = drawn.filter(|&drawn| candidates.contains(drawn));
                drawn.take(*count as usize).min_by_key(|&drawn| candidates.valid(drawn))
            }
        }
    }
}

/// The closed superblocks and what is valid in them.
#[derive(Clone, Copy, Debug)]
struct Candidates<'a> {
    counts: &'a [u32],
    packing: Option<&'a Packing>,
    /// What of one may be valid at most.
    whole: u32,
}

impl<'a> Candidates<'a> {
    fn contains(self, superblock: u32) -> bool {
        self.counts[superblock as usize] & NOT_CLOSED == 0
    }

    fn all(self) -> impl Iterator<Item = u32> + use<'a> {
        (0..narrow(self.counts.len() as u64)).filter(move |&superblock| self.contains(superblock))
    }

    /// Units, or the space that they take in a drive that compresses.
    fn valid(self, superblock: u32) -> u32 {
        let count = self.counts[superblock as usize];
        self.packing.map_or(count, |packing| packing.fill(superblock).space_of(count))
    }
}

/// A candidate as cost and benefit see it.
#[derive(Clone, Copy, Debug)]
struct Offer {
    superblock: u32,
    /// At least 1, so that to gain something always beats to gain nothing.
    age: u64,
    valid: u32,
}

impl Offer {
    /// Whether `age (1 - u) / 2u` is more than the other's, exactly; nothing valid is best of all.
    fn beats(self, other: Self, whole: u32) -> bool {
        let benefit = |it: Self| u128::from(it.age) * u128::from(whole - it.valid);
        benefit(self) * u128::from(other.valid) > benefit(other) * u128::from(self.valid)
    }
}

impl Mapping {
    /// The same mapping, collected by this policy.
    pub(crate) fn with_policy(mut self, policy: VictimPolicy) -> Self {
        self.order = Order::new(policy, self.stages.len());
        self
    }

    /// Whether the policy may choose a superblock that is valid as a whole: nothing is gained, but
    /// another one is next.
    pub(crate) fn may_choose_full(&self) -> bool {
        matches!(self.order, Order::Fifo(_) | Order::DChoices { .. })
    }

    /// The closed superblock that the policy chooses, and what in it is valid: units, or the space
    /// that they take in a drive that compresses.
    pub(crate) fn victim(&mut self) -> Option<(u32, u32)> {
        if matches!(self.order, Order::Greedy) {
            return self.emptiest();
        }
        self.drain();
        let (counts, packing) = (self.counts.as_slice(), self.packing.as_ref());
        let candidates = Candidates { counts, packing, whole: self.whole() };
        let superblock = self.order.choose(candidates)?;
        Some((superblock, candidates.valid(superblock)))
    }

    /// The closed superblock in which the least is valid, the first of equals, and how much.
    pub(crate) fn emptiest(&mut self) -> Option<(u32, u32)> {
        self.drain();
        if self.packing.is_some() {
            return self.emptiest_by_space();
        }
        let (chunk, &least) =
            self.chunk_least.iter().enumerate().min_by_key(|&(_, &least)| least)?;
        if least & NOT_CLOSED != 0 {
            return None;
        }
        let first = chunk * CHUNK;
        let within = self.counts[first..].iter().position(|&count| count == least);
        let superblock =
            first + within.expect("the least of a chunk is the count of one of its superblocks");
        Some((u32::try_from(superblock).expect("fits like all addresses"), least))
    }

    /// What in a superblock may be valid at most, in the measure of [`Self::victim`].
    pub(crate) fn whole(&self) -> u32 {
        self.packing.as_ref().map_or_else(|| self.superblock_units(), Packing::capacity)
    }

    /// Checks that the order holds exactly the candidates.
    pub(super) fn check_order(&self) {
        if let Order::Fifo(order) = &self.order {
            let closed = |&superblock: &u32| self.counts[superblock as usize] & NOT_CLOSED == 0;
            assert!(order.iter().all(closed), "the order holds closed superblocks");
            let candidates = self.counts.iter().filter(|&count| count & NOT_CLOSED == 0).count();
            assert_eq!(order.len(), candidates, "closed superblocks are in the order");
        }
    }
}
