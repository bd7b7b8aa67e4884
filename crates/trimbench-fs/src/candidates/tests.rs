use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const ANY_LENGTH: u64 = u64::MAX;

/// All candidates in the order of their lists.
fn drained(candidates: &mut Candidates) -> Vec<Extent> {
    let mut taken = Vec::new();
    while let Some(next) = candidates.largest() {
        taken.push(candidates.remove(next.start));
    }
    assert!(candidates.is_empty() && candidates.total() == 0);
    taken
}

#[test]
fn the_largest_class_comes_first_and_within_it_the_first_that_came() {
    let mut candidates = Candidates::default();
    // 512 blocks and more are one class.
    for extent in [(0, 10), (1_000, 512), (4_000, 3_000), (9_000, 511), (9_900, 10)] {
        assert_eq!(candidates.file(Extent::new(extent.0, extent.1), ANY_LENGTH), extent.1);
    }
    let starts: Vec<u64> = drained(&mut candidates).iter().map(|extent| extent.start).collect();
    assert_eq!(starts, [1_000, 4_000, 9_000, 0, 9_900]);
}

#[test]
fn touching_candidates_are_one_up_to_the_longest_discard() {
    let mut candidates = Candidates::default();
    candidates.file(Extent::new(0, 10), ANY_LENGTH);
    candidates.file(Extent::new(20, 10), ANY_LENGTH);
    candidates.file(Extent::new(10, 10), ANY_LENGTH);
    assert_eq!(drained(&mut candidates), [Extent::new(0, 30)]);
    // With what lies before first: then there is no room for what lies behind.
    candidates.file(Extent::new(0, 10), 25);
    candidates.file(Extent::new(20, 10), 25);
    candidates.file(Extent::new(10, 10), 25);
    assert_eq!(drained(&mut candidates), [Extent::new(0, 20), Extent::new(20, 10)]);
}

#[test]
fn the_next_candidate_of_an_address_may_begin_before_it() {
    let mut candidates = Candidates::default();
    candidates.file(Extent::new(10, 10), ANY_LENGTH);
    assert_eq!(candidates.ending_behind(0), Some(Extent::new(10, 10)));
    assert_eq!(candidates.ending_behind(19), Some(Extent::new(10, 10)));
    assert_eq!(candidates.ending_behind(20), None);
}

proptest! {
    #[test]
    fn candidates_hold_each_filed_block_once(
        extents in prop::collection::vec((0..200_u64, 1..60_u64), 1..40),
        longest in 60..200_u64,
    ) {
        let (mut candidates, mut naive) = (Candidates::default(), BTreeSet::new());
        for (start, length) in extents {
            let blocks = start..start + length;
            let there = blocks.filter(|block| naive.contains(block)).count() as u64;
            let extent = Extent::new(start, length);
            prop_assert_eq!(candidates.overlap(extent), there);
            prop_assert_eq!(candidates.file(extent, longest), length - there);
            naive.extend(start..start + length);
            prop_assert_eq!(candidates.total(), naive.len() as u64);
        }
        let taken = drained(&mut candidates);
        prop_assert!(taken.iter().all(|extent| extent.length <= longest));
        let mut blocks: Vec<u64> =
            taken.iter().flat_map(|extent| extent.start..extent.end()).collect();
        blocks.sort_unstable();
        prop_assert_eq!(blocks, naive.into_iter().collect::<Vec<_>>());
    }
}
