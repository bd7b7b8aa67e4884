use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use Allocation::{ByIndex, Linear};

/// Four groups of 1024 blocks.
fn allocator() -> Allocator {
    Allocator::new(Linear, 4, 1_024)
}

/// A new file of this length that nobody has open, whose home is at the start.
fn closed(length: u64) -> AllocationRequest {
    let (hole, size) = (Extent::new(0, length), length);
    AllocationRequest { inode: 1, hole, size, open: false, before: None, after: None, home: 0 }
}

fn open(inode: u64, length: u64) -> AllocationRequest {
    AllocationRequest { inode, open: true, ..closed(length) }
}

/// Takes everything, but for these extents.
fn only(extents: &[(u64, u64)]) -> Allocator {
    let mut allocator = allocator();
    for group in 0..4 {
        allocator.withhold(Extent::new(group * 1_024, 1_024));
    }
    for &(start, length) in extents {
        allocator.give(Extent::new(start, length));
    }
    allocator
}

fn start(taken: Option<Extent>) -> Option<u64> {
    taken.map(|extent| extent.start)
}

#[test]
fn closed_files_take_what_they_need_one_behind_the_other() {
    let mut allocator = allocator();
    for at in 0..5 {
        assert_eq!(allocator.take(&closed(100)), Some(Extent::new(at * 100, 100)));
    }
    let elsewhere = AllocationRequest { home: 2_048, ..closed(100) };
    assert_eq!(allocator.take(&elsewhere), Some(Extent::new(2_048, 100)));
}

#[test]
fn the_tightest_fit_of_a_group_is_taken() {
    // Measured in buddies: 64..104 is 32 + 8, 200..250 is 8 + 16 + 16 and stops at 40.
    let mut allocator = only(&[(64, 40), (200, 50), (512, 33), (700, 200)]);
    assert_eq!(allocator.take(&closed(33)), Some(Extent::new(512, 33)), "exactly as long");
    assert_eq!(allocator.take(&closed(34)), Some(Extent::new(64, 34)), "the first of two of 40");
}

#[test]
fn no_more_than_ten_runs_are_measured() {
    let mut runs: Vec<(u64, u64)> = (0..11).map(|at| (at * 64, 48)).collect();
    runs.push((960, 33));
    assert_eq!(
        start(only(&runs).take(&closed(33))),
        Some(0),
        "eleven runs that would do come first"
    );
    runs.remove(0);
    assert_eq!(start(only(&runs).take(&closed(33))), Some(960));
}

#[test]
fn groups_whose_runs_are_too_short_on_average_come_later() {
    let mut allocator = only(&[(0, 30), (100, 5), (200, 5), (300, 5), (1_100, 40)]);
    assert_eq!(start(allocator.take(&closed(20))), Some(1_100));
    // Then nothing is long enough on average but the rest of that run.
    assert_eq!(start(allocator.take(&closed(21))), Some(0));
}

#[test]
fn a_power_of_two_gets_a_buddy_of_the_smallest_order_that_does() {
    let mut allocator = only(&[(1_152, 200), (1_624, 32)]);
    // Within the group 128..328 is 128 + 64 + 8, and 600..632 is 8 + 16 + 8.
    assert_eq!(allocator.take(&closed(64)), Some(Extent::new(1_280, 64)));
    assert_eq!(allocator.take(&closed(32)), Some(Extent::new(1_152, 32)));
}

#[test]
fn small_files_share_the_nearest_chunk() {
    let mut allocator = Allocator::new(ByIndex { processors: 1 }, 4, 1_024);
    let far = |length| AllocationRequest { home: 3_072, ..closed(length) };
    // The first group has metadata.
    assert_eq!(allocator.take(&closed(4)), Some(Extent::new(1_024, 4)));
    assert_eq!(allocator.take(&far(2)), Some(Extent::new(1_028, 2)), "whatever their home");
    assert_eq!(allocator.take(&open(7, 16)), Some(Extent::new(1_030, 16)), "open or not");
    assert_eq!(allocator.obtainable(), 4_096 - 22);
    assert_eq!(allocator.free(), 4_096 - 512);
    for _ in 0..30 {
        allocator.take(&closed(16));
    }
    // Ten blocks are left of it.
    assert_eq!(allocator.take(&far(16)), Some(Extent::new(3_072, 16)));
    assert_eq!(allocator.take(&far(10)), Some(Extent::new(3_088, 10)));
    assert_eq!(allocator.take(&closed(10)), Some(Extent::new(1_526, 10)));
    allocator.release_all();
    assert_eq!(allocator.free(), 4_096 - 22 - 480 - 36);
    allocator.check(|_| ());
}

#[test]
fn of_nine_chunks_with_rests_alike_the_five_longest_remain() {
    let mut allocator = Allocator::new(Linear, 16, 32_768);
    // Chunks with 15 blocks left each, in groups of their own.
    for chunk in 0..9 {
        allocator.chunks.push(Extent::new(chunk * 32_768, 15 - chunk % 3));
        allocator.withhold(Extent::new(chunk * 32_768, 15 - chunk % 3));
        allocator.reserved += 15 - chunk % 3;
    }
    allocator.thin_chunks(3);
    let lengths: BTreeSet<u64> = allocator.chunks.iter().map(|chunk| chunk.length).collect();
    assert_eq!((allocator.chunks.len(), lengths), (5, BTreeSet::from([14, 15])));
    allocator.check(|_| ());
}

#[test]
fn an_open_file_keeps_the_rest_of_a_power_of_two() {
    let mut allocator = Allocator::new(Linear, 2, 4_096);
    assert_eq!(allocator.take(&open(1, 25)), Some(Extent::new(4_096, 25)));
    assert_eq!(allocator.take(&open(2, 20)), Some(Extent::new(4_128, 20)), "7 blocks are kept");
    let more = |hole, before| AllocationRequest {
        hole,
        size: hole.end(),
        before: Some(before),
        ..open(1, 0)
    };
    assert_eq!(
        allocator.take(&more(Extent::new(25, 10), (25, 4_121))),
        Some(Extent::new(4_121, 7))
    );
    // 64 blocks of the file less the 32 that it has; behind them is the other file.
    assert_eq!(allocator.take(&more(Extent::new(32, 3), (32, 4_128))), Some(Extent::new(4_160, 3)));
    allocator.release(1);
    allocator.release(2);
    assert_eq!(allocator.free(), 2 * 4_096 - 25 - 20 - 10);
    // With nothing behind it the file goes on where it is.
    assert_eq!(allocator.take(&more(Extent::new(35, 3), (35, 4_163))), Some(Extent::new(4_163, 3)));
    allocator.check(|_| ());
}

#[test]
fn large_files_take_aligned_pieces() {
    let allocator = Allocator::new(Linear, 2, 32_768);
    let sought = |start, length, size| {
        let hole = Extent::new(start, length);
        allocator.rounded(&AllocationRequest { hole, size, ..open(1, 0) })
    };
    assert_eq!(sought(0, 256, 256), Extent::new(0, 256));
    assert_eq!(sought(0, 300, 300), Extent::new(0, 512));
    assert_eq!(sought(600, 100, 700), Extent::new(512, 512));
    assert_eq!(sought(0, 1_025, 1_025), Extent::new(0, 1_024));
    assert_eq!(sought(2_500, 10, 2_510), Extent::new(2_048, 2_048));
}

#[test]
fn streams_begin_where_the_last_search_ended() {
    let mut allocator = Allocator::new(ByIndex { processors: 2 }, 32, 32_768);
    // Group 0 has metadata, and is no place for whole buddies of data.
    assert_eq!(start(allocator.take(&open(2, 256))), Some(32_768));
    // With a hole in the second group, a search from it on takes that one first.
    allocator.withhold(Extent::new(2 * 32_768, 32_768));
    allocator.give(Extent::new(2 * 32_768, 256));
    assert_eq!(start(allocator.take(&open(2, 256))), Some(2 * 32_768));
    allocator.give(Extent::new(2 * 32_768, 256));
    // The inodes of the other stream begin at the start as before, and stay tight there.
    allocator.withhold(Extent::new(5 * 32_768, 32_768));
    allocator.give(Extent::new(5 * 32_768, 256));
    assert_eq!(start(allocator.take(&open(3, 256))), Some(2 * 32_768));
    assert_eq!(start(allocator.take(&open(3, 256))), Some(5 * 32_768));
    let behind = start(allocator.take(&open(2, 256)));
    assert_eq!(
        behind,
        Some(3 * 32_768),
        "the first group comes again only when the others are full"
    );
    allocator.check(|_| ());
}

#[test]
fn the_last_blocks_come_in_pieces_and_then_there_are_none() {
    let mut allocator = only(&[(10, 3), (50, 5)]);
    assert_eq!(allocator.take(&closed(100)), Some(Extent::new(50, 5)), "the longest");
    let mut rest = 0;
    while let Some(taken) = allocator.take(&closed(100)) {
        rest += taken.length;
    }
    assert_eq!(rest, 3);
    assert_eq!(allocator.take(&closed(1)), None);
    assert_eq!(allocator.take(&open(9, 100)), None);
}

#[test]
fn what_is_kept_is_given_back_for_the_last_blocks() {
    let mut allocator = only(&[(512, 32)]);
    assert_eq!(allocator.take(&open(1, 20)).map(|extent| extent.length), Some(20));
    assert_eq!((allocator.free(), allocator.obtainable()), (0, 12));
    assert_eq!(allocator.take(&closed(20)).map(|extent| extent.start), Some(532));
}

#[test]
fn free_space_is_found_within_its_group() {
    let mut allocator = allocator();
    allocator.withhold(Extent::new(100, 100));
    assert_eq!(allocator.free_from(50), Some(Extent::new(50, 50)));
    assert_eq!(allocator.free_from(100), Some(Extent::new(200, 824)));
    assert_eq!(allocator.free_from(150), Some(Extent::new(200, 824)));
    allocator.withhold(Extent::new(900, 124));
    assert_eq!(allocator.free_from(950), None);
}

#[test]
fn a_free_run_begins_before_its_border() {
    let allocator = only(&[(100, 10), (1_000, 24), (1_024, 6)]);
    let runs = [(0, 300), (105, 300), (0, 105), (110, 300), (110, 4_096), (110, 1_010)];
    let found = runs.map(|(from, border)| allocator.free_run(from, border));
    let run = |start, length| Some(Extent::new(start, length));
    let expected = [run(100, 10), run(105, 5), run(100, 5), None, run(1_000, 30), run(1_000, 10)];
    assert_eq!(found, expected);
}

proptest! {
    /// Against a bitmap: nothing is given twice, nothing is lost, buddies and index stay right.
    #[test]
    fn what_is_taken_was_free(
        indexed in any::<bool>(),
        steps in prop::collection::vec((0..5_u32, 1..700_u64, 0..20_000_u64), 1..150),
    ) {
        let search = if indexed { ByIndex { processors: 3 } } else { Linear };
        let mut allocator = Allocator::new(search, 20, 1_000);
        let mut taken = vec![false; 20_000];
        let mut held: Vec<Extent> = Vec::new();
        for (kind, length, at) in steps {
            let hole = Extent::new(at % 600, length);
            let (inode, size) = (at % 5, hole.end());
            let request = AllocationRequest { inode, hole, size, home: at, ..closed(length) };
            let got = match kind {
                0 => allocator.take(&request),
                1 => allocator.take(&AllocationRequest { open: true, ..request }),
                2 => {
                    let hole = Extent::new(0, length % 16 + 1);
                    allocator.take(&AllocationRequest { hole, size: hole.end(), ..request })
                }
                3 => {
                    allocator.release(at % 5);
                    allocator.take_metadata(at)
                }
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
            let mut not_taken = |extent: Extent| {
                free += extent.length;
                assert!(taken[index(extent.start)..index(extent.end())].iter().all(|taken| !taken));
            };
            allocator.check(&mut not_taken);
            allocator.reserved().for_each(&mut not_taken);
            let expected = taken.iter().filter(|taken| !**taken).count() as u64;
            prop_assert_eq!(free, expected);
            prop_assert_eq!(allocator.obtainable(), expected);
        }
    }
}

#[test]
fn a_free_run_begins_before_the_border() {
    let mut allocator = Allocator::new(Linear, 2, 256);
    allocator.withhold(Extent::new(0, 100));
    assert_eq!(allocator.free_run(0, 50), None);
    assert_eq!(allocator.free_run(0, 100), None);
    assert_eq!(allocator.free_run(0, 101), Some(Extent::new(100, 1)));
    assert_eq!(allocator.free_run(0, 300), Some(Extent::new(100, 200)));
}
