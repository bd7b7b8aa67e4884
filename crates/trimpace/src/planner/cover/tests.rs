use proptest::prelude::*;

use super::*;

#[test]
fn the_minimum_is_the_shortest_extent_that_the_share_needs() {
    let mib =
        |lengths: &[u64], share| cover(lengths.iter().copied().map(Bytes::mib), Ppm(share)).0 >> 20;
    assert_eq!(mib(&[], 990_000), 0);
    assert_eq!(mib(&[1, 90, 9], 1_000_000), 1);
    assert_eq!(mib(&[1, 90, 9], 990_000), 9);
    assert_eq!(mib(&[1, 90, 9], 990_001), 1);
    assert_eq!(mib(&[1, 90, 9], 900_000), 90);
    assert_eq!(mib(&[1, 90, 9], 0), 90);
    assert_eq!(mib(&[1, 90, 9], 2_000_000), 1);
}

#[test]
fn extents_of_one_length_are_all_trimmed() {
    assert_eq!(cover([Bytes(7); 100].into_iter(), Ppm(10)), Bytes(7));
}

#[test]
fn a_share_is_not_rounded_down() {
    assert_eq!(cover([Bytes(1), Bytes(2)].into_iter(), Ppm(666_667)), Bytes(1));
    assert_eq!(cover([Bytes(1), Bytes(2)].into_iter(), Ppm(666_666)), Bytes(2));
}

proptest! {
    #[test]
    fn no_larger_minimum_trims_the_share(
        lengths in prop::collection::vec(prop_oneof![1..20_u64, 1..u64::MAX], 1..60),
        share in 1..=1_000_000_u32,
    ) {
        let sum: u128 = lengths.iter().copied().map(u128::from).sum();
        let suffices = |minimum: u64| {
            let long = lengths.iter().filter(|length| **length >= minimum);
            let trimmed: u128 = long.copied().map(u128::from).sum();
            trimmed * 1_000_000 >= sum * u128::from(share)
        };
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        let oracle = sorted.into_iter().rev().find(|length| suffices(*length)).unwrap();
        let minimum = cover(lengths.iter().copied().map(Bytes), Ppm(share)).0;
        prop_assert_eq!(minimum, oracle);
        prop_assert!(minimum == u64::MAX || !suffices(minimum + 1));
    }
}
