use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn blocks_of(map: &ExtentMap) -> BTreeMap<u64, u64> {
    let each = |mapped: &Mapped| {
        let Mapped { logical, extent } = *mapped;
        (0..extent.length).map(move |offset| (logical + offset, extent.start + offset))
    };
    map.extents().iter().flat_map(each).collect()
}

proptest! {
    #[test]
    fn an_extent_map_maps_each_block(
        steps in prop::collection::vec((any::<bool>(), 0..60_u64, 1..20_u64, any::<bool>()), 1..60),
    ) {
        let (mut map, mut oracle) = (ExtentMap::default(), BTreeMap::new());
        let mut next = 1_000;
        for (maps, start, length, apart) in steps {
            let range = Extent::new(start, length);
            if maps {
                while let Some(hole) = map.first_hole(range) {
                    next += u64::from(apart);
                    map.insert(hole.start, Extent::new(next, hole.length));
                    let place = |offset| (hole.start + offset, next + offset);
                    oracle.extend((0..hole.length).map(place));
                    next += hole.length;
                }
            } else {
                let mut freed = Vec::new();
                map.cut(range, |extent| freed.extend(extent.start..extent.end()));
                let expected: Vec<u64> =
                    oracle.range(start..start + length).map(|(_, at)| *at).collect();
                prop_assert_eq!(freed, expected);
                oracle.retain(|logical, _| !(range.start..range.end()).contains(logical));
            }
            prop_assert_eq!(blocks_of(&map), oracle.clone());
            let mapped = oracle.range(start..start + length).count() as u64;
            prop_assert_eq!(map.count(range), mapped);
            let (before, after) = map.around(start);
            let last = |mapped: Mapped| (mapped.range().end() - 1, mapped.extent.end() - 1);
            let expected = oracle.range(..start).next_back().map(|(logical, at)| (*logical, *at));
            // An extent that reaches over the place ends behind it.
            if !oracle.contains_key(&start) {
                prop_assert_eq!(before.map(last), expected);
                let first = |mapped: Mapped| (mapped.logical, mapped.extent.start);
                let expected = oracle.range(start..).next().map(|(logical, at)| (*logical, *at));
                prop_assert_eq!(after.map(first), expected);
            }
        }
    }
}
