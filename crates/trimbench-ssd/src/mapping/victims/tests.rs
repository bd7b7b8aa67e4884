use super::super::CHUNK;
use super::*;

const UNITS: u32 = 64;

/// Twelve superblocks of 64 units of which nine hold the 576 units of the drive, closed in the
/// order 0 to 8, and `freed` units of each trimmed.
fn nine_closed(policy: VictimPolicy, freed: [u32; 9]) -> Mapping {
    let mut mapping = Mapping::new(576, 12, UNITS.into(), 16).with_policy(policy);
    for superblock in 0..9 {
        fill(&mut mapping, superblock * UNITS);
    }
    for (superblock, freed) in (0..9).zip(freed) {
        mapping.deallocate(superblock * UNITS, superblock * UNITS + freed);
    }
    mapping
}

/// Writes a superblock's worth of units and closes it.
fn fill(mapping: &mut Mapping, first_lpn: u32) {
    let first = mapping.open().unwrap();
    (0..UNITS).for_each(|unit| mapping.place(first_lpn + unit, first + unit));
    mapping.close(first + UNITS);
}

/// Takes the victim, whatever it holds, and the next ones: all nine, in this order.
fn order(mut mapping: Mapping) -> Vec<u32> {
    let mut taken = Vec::new();
    while let Some((victim, valid)) = mapping.victim() {
        assert_eq!(mapping.valid_words(victim)[0].count_ones(), valid);
        let bits = mapping.valid_words(victim)[0];
        for unit in (0..UNITS).filter(|unit| bits & (1 << unit) != 0) {
            let lpn = mapping.p2l[(victim * UNITS + unit) as usize];
            mapping.deallocate(lpn, lpn + 1);
        }
        mapping.release(victim);
        mapping.check(&[]);
        taken.push(victim);
    }
    taken
}

const FREED: [u32; 9] = [1, 9, 0, 64, 5, 9, 3, 40, 2];

#[test]
fn greedy_takes_the_emptiest_and_fifo_the_oldest() {
    assert_eq!(order(nine_closed(VictimPolicy::Greedy, FREED)), [3, 7, 1, 5, 4, 6, 8, 0, 2]);
    // What holds nothing is free, before its turn comes.
    assert_eq!(order(nine_closed(VictimPolicy::Fifo, FREED)), [3, 0, 1, 2, 4, 5, 6, 7, 8]);
}

#[test]
fn cost_and_benefit_are_weighed_as_published() {
    // age (1 - u) / 2u, with ages 9 to 1, in floating point and by a walk of its own.
    let offer = |superblock: u32| {
        let valid = f64::from(UNITS - FREED[superblock as usize]);
        let utilisation = valid / f64::from(UNITS);
        f64::from(9 - superblock) * (1.0 - utilisation) / (2.0 * utilisation)
    };
    let mut expected: Vec<u32> = (0..9).collect();
    expected.sort_by(|&a, &b| offer(b).total_cmp(&offer(a)));
    assert_eq!(order(nine_closed(VictimPolicy::CostBenefit, FREED)), expected);
    // 0 is fuller than 8, but older.
    assert_eq!(expected, [3, 7, 1, 5, 4, 6, 0, 8, 2]);
}

#[test]
fn the_root_of_the_age_weighs_less_than_the_age() {
    let offer = |superblock: u32| {
        let valid = f64::from(UNITS - FREED[superblock as usize]);
        f64::from(9 - superblock).sqrt() * (f64::from(UNITS) - valid) / valid
    };
    let mut expected: Vec<u32> = (0..9).collect();
    expected.sort_by(|&a, &b| offer(b).total_cmp(&offer(a)));
    assert_eq!(order(nine_closed(VictimPolicy::CostBenefitRoot, FREED)), expected);
    // Of three units, one valid and an age of 1 is worth two valid and an age of 16.
    let offer = |age: u64, valid: u32| Offer { superblock: 0, age, valid };
    let ranked = |one: Offer, other: Offer, rooted| {
        (one.beats(other, 3, rooted), other.beats(one, 3, rooted))
    };
    assert_eq!(ranked(offer(1, 1), offer(16, 2), true), (false, false));
    assert_eq!(ranked(offer(1, 1), offer(15, 2), true), (true, false));
    assert_eq!(ranked(offer(1, 1), offer(15, 2), false), (false, true));
    // The greatest numbers do not overflow.
    let (old, young) = (offer(u64::MAX, 1), offer(1, 1 << 24));
    assert!(old.beats(young, 1 << 24, true) && !young.beats(old, 1 << 24, true));
}

#[test]
fn a_superblock_that_is_filled_again_is_the_youngest() {
    for policy in [VictimPolicy::Fifo, VictimPolicy::CostBenefit, VictimPolicy::CostBenefitRoot] {
        let mut mapping = nine_closed(policy, [64, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(mapping.victim(), Some((0, 0)));
        mapping.release(0);
        fill(&mut mapping, 0);
        mapping.deallocate(0, 1);
        assert_eq!(order(mapping).last(), Some(&9), "{policy:?}");
    }
}

#[test]
fn one_that_holds_nothing_is_found_whatever_the_policy() {
    use VictimPolicy::{CostBenefit, DChoices, Fifo, Greedy};
    for policy in [Greedy, Fifo, CostBenefit, DChoices(1)] {
        let mut mapping = nine_closed(policy, FREED);
        assert_eq!(mapping.victim(), Some((3, 0)), "{policy:?}");
        mapping.release(3);
        mapping.check(&[]);
        assert!(mapping.victim().is_some_and(|(_, valid)| valid > 0), "{policy:?}");
    }
    // Of several FIFO takes the oldest.
    let mut mapping = nine_closed(Fifo, [1, 64, 1, 64, 1, 1, 1, 1, 1]);
    assert_eq!(mapping.victim(), Some((1, 0)));
}

#[test]
fn of_so_many_draws_the_emptiest_is_chosen() {
    // The emptiest of d draws of nine is number k with (9 - k + 1)^d - (9 - k)^d of 9^d.
    let mut freed = FREED;
    freed[3] = 63;
    let by_rank = order(nine_closed(VictimPolicy::Greedy, freed));
    for draws in [1, 2, 5] {
        let mut mapping = nine_closed(VictimPolicy::DChoices(draws), freed);
        let mut chosen = [0_u32; 9];
        for _ in 0..100_000 {
            chosen[mapping.victim().unwrap().0 as usize] += 1;
        }
        for (rank, &superblock) in by_rank.iter().enumerate() {
            let beyond = |rank: usize| ((9 - rank) as f64 / 9.0).powi(draws.cast_signed());
            // Those with equal counts share their ranks.
            if superblock != 1 && superblock != 5 {
                let expected = 100_000.0 * (beyond(rank) - beyond(rank + 1));
                let margin = 5.0 * expected.sqrt() + 1.0;
                let got = f64::from(chosen[superblock as usize]);
                assert!((got - expected).abs() < margin, "{draws}: {superblock} {got} {expected}");
            }
        }
    }
    let mut empty = Mapping::new(576, 12, UNITS.into(), 16).with_policy(VictimPolicy::DChoices(3));
    assert_eq!(empty.victim(), None);
}

/// So many superblocks, each with a count, and with the time at which it was closed.
struct Closed {
    counts: Vec<u32>,
    ages: Ages,
}

const WHOLE: u32 = 1_024;

impl Closed {
    /// Of random counts and times; one in eight is not closed.
    fn draw(rng: &mut Rng, superblocks: usize, (few, longest): (u64, u64)) -> Self {
        let count = |rng: &mut Rng| {
            let valid = narrow(rng.below(few + 1) * u64::from(WHOLE) / few);
            if rng.below(8) == 0 { valid | NOT_CLOSED } else { valid }
        };
        let counts = std::iter::repeat_with(|| count(rng)).take(superblocks).collect();
        let mut closed = Self::at(0, counts, longest);
        closed.ages.closed_at.fill_with(|| rng.below(longest));
        closed
    }

    /// Superblocks with these counts, all closed at `closed_at`, when `closed` have been closed.
    fn at(closed_at: u64, counts: Vec<u32>, closed: u64) -> Self {
        let mut ages = Ages::new(counts.len(), false);
        ages.closed_at.fill(closed_at);
        ages.closed = closed;
        Self { counts, ages }
    }

    fn candidates(&self) -> Candidates<'_> {
        Candidates { counts: &self.counts, packing: None, whole: WHOLE }
    }

    /// The choices of greedy and of cost-benefit.
    fn plain(&self) -> (Option<(u32, u32)>, Option<Offer>) {
        let candidates = self.candidates();
        let worthiest = candidates.worthiest_of(0..self.counts.len(), None, &self.ages);
        (candidates.emptiest(), worthiest)
    }

    /// The same by the vectorised searches.
    fn vectorised(&mut self) -> (Option<(u32, u32)>, Option<Offer>) {
        let least = self.counts.chunks(CHUNK).map(|chunk| *chunk.iter().min().unwrap());
        let chunk_least: Vec<u32> = least.collect();
        let oldest = self.ages.closed_at.chunks(CHUNK).map(|chunk| *chunk.iter().min().unwrap());
        self.ages.chunk_oldest = oldest.collect();
        let emptiest = search::emptiest(&self.counts, &chunk_least, VictimSearch::Vectorised);
        (emptiest, search::worthiest(self.candidates(), &chunk_least, &self.ages))
    }
}

#[test]
fn vectorised_and_plain_searches_choose_the_same() {
    let mut rng = Rng::new(1);
    let mut none = 0;
    for superblocks in [1, 2, 63, 64, 65, 200, 1_000, 4_099] {
        // Few counts and few times make many equals; long times are rounded.
        for few in [1, 3, 32, 1_024] {
            for longest in [1, 4, 1_000, 1 << 33, 1 << 62] {
                let mut closed = Closed::draw(&mut rng, superblocks, (few, longest));
                for rooted in [false, true] {
                    closed.ages.rooted = rooted;
                    let plain = closed.plain();
                    none += u32::from(plain.1.is_none());
                    assert_eq!(
                        closed.vectorised(),
                        plain,
                        "{superblocks} {few} {longest} {rooted}"
                    );
                }
            }
        }
    }
    assert!(none > 0, "nothing to choose from was never drawn");
}

#[test]
fn what_floating_point_cannot_tell_apart_is_compared_exactly() {
    // Worth 2^60 + 200, which is rounded up to 2^60 + 256; and, a chunk later, a third of
    // 3 * 2^60 + 599 and more, which is rounded down to 3 * 2^60 + 512.
    let age = 1_u64 << 60;
    for (second, best) in [(3 * age + 599, 0), (3 * age + 600, 0), (3 * age + 601, 64)] {
        let mut closed = Closed::at(0, vec![NOT_CLOSED; 100], 1 << 63);
        (closed.counts[0], closed.counts[64]) = (WHOLE / 2, WHOLE / 4 * 3);
        closed.ages.closed_at[0] = closed.ages.closed - (age + 200);
        closed.ages.closed_at[64] = closed.ages.closed - second;
        let (plain, vectorised) = (closed.plain().1, closed.vectorised().1);
        assert_eq!(plain.map(|offer| offer.superblock), Some(best), "{second}");
        assert_eq!(vectorised, plain, "{second}");
    }
}

#[test]
fn a_drive_searches_as_it_is_told_to() {
    let victim = |search| {
        let mut mapping = nine_closed(VictimPolicy::Greedy, [0, 9, 0, 0, 0, 9, 0, 0, 0]);
        mapping.search_victims(search);
        mapping.victim()
    };
    assert_eq!(victim(VictimSearch::Vectorised), Some((1, 55)));
    assert_eq!(victim(VictimSearch::Plain), Some((1, 55)));
    assert_eq!(victim(VictimSearch::LastOfEquals), Some((5, 55)), "the planted fault");
}
