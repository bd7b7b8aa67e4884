use std::collections::BTreeMap;

use proptest::prelude::*;
use trimbench_core::{Bytes, FileId};

use super::*;

const FILE: FileId = FileId(1);
const READ: FileCommand = FileCommand::Read { file: FILE, offset: Bytes(0), length: Bytes(1) };
const FSYNC: FileCommand = FileCommand::Fsync { file: FILE };
const UNLINK: FileCommand = FileCommand::Unlink { file: FILE };

#[test]
fn transfers_run_side_by_side_and_the_rest_waits() {
    let mut order = Order::default();
    assert!(order.admit(0, READ));
    assert!(order.admit(1, READ));
    assert!(!order.admit(2, FSYNC), "it waits for what was before it");
    assert!(!order.admit(3, READ), "and what comes later waits behind it");
    assert!(!order.admit(4, UNLINK));
    order.ended();
    assert_eq!(order.next(), None);
    order.ended();
    assert_eq!(order.next(), Some(2));
    assert_eq!(order.next(), Some(3), "beside an fsync a transfer may run");
    assert_eq!(order.next(), None);
    order.ended();
    order.ended();
    assert_eq!(order.next(), Some(4));
    assert!(!order.admit(5, READ), "beside an unlink nothing runs");
    order.ended();
    assert_eq!(order.next(), Some(5));
    order.ended();
    assert!(order.is_idle());
}

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
