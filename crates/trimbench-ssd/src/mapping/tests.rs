use super::*;

/// 256 exported units in superblocks of 64, eight of them.
fn mapping() -> Mapping {
    Mapping::new(256, 8, 64, 16)
}

/// Writes logical units in order into a new superblock and closes it.
fn fill(mapping: &mut Mapping, units: impl IntoIterator<Item = u32>) -> u32 {
    let first = mapping.open().unwrap();
    let mut next = first;
    for lpn in units {
        mapping.place(lpn, next);
        next += 1;
    }
    assert_eq!(next, first + 64);
    mapping.close(next);
    first
}

#[test]
fn a_write_is_seen_by_whatever_reads_the_mapping() {
    let mut mapping = mapping();
    let first = mapping.open().unwrap();
    mapping.place(7, first);
    assert_eq!(mapping.lookup(7), Some(first));
    mapping.place(7, first + 1);
    mapping.place(7, first + 2);
    assert_eq!(mapping.lookup(7), Some(first + 2), "the last of several in the ring");
    assert_eq!(mapping.mapped_units(), 1);
    assert_eq!(mapping.lookup(8), None);
    mapping.check(&[Frontier { next: first + 3, end: first + 64 }]);
}

#[test]
fn the_victim_has_the_fewest_valid_units_and_is_the_first_of_equals() {
    let mut mapping = mapping();
    assert_eq!(mapping.victim(), None);
    fill(&mut mapping, 0..64);
    fill(&mut mapping, 64..128);
    fill(&mut mapping, 128..192);
    assert_eq!(mapping.victim(), Some((0, 64)));
    assert_eq!(mapping.deallocate(130, 132), Deallocated { mapped: 2, cached: 0, unmapped: 0 });
    assert_eq!(mapping.victim(), Some((2, 62)));
    assert_eq!(mapping.deallocate(64, 66).mapped, 2);
    assert_eq!(mapping.victim(), Some((1, 62)));
    assert_eq!(mapping.deallocate(128, 192), Deallocated { mapped: 62, cached: 0, unmapped: 2 });
    assert_eq!(mapping.victim(), Some((2, 0)));
    mapping.check(&[]);
}

#[test]
fn relocated_units_are_found_where_they_went_and_trimmed_ones_stay_behind() {
    let mut mapping = mapping();
    fill(&mut mapping, 0..64);
    mapping.deallocate(10, 64);
    let (victim, valid) = mapping.victim().unwrap();
    assert_eq!((victim, valid), (0, 10));
    let bits = mapping.valid_words(victim)[0];
    assert_eq!(bits, (1 << 10) - 1);
    let to = mapping.open().unwrap();
    mapping.relocate(0, bits, to);
    mapping.release(victim);
    for lpn in 0..64 {
        assert_eq!(mapping.lookup(lpn), (lpn < 10).then_some(to + lpn));
    }
    assert_eq!(mapping.mapped_units(), 10);
    mapping.check(&[Frontier { next: to + 10, end: to + 64 }]);
}

#[test]
fn padding_is_not_valid() {
    let mut mapping = mapping();
    let first = mapping.open().unwrap();
    mapping.place(1, first);
    for ppn in first + 1..first + 64 {
        mapping.pad(ppn);
    }
    mapping.close(first + 64);
    assert_eq!(mapping.victim(), Some((0, 1)));
    mapping.check(&[]);
}

#[test]
fn free_superblocks_are_used_in_turn() {
    let mut mapping = mapping();
    assert_eq!(mapping.free_superblocks(), 8);
    let order: Vec<u32> = (0..8).map(|_| mapping.open().unwrap() / 64).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(mapping.open(), None);
}

#[test]
fn tables_that_disagree_show_whose_data_is_read() {
    let mut mapping = Mapping::new(256, 6, 64, 16);
    let first = mapping.open().unwrap();
    mapping.place(7, first);
    mapping.place(9, first + 1);
    assert_eq!((mapping.holder(7), mapping.holder(8)), (Some(7), None));
    mapping.l2p[7] = first + 1;
    assert_eq!(mapping.holder(7), Some(9));
}

#[test]
fn a_superblock_of_the_cache_holds_what_it_can_and_waits_its_turn() {
    let mut mapping = mapping().with_cache(0);
    fill(&mut mapping, 0..64);
    let first = mapping.open_cache(24).unwrap().next;
    (0..24).for_each(|unit| mapping.place(100 + unit, first + unit));
    mapping.check(&[Frontier { next: first + 24, end: first + 24 }]);
    mapping.close(first + 24);
    assert_eq!((mapping.cache_in_use(), mapping.cache_valid()), (1, 24));
    assert_eq!(mapping.oldest_cached(), Some((first / 64, 24)));
    assert_eq!(mapping.oldest_shared(), mapping.oldest_cached());
    assert_eq!(mapping.victim(), Some((0, 64)), "the cache is not in the index");
    let found = mapping.deallocate(60, 104);
    assert_eq!(found, Deallocated { mapped: 8, cached: 4, unmapped: 36 });
    assert_eq!(mapping.oldest_cached(), Some((first / 64, 20)));
    mapping.check(&[]);
    let to = mapping.open().unwrap();
    mapping.relocate(first, mapping.valid_words(first / 64)[0], to);
    mapping.release(first / 64);
    assert_eq!(mapping.lookup(104), Some(to));
    assert_eq!((mapping.cache_in_use(), mapping.free_superblocks()), (0, 6));
    mapping.check(&[Frontier { next: to + 20, end: to + 64 }]);
}

#[test]
fn a_fixed_cache_keeps_its_superblocks_to_itself() {
    let mut mapping = Mapping::new(256, 8, 64, 16).with_cache(2);
    assert_eq!((mapping.free_superblocks(), mapping.cache_free()), (6, 2));
    let first = mapping.open_cache(64).unwrap().next;
    assert_eq!(first, 6 * 64);
    (0..64).for_each(|unit| mapping.place(unit, first + unit));
    mapping.close(first + 64);
    assert_eq!(mapping.oldest_shared(), None);
    mapping.deallocate(0, 64);
    mapping.release(6);
    assert_eq!((mapping.free_superblocks(), mapping.cache_free()), (6, 2));
    let opened = mapping.open_cache(64).map(|frontier| frontier.next);
    assert_eq!(opened, Some(7 * 64), "the longest free is used first");
}

#[test]
fn a_superblock_is_full_when_its_space_is() {
    // Four groups of 16 units; addresses for four times as many.
    let mut mapping = Mapping::new(256, 8, 256, 16).with_packing(Packing::new(8, 64, 16));
    let mut next = mapping.open().unwrap();
    let mut filled = Vec::new();
    for lpn in 0..128 {
        mapping.place(lpn, next);
        next += 1;
        filled.extend(mapping.packing_mut().unwrap().add(0, 1, 50));
    }
    let packing = mapping.packing().unwrap();
    assert_eq!((packing.left(0), filled), (0, vec![0, 1, 2, 3]));
    assert_eq!([0, 31, 32, 127].map(|offset| packing.group_of(0, offset)), [0, 0, 1, 3]);
    assert_eq!(packing.transferred(1, 3), 2, "three halves are a unit and a half");
    mapping.truncate(0, next);
    mapping.close(256);
    mapping.deallocate(0, 28);
    assert_eq!(mapping.victim(), Some((0, 5_000)));
    mapping.check(&[]);
}
