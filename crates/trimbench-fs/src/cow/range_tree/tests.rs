use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
#[should_panic(expected = "added once")]
fn a_sector_that_is_there_is_not_added() {
    let mut tree = RangeTree::default();
    tree.add(Extent::new(0, 10));
    tree.add(Extent::new(9, 1));
}

proptest! {
    #[test]
    fn it_holds_the_sectors_that_a_set_holds(
        steps in proptest::collection::vec((any::<bool>(), 0..60_u64, 1..20_u64), 1..60),
    ) {
        let (mut tree, mut set) = (RangeTree::default(), BTreeSet::new());
        for (adds, start, length) in steps {
            let (extent, sectors) = (Extent::new(start, length), start..start + length);
            if adds && sectors.clone().all(|sector| !set.contains(&sector)) {
                tree.add(extent);
                set.extend(sectors);
            } else {
                let gone = sectors.filter(|sector| set.remove(sector)).count();
                prop_assert_eq!(tree.remove(extent), gone as u64);
            }
            let held: Vec<u64> = tree.iter().flat_map(|run| run.start..run.end()).collect();
            prop_assert_eq!(held, set.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(tree.sectors(), set.len() as u64);
            let runs: Vec<Extent> = tree.iter().collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end() < pair[1].start), "merged");
            let fit = runs.iter().find(|run| run.start >= 10 && run.length >= 5);
            prop_assert_eq!(tree.first_fit(10, 5), fit.map(|run| run.start));
        }
    }
}
