use proptest::prelude::*;

use super::*;

/// Four groups of 1000 blocks.
fn allocator() -> Allocator {
    Allocator::new(4, 1_000)
}

#[test]
fn large_files_follow_each_other() {
    let mut allocator = allocator();
    assert_eq!(allocator.take_large(100, None), Some(Extent::new(0, 100)));
    assert_eq!(allocator.take_large(100, None), Some(Extent::new(100, 100)));
    assert_eq!(allocator.take_large(50, Some(2_500)), Some(Extent::new(2_500, 50)), "at its goal");
    assert_eq!(allocator.take_large(50, None), Some(Extent::new(200, 50)), "the stream goes on");
    // Not enough is left in the group: the next one.
    assert_eq!(allocator.take_large(800, None), Some(Extent::new(1_000, 800)));
}

#[test]
fn the_first_extent_that_is_long_enough_is_taken() {
    let mut allocator = allocator();
    allocator.withhold(Extent::new(0, 1_000));
    for (start, length) in [(100, 20), (200, 50), (300, 40)] {
        allocator.give(Extent::new(start, length));
    }
    assert_eq!(allocator.take_large(30, Some(0)), Some(Extent::new(200, 30)));
    // The group's extents are too short on average: another group comes first.
    assert_eq!(
        allocator.take_large(40, Some(0)).map(|extent| extent.start),
        Some(300),
        "own group"
    );
    assert_eq!(allocator.take_large(21, Some(3_900)).map(|extent| extent.start), Some(3_900));
}

#[test]
fn small_files_share_a_chunk() {
    let mut allocator = allocator();
    assert_eq!(allocator.take_small(4, 1), Some(Extent::new(1_000, 4)));
    assert_eq!(allocator.take_small(2, 3), Some(Extent::new(1_004, 2)), "whatever their group");
    assert_eq!(allocator.take_large(10, Some(1_006)), Some(Extent::new(1_512, 10)), "it is theirs");
    assert_eq!(allocator.obtainable(), 4_000 - 16);
    assert_eq!(allocator.free(), 4_000 - 10 - 512);
    allocator.release_chunk();
    assert_eq!(allocator.free(), 4_000 - 16);
    assert_eq!(allocator.take_large(10, Some(1_006)), Some(Extent::new(1_006, 10)));
}

#[test]
fn the_last_blocks_come_in_pieces_and_then_there_are_none() {
    let mut allocator = allocator();
    allocator.withhold(Extent::new(0, 1_000));
    allocator.withhold(Extent::new(1_000, 1_000));
    allocator.withhold(Extent::new(2_000, 1_000));
    allocator.withhold(Extent::new(3_000, 1_000));
    allocator.give(Extent::new(10, 3));
    allocator.give(Extent::new(50, 5));
    assert_eq!(allocator.take_large(100, None), Some(Extent::new(50, 5)));
    assert_eq!(allocator.take_small(2, 0), Some(Extent::new(10, 2)));
    assert_eq!(allocator.take_large(100, None), Some(Extent::new(12, 1)), "the chunk's rest");
    assert_eq!(allocator.take_large(1, None), None);
    assert_eq!(allocator.take_small(1, 0), None);
}

#[test]
fn free_space_is_found_within_its_group() {
    let mut allocator = allocator();
    allocator.withhold(Extent::new(100, 100));
    assert_eq!(allocator.free_from(50), Some(Extent::new(50, 50)));
    assert_eq!(allocator.free_from(100), Some(Extent::new(200, 800)));
    assert_eq!(allocator.free_from(150), Some(Extent::new(200, 800)));
    allocator.withhold(Extent::new(900, 100));
    assert_eq!(allocator.free_from(950), None);
}

proptest! {
    /// Against a bitmap: nothing is given twice, nothing is lost, and extents stay merged.
    #[test]
    fn what_is_taken_was_free(
        steps in prop::collection::vec((0..4_u32, 1..700_u64, 0..4_000_u64), 1..200),
    ) {
        let mut allocator = allocator();
        let mut taken = vec![false; 4_000];
        let mut held: Vec<Extent> = Vec::new();
        for (kind, length, at) in steps {
            let got = match kind {
                0 => allocator.take_large(length, Some(at)),
                1 => allocator.take_small(length % 16 + 1, at / 1_000),
                2 => allocator.take_large(length, None),
                _ if held.is_empty() => None,
                _ => {
                    let extent = held.swap_remove(index(at) % held.len());
                    allocator.give(extent);
                    taken[index(extent.start)..index(extent.end())].fill(false);
                    None
                }
            };
            if let Some(extent) = got {
                let part = &mut taken[index(extent.start)..index(extent.end())];
                prop_assert!(part.iter().all(|taken| !taken), "it was free");
                part.fill(true);
                held.push(extent);
            }
            let mut free = 0;
            allocator.check(|extent| {
                free += extent.length;
                assert!(taken[index(extent.start)..index(extent.end())].iter().all(|taken| !taken));
            });
            let chunk = allocator.chunk().map_or(0, |chunk| chunk.length);
            let expected = taken.iter().filter(|taken| !**taken).count() as u64;
            prop_assert_eq!(free + chunk, expected);
            prop_assert_eq!(allocator.obtainable(), expected);
        }
    }
}
