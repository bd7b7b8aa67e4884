use trimbench_core::{Bytes, Ppm};

use super::*;
use crate::config::Geometry;
use crate::ssd::tests::plain;

/// Two dies, nine superblocks of 64 units in groups of 16; seven are full. The first holds 4 valid
/// units in three of its groups, the second 20 in its first two.
fn nearly_full() -> (GarbageCollector, Mapping, Nand) {
    let geometry = Geometry { dies: 2, ..plain().geometry };
    let config = SsdConfig { geometry, ..plain() };
    let mut mapping = Mapping::new(448, 9, 64, 16);
    for superblock in 0..7 {
        let first = mapping.open().unwrap();
        (0..64).for_each(|unit| mapping.place(superblock * 64 + unit, first + unit));
        mapping.close(first + 64);
    }
    for (first, end) in [(1, 16), (18, 48), (49, 64), (84, 128)] {
        mapping.deallocate(first, end);
    }
    (GarbageCollector::new(&config), mapping, Nand::new(&config))
}

/// What is owed: `r`ead, `p`rogram or `e`rase, die, units.
fn debt(gc: &GarbageCollector) -> Vec<(char, u32, u32)> {
    let text = |owed: &Owed| match *owed {
        Owed::Read { cells: Cells::Map, die, .. } => ('m', die, 0),
        Owed::Read { cells: Cells::Cache, die, pieces, .. } => ('c', die, pieces),
        Owed::Read { cells: Cells::Data, die, pieces, .. } => ('r', die, pieces),
        Owed::Program { cells: Cells::Map, die } => ('w', die, 0),
        Owed::Program { die, .. } => ('p', die, 0),
        Owed::Erase { die } => ('e', die, 0),
    };
    gc.debt.iter().map(text).collect()
}

#[test]
fn a_collection_owes_its_reads_its_full_programs_and_an_erase_of_every_die() {
    let (mut gc, mut mapping, nand) = nearly_full();
    let mut counters = DriveCounters::default();
    gc.make_room(&mut mapping, &nand, &mut counters);
    assert_eq!(mapping.free_superblocks(), 3, "the reserve is whole");
    let first = [('r', 0, 1), ('r', 1, 2), ('r', 1, 1), ('e', 0, 0), ('e', 1, 0)];
    // Four units were there; twelve more fill the group.
    let second = [('r', 0, 16), ('r', 1, 4), ('p', 0, 0), ('e', 0, 0), ('e', 1, 0)];
    assert_eq!(debt(&gc), [first, second].concat());
    assert_eq!((counters.moved_units, counters.erased_superblocks), (24, 2));
    mapping.check(&gc.frontiers()[..1]);
}

#[test]
fn a_collector_that_reads_pages_owes_one_read_for_each_with_something_valid() {
    for (bytes, pages) in [
        (None, [1, 1, 1, 1, 1]),
        (Some(64), [1, 1, 1, 1, 1]),
        (Some(16), [1, 1, 1, 4, 1]),
        (Some(4), [1, 2, 1, 16, 4]),
    ] {
        let (_, mut mapping, nand) = nearly_full();
        let read_bytes = bytes.map(|kib: u64| Bytes(kib << 10));
        let gc = crate::config::GcConfig { read_bytes, ..plain().gc };
        let mut gc = GarbageCollector::new(&SsdConfig { gc, ..plain() });
        gc.make_room(&mut mapping, &nand, &mut DriveCounters::default());
        let read = |owed: &Owed| match owed {
            Owed::Read { pages, .. } => Some(*pages),
            _ => None,
        };
        assert_eq!(gc.debt.iter().filter_map(read).collect::<Vec<_>>(), pages, "{bytes:?}");
    }
    // Of units 3 and 4, 60 to 63.
    let units = 0b11 << 3 | 0b1111 << 60;
    for (width, pages) in [(1, 6), (2, 4), (4, 3), (8, 2), (64, 1), (1_024, 1)] {
        assert_eq!(Pages::of(width).with_any(units).count_ones(), pages, "{width}");
    }
}

#[test]
fn a_collection_owes_a_read_and_a_program_of_a_translation_page_that_is_not_cached() {
    let (mut gc, mapping, nand) = nearly_full();
    let config = crate::ssd::tests::mapping_cache::dramless(1);
    let cache = crate::mapping::MappingCache::new(&config.mapping_cache.unwrap(), &config);
    let mut mapping = mapping.with_translation(cache);
    mapping.rest_translation();
    let mut counters = DriveCounters::default();
    gc.make_room(&mut mapping, &nand, &mut counters);
    // All units are of page 0, on die 0: once for each of two victims.
    let map =
        |&(kind, die, _): &(char, u32, u32)| (kind == 'm' || kind == 'w').then_some((kind, die));
    let owed: Vec<_> = debt(&gc).iter().filter_map(map).collect();
    assert_eq!(owed, [('m', 0), ('w', 0)].repeat(2));
    assert_eq!((counters.map_pages_read, counters.map_pages_programmed), (2, 2));
    // A preconditioning owes and counts none.
    let (mut gc, mapping, nand) = nearly_full();
    let cache = crate::mapping::MappingCache::new(&config.mapping_cache.unwrap(), &config);
    let (mut mapping, mut counters) = (mapping.with_translation(cache), DriveCounters::default());
    mapping.rest_translation();
    gc.begin_untimed();
    gc.make_room(&mut mapping, &nand, &mut counters);
    assert_eq!((gc.debt.len(), counters.map_pages_read), (0, 0));
}

#[test]
fn each_group_of_the_host_pays_its_share_and_the_last_one_the_rest() {
    let (mut gc, mut mapping, mut nand) = nearly_full();
    gc.make_room(&mut mapping, &nand, &mut DriveCounters::default());
    // Shares are assigned as groups fill, and paid as they leave.
    let shares = [4, 3, 2, 1].map(|groups| gc.assign_share(groups));
    let left = shares.map(|share| {
        gc.pay(share, Instant::START, &mut nand);
        gc.debt.len()
    });
    assert_eq!(left, [7, 4, 2, 0]);
    // Die 0: two reads, a program behind its transfer, two erases of 2 ms (half a block a die).
    assert!(nand.die_free_at(0) >= Instant::from_start(Nanos::from_micros(4_700)));
}

#[test]
fn idle_time_leaves_full_victims_alone() {
    let (gc, mut mapping, mut nand) = nearly_full();
    let mut counters = DriveCounters::default();
    let idle = Instant::START..Instant::from_start(Nanos::from_secs(1));
    let config = SsdConfig {
        gc: crate::config::GcConfig { idle_free_target: Ppm(900_000), ..plain().gc },
        ..plain()
    };
    let mut gc = GarbageCollector { high: GarbageCollector::new(&config).high, ..gc };
    gc.use_idle_time(&idle, &mut mapping, &mut nand, &mut counters);
    // Of the seven, two are at most half valid.
    assert_eq!(counters.erased_superblocks, 2);
}

#[test]
fn a_collector_that_works_in_bursts_waits_until_there_is_a_whole_one() {
    // Two victims owe, in this order: three reads and two erases; two reads, a program and two
    // erases. The four groups of a superblock pay the erases evenly; the program becomes due with
    // the last of six moves.
    for (burst, expected, left) in
        [(None, [3, 3, 2, 2], 0), (Some(16), [1, 1, 1, 7], 0), (Some(32), [1, 1, 1, 1], 6)]
    {
        let burst = burst.map(|units: u64| Bytes(units * 4_096));
        let (_, mut mapping, mut nand) = nearly_full();
        let config = SsdConfig { gc: crate::config::GcConfig { burst, ..plain().gc }, ..plain() };
        let mut gc = GarbageCollector::new(&config);
        gc.make_room(&mut mapping, &nand, &mut DriveCounters::default());
        let paid = [4, 3, 2, 1].map(|groups_left| gc.assign_share(groups_left));
        assert_eq!(paid, expected, "{burst:?}");
        gc.pay(paid.iter().sum(), Instant::START, &mut nand);
        assert_eq!((gc.debt.len(), gc.assigned), (0, 0));
        // Idle time pays what still waits.
        gc.break_bursts();
        assert_eq!(gc.debt.len(), left, "{burst:?}");
    }
}

#[test]
fn a_burst_is_whole_however_little_victims_hold() {
    // Each superblock of the host owes a read and a program, which is half a burst.
    let gc = crate::config::GcConfig { burst: Some(Bytes(32 * 4_096)), ..plain().gc };
    let mut gc = GarbageCollector::new(&SsdConfig { gc, ..plain() });
    let owes = [
        Owed::Read { cells: Cells::Data, die: 0, pages: 1, pieces: 16 },
        Owed::Program { cells: Cells::Data, die: 1 },
    ];
    for expected in [[0, 0, 0, 0], [0, 4, 0, 0], [0, 0, 0, 0], [0, 4, 0, 0]] {
        gc.owe_moves(owes);
        assert_eq!([4, 3, 2, 1].map(|groups_left| gc.assign_share(groups_left)), expected);
    }
    // More than a burst for each group of the host: it falls behind by less than one.
    (0..5).for_each(|_| gc.owe_moves(owes));
    assert_eq!((gc.assign_share(1), gc.assign_share(1)), (8, 0));
}
