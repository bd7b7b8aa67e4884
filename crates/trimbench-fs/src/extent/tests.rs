use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn pieces_are_as_long_as_may_be_and_the_last_is_the_rest() {
    let pieces: Vec<Extent> = Extent::new(5, 25).pieces(10).collect();
    assert_eq!(pieces, [Extent::new(5, 10), Extent::new(15, 10), Extent::new(25, 5)]);
}

fn members(set: &RangeSet) -> BTreeSet<u64> {
    set.ranges().iter().flat_map(|range| range.start..range.end()).collect()
}

proptest! {
    #[test]
    fn a_range_set_is_a_set(
        steps in prop::collection::vec((any::<bool>(), 0..60_u64, 0..20_u64), 1..60),
    ) {
        let (mut set, mut oracle) = (RangeSet::default(), BTreeSet::new());
        for (inserts, start, length) in steps {
            let range = Extent::new(start, length);
            let before = oracle.len() as u64;
            if inserts {
                oracle.extend(range.start..range.end());
                prop_assert_eq!(set.insert(range), oracle.len() as u64 - before);
            } else {
                oracle.retain(|member| !(range.start..range.end()).contains(member));
                prop_assert_eq!(set.remove(range), before - oracle.len() as u64);
            }
            prop_assert_eq!(members(&set), oracle.clone());
            prop_assert_eq!(set.total(), oracle.len() as u64);
            let merged = set.ranges().windows(2).all(|pair| pair[0].end() < pair[1].start);
            prop_assert!(merged, "ranges neither overlap nor touch");
            let window = Extent::new(10, 40);
            let inside: u64 = set.within(window).map(|range| range.length).sum();
            let gaps: u64 = set.gaps(window).iter().map(|range| range.length).sum();
            prop_assert_eq!(inside, oracle.range(10..50).count() as u64);
            prop_assert_eq!(inside + gaps, 40);
        }
    }
}
