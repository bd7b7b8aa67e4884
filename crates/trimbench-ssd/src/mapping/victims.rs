//! Victim selection: which closed superblock is collected.
//!
//! Greedy needs only the index of valid counts. The other policies keep additional data by
//! superblock; writing or invalidating a unit does not touch it.
//!
//! Each choice is defined by a plain walk over all candidates. Greedy and cost-benefit make the
//! same choice by vectorised searches (`search.rs`), except in a drive that compresses.

use std::collections::VecDeque;
use std::ops::Range;

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;

use super::{CHUNK, Mapping, NOT_CLOSED, Packing, Space, least_of_chunk};
use crate::config::VictimPolicy;

mod search;

#[cfg(test)]
mod tests;

/// Ages beyond this count as this where their square roots are compared.
const AGE_MAX: u64 = 1 << 31;

/// How the collector looks for its victim. Each finds the same one; that is what the others are
/// for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VictimSearch {
    /// Many superblocks at a time.
    #[default]
    Vectorised,
    /// One after the other.
    Plain,
    /// A planted fault: the vectorised one, but greedy takes the last of equals.
    LastOfEquals,
}

/// What a policy knows of the closed superblocks beside their valid counts.
#[derive(Debug, Default)]
pub(super) enum Order {
    #[default]
    Greedy,
    /// The closed ones, the first closed in front.
    Fifo(VecDeque<u32>),
    CostBenefit(Ages),
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
            VictimPolicy::CostBenefit | VictimPolicy::CostBenefitRoot => {
                let rooted = policy == VictimPolicy::CostBenefitRoot;
                Self::CostBenefit(Ages::new(superblocks, rooted))
            }
            // A seed of its own: the drive's choices do not depend on the host's.
            VictimPolicy::DChoices(count) => {
                Self::DChoices { count, rng: Rng::new(0).split("victims") }
            }
        }
    }

    pub(super) fn closed(&mut self, superblock: u32) {
        match self {
            Self::Fifo(order) => order.push_back(superblock),
            Self::CostBenefit(ages) => ages.closed(superblock as usize),
            Self::Greedy | Self::DChoices { .. } => {}
        }
    }

    pub(super) fn collected(&mut self, superblock: u32) {
        match self {
            Self::Fifo(order) => {
                // The first, but for one that was taken because it held nothing.
                let place = order.iter().position(|&closed| closed == superblock);
                order.remove(place.expect("a candidate is in the order"));
            }
            Self::CostBenefit(ages) => ages.collected(superblock as usize),
            Self::Greedy | Self::DChoices { .. } => {}
        }
    }

    /// What it chooses; `None` without a candidate, and for greedy, which asks the index.
    fn choose(
        &mut self,
        candidates: Candidates<'_>,
        chunk_least: &[u32],
        plainly: bool,
    ) -> Option<u32> {
        match self {
            Self::Greedy => None,
            Self::Fifo(order) => order.front().copied(),
            Self::CostBenefit(ages) => {
                let best = if plainly {
                    candidates.worthiest_of(0..candidates.counts.len(), None, ages)
                } else {
                    search::worthiest(candidates, chunk_least, ages)
                };
                best.map(|best| best.superblock)
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

/// When superblocks were closed, counted in superblocks that were closed before.
#[derive(Debug)]
pub(super) struct Ages {
    /// [`NEVER_CLOSED`] of what is no candidate.
    closed_at: Vec<u64>,
    /// The least of `closed_at` in each chunk of [`CHUNK`] superblocks.
    chunk_oldest: Vec<u64>,
    closed: u64,
    /// Whether it is the square root of an age that counts.
    rooted: bool,
}

/// Later than any superblock is closed.
const NEVER_CLOSED: u64 = u64::MAX;

impl Ages {
    fn new(superblocks: usize, rooted: bool) -> Self {
        let chunk_oldest = vec![NEVER_CLOSED; superblocks.div_ceil(CHUNK)];
        Self { closed_at: vec![NEVER_CLOSED; superblocks], chunk_oldest, closed: 0, rooted }
    }

    fn closed(&mut self, superblock: usize) {
        self.closed_at[superblock] = self.closed;
        let oldest = &mut self.chunk_oldest[superblock / CHUNK];
        *oldest = (*oldest).min(self.closed);
        self.closed += 1;
    }

    fn collected(&mut self, superblock: usize) {
        self.closed_at[superblock] = NEVER_CLOSED;
        let chunk = superblock / CHUNK;
        self.chunk_oldest[chunk] = least_of_chunk(&self.closed_at, chunk);
    }
}

/// The closed superblocks and what is valid in them.
#[derive(Clone, Copy, Debug)]
struct Candidates<'a> {
    counts: &'a [u32],
    packing: Option<&'a Packing>,
    whole: u32,
}

impl<'a> Candidates<'a> {
    fn contains(self, superblock: u32) -> bool {
        self.counts[superblock as usize] & NOT_CLOSED == 0
    }

    fn among(self, superblocks: Range<usize>) -> impl Iterator<Item = u32> + use<'a> {
        let superblocks = narrow(superblocks.start as u64)..narrow(superblocks.end as u64);
        superblocks.filter(move |&superblock| self.contains(superblock))
    }

    fn all(self) -> impl Iterator<Item = u32> + use<'a> {
        self.among(0..self.counts.len())
    }

    /// Units, or the space that they take in a drive that compresses.
    fn valid(self, superblock: u32) -> u32 {
        let count = self.counts[superblock as usize];
        self.packing.map_or(count, |packing| packing.fill(superblock).space_of(count))
    }

    /// The one in which the least is valid, the first of equals.
    fn emptiest(self) -> Option<(u32, u32)> {
        let offers = self.all().map(|superblock| (superblock, self.valid(superblock)));
        offers.min_by_key(|&(_, valid)| valid)
    }

    /// The best of `best` and of those among these superblocks, the first of equals.
    fn worthiest_of(
        self,
        superblocks: Range<usize>,
        best: Option<Offer>,
        ages: &Ages,
    ) -> Option<Offer> {
        let offer = |superblock: u32| Offer {
            superblock,
            age: ages.closed - ages.closed_at[superblock as usize],
            valid: self.valid(superblock),
        };
        self.among(superblocks).map(offer).fold(best, |best, next| match best {
            Some(best) if !next.beats(best, self.whole, ages.rooted) => Some(best),
            _ => Some(next),
        })
    }
}

/// A candidate as cost and benefit see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    superblock: u32,
    /// At least 1, so that to gain something always beats to gain nothing.
    age: u64,
    valid: u32,
}

impl Offer {
    /// Whether `age (1 - u) / 2u` is more than the other's, exactly; nothing valid is best of all.
    /// With the root of the age it is the squares that are compared.
    fn beats(self, other: Self, whole: u32, rooted: bool) -> bool {
        let counted = |units: u32| if rooted { u64::from(units).pow(2) } else { units.into() };
        // A superblock has at most 2^24 units: the product of an age and two squares fits.
        let age = |it: Self| u128::from(if rooted { it.age.min(AGE_MAX) } else { it.age });
        let benefit = |it: Self| age(it) * u128::from(counted(whole - it.valid));
        let cost = |it: Self| u128::from(counted(it.valid));
        benefit(self) * cost(other) > benefit(other) * cost(self)
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

    pub(crate) fn search_victims(&mut self, search: VictimSearch) {
        self.search = search;
    }

    /// The closed superblock that is collected next, and what in it is valid: units, or the space
    /// that they take in a drive that compresses. One without anything valid is taken first,
    /// whatever the policy: there is nothing to move out of it.
    pub(crate) fn victim(&mut self) -> Option<(u32, u32)> {
        let emptiest = self.emptiest()?;
        match &self.order {
            Order::Greedy => return Some(emptiest),
            // Of several the oldest, so that all wear alike.
            Order::Fifo(order) if emptiest.1 == 0 => {
                let held = |superblock: &&u32| self.counts[**superblock as usize] == 0;
                return order.iter().find(held).map(|&oldest| (oldest, 0));
            }
            Order::DChoices { .. } if emptiest.1 == 0 => return Some(emptiest),
            _ => {}
        }
        let (plainly, whole) = (self.searches_plainly(), self.whole());
        // Field by field: the order changes as it chooses.
        let packing = match &self.space {
            Space::Units => None,
            Space::Packed(packing) => Some(packing),
        };
        let candidates = Candidates { counts: &self.counts, packing, whole };
        let superblock = self.order.choose(candidates, &self.chunk_least, plainly)?;
        Some((superblock, candidates.valid(superblock)))
    }

    /// The closed superblock in which the least is valid, the first of equals, and how much.
    pub(crate) fn emptiest(&mut self) -> Option<(u32, u32)> {
        self.drain();
        if self.searches_plainly() {
            let (counts, packing) = (self.counts.as_slice(), self.packing());
            return Candidates { counts, packing, whole: self.whole() }.emptiest();
        }
        search::emptiest(&self.counts, &self.chunk_least, self.search)
    }

    /// The closed superblock that was erased least often, the first of equals.
    pub(crate) fn least_erased(&mut self) -> Option<u32> {
        self.drain();
        let (counts, packing) = (self.counts.as_slice(), self.packing());
        let all = Candidates { counts, packing, whole: self.whole() }.all();
        all.min_by_key(|&superblock| self.erases()[superblock as usize])
    }

    /// A drive that compresses always does: the vectorised searches know counts only.
    fn searches_plainly(&self) -> bool {
        self.search == VictimSearch::Plain || self.packing().is_some()
    }

    /// What in a superblock may be valid at most, in the measure of [`Self::victim`].
    pub(crate) fn whole(&self) -> u32 {
        self.packing().map_or_else(|| self.superblock_units(), Packing::capacity)
    }

    /// Checks that the order holds exactly the candidates.
    pub(super) fn check_order(&self) {
        if let Order::CostBenefit(ages) = &self.order {
            for (chunk, closed_at) in ages.closed_at.chunks(CHUNK).enumerate() {
                let oldest = closed_at.iter().min();
                assert_eq!(oldest, ages.chunk_oldest.get(chunk), "the oldest of chunk {chunk}");
            }
            let closed = ages.closed_at.iter().map(|&closed_at| closed_at != NEVER_CLOSED);
            let candidates = self.counts.iter().map(|&count| count & NOT_CLOSED == 0);
            assert!(closed.eq(candidates), "closed superblocks have an age");
        }
        if let Order::Fifo(order) = &self.order {
            let closed = |&superblock: &u32| self.counts[superblock as usize] & NOT_CLOSED == 0;
            assert!(order.iter().all(closed), "the order holds closed superblocks");
            let candidates = self.counts.iter().filter(|&count| count & NOT_CLOSED == 0).count();
            assert_eq!(order.len(), candidates, "closed superblocks are in the order");
        }
    }
}
