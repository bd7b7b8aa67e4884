use super::*;

/// 256 exported units in superblocks of 64, eight of them.
fn mapping() -> Mapping {
    Mapping::new(256, 8, 64)
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
    mapping.check(&[first + 3]);
}

#[test]
fn the_victim_has_the_fewest_valid_units_and_is_the_first_of_equals() {
    let mut mapping = mapping();
    assert_eq!(mapping.victim(), None);
    fill(&mut mapping, 0..64);
    fill(&mut mapping, 64..128);
    fill(&mut mapping, 128..192);
    assert_eq!(mapping.victim(), Some((0, 64)));
    assert_eq!(mapping.deallocate(130, 132), Deallocated { mapped: 2, unmapped: 0 });
    assert_eq!(mapping.victim(), Some((2, 62)));
    assert_eq!(mapping.deallocate(64, 66).mapped, 2);
    assert_eq!(mapping.victim(), Some((1, 62)));
    assert_eq!(mapping.deallocate(128, 192), Deallocated { mapped: 62, unmapped: 2 });
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
    mapping.check(&[to + 10]);
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
