use proptest::prelude::*;
use trimbench_core::Nanos;
use trimbench_core::units::index;

use super::*;

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

fn at(seconds: u64) -> Instant {
    Instant::from_start(Nanos::from_secs(seconds))
}

fn free(queue: &mut FreedQueue, seconds: u64, start: u64, length: u64) {
    queue.freed(at(seconds), range(start, length), Blocks(length));
}

fn tally(count: u64, blocks: u64) -> ExtentCounts {
    ExtentCounts { count, blocks: Blocks(blocks) }
}

const ALL: Blocks = Blocks(u64::MAX);

#[test]
fn neighbours_are_merged_on_both_sides_and_are_as_old_as_the_oldest() {
    let mut queue = FreedQueue::new(8);
    free(&mut queue, 1, 0, 10);
    free(&mut queue, 3, 20, 10);
    free(&mut queue, 2, 100, 1);
    assert_eq!(queue.extents(), 3);
    free(&mut queue, 4, 10, 10);
    assert_eq!((queue.extents(), queue.waiting(), queue.oldest()), (2, Blocks(31), at(1)));
    assert_eq!(queue.take(at(4), ALL), Some(range(0, 30)));
    assert_eq!(queue.oldest(), at(2));
}

#[test]
fn a_grant_splits_the_oldest_extent_and_its_rest_stays_first() {
    let mut queue = FreedQueue::new(8);
    free(&mut queue, 1, 50, 10);
    free(&mut queue, 2, 0, 10);
    let taken: Vec<_> = std::iter::from_fn(|| queue.take(at(2), Blocks(4))).collect();
    let expected = [(50, 4), (54, 4), (58, 2), (0, 4), (4, 4), (8, 2)].map(|(s, n)| range(s, n));
    assert_eq!(taken, expected);
    assert_eq!((queue.counters().issued, queue.counters().deferred), (tally(6, 20), tally(3, 10)));
    assert_eq!(queue.oldest(), Instant::NEVER);
}

#[test]
fn a_rewrite_cuts_what_it_meets_and_nothing_else() {
    let mut queue = FreedQueue::new(8);
    for start in [0, 20, 40] {
        free(&mut queue, 1, start, 10);
    }
    assert_eq!(queue.rewritten(range(5, 37)), Blocks(5 + 10 + 2));
    assert_eq!(queue.counters().invalidated, tally(3, 17));
    assert_eq!(queue.rewritten(range(10, 30)), Blocks(0));
    assert_eq!(queue.rewritten(range(44, 2)), Blocks(2));
    let left: Vec<_> = std::iter::from_fn(|| queue.take(at(1), ALL)).collect();
    assert_eq!(left, [range(0, 5), range(42, 2), range(46, 4)]);
}

#[test]
fn what_is_withheld_and_returns_waits_as_before() {
    let mut queue = FreedQueue::new(8);
    free(&mut queue, 1, 0, 100);
    queue.withheld(range(40, 80));
    assert_eq!((queue.waiting(), queue.set_aside()), (Blocks(40), Blocks(60)));
    // Of what is set aside 10 blocks are written, and 30 return.
    assert_eq!(queue.rewritten(range(50, 10)), Blocks(10));
    queue.returned(range(30, 50));
    assert_eq!((queue.waiting(), queue.set_aside()), (Blocks(40 + 30), Blocks(20)));
    // What gives up what waits does not reach it.
    queue.skip_all();
    queue.returned(range(80, 40));
    assert_eq!(queue.oldest(), at(1));
    assert_eq!(queue.take(at(9), ALL), Some(range(80, 20)));
    let QueueCounters { freed, issued, skipped, invalidated, .. } = queue.counters();
    assert_eq!(freed, &tally(1, 100));
    assert_eq!((issued, invalidated), (&tally(1, 20), &tally(1, 10)));
    assert_eq!(skipped.blocks, Blocks(70));
}

#[test]
fn a_full_queue_skips_the_newcomer_and_the_shorter_part_of_a_cut() {
    let mut queue = FreedQueue::new(1);
    free(&mut queue, 1, 0, 10);
    free(&mut queue, 1, 20, 5);
    assert_eq!(queue.counters().skipped, tally(1, 5));
    free(&mut queue, 1, 10, 2);
    assert_eq!((queue.extents(), queue.waiting()), (1, Blocks(12)), "a neighbour needs no place");
    queue.rewritten(range(8, 1));
    assert_eq!(queue.counters().skipped, tally(2, 8));
    assert_eq!(queue.take(at(1), ALL), Some(range(0, 8)));
}

#[test]
fn what_is_not_kept_and_what_is_given_up_counts_as_skipped() {
    let mut queue = FreedQueue::new(8);
    queue.freed(at(1), range(0, 10), Blocks(4));
    queue.freed(at(1), range(100, 10), Blocks(0));
    assert_eq!(queue.counters().skipped, tally(2, 16));
    queue.skip_all();
    assert_eq!(queue.counters().skipped, tally(3, 20));
    assert_eq!((queue.waiting(), queue.counters().freed), (Blocks(0), tally(2, 20)));
}

#[test]
#[should_panic(expected = "a block is freed once")]
fn a_block_that_waits_is_not_freed_again() {
    let mut queue = FreedQueue::new(8);
    free(&mut queue, 1, 0, 10);
    free(&mut queue, 2, 9, 1);
}

/// What happens to a queue, on a disk of 64 blocks.
#[derive(Clone, Copy, Debug)]
enum Event {
    Freed { start: u64, length: u64, kept: u64 },
    Rewritten { start: u64, length: u64 },
    Take { limit: u64 },
    SkipAll,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let spans =
        || (0..64_u64, 1..12_u64).prop_map(|(start, length)| (start, length.min(64 - start)));
    let event = prop_oneof![
        8 => (spans(), 0..16_u64).prop_map(|((start, length), kept)| {
            Event::Freed { start, length, kept: kept.min(length) }
        }),
        4 => spans().prop_map(|(start, length)| Event::Rewritten { start, length }),
        4 => (1..9_u64).prop_map(|limit| Event::Take { limit }),
        1 => Just(Event::SkipAll),
    ];
    prop::collection::vec(event, 1..200)
}

/// The queue as a table of blocks: when each that waits was freed. Slow and obvious.
#[derive(Debug)]
struct Naive {
    since: [Option<u64>; 64],
    gone: [u64; 4], // Freed, issued, skipped, invalidated.
}

impl Naive {
    fn free(&self, start: u64, length: u64) -> bool {
        (start..start + length).all(|block| self.since[index(block)].is_none())
    }

    fn set(&mut self, start: u64, length: u64, since: Option<u64>) -> u64 {
        let range = index(start)..index(start + length);
        let waited = self.since[range.clone()].iter().flatten().count();
        self.since[range].fill(since);
        waited as u64
    }

    /// Each run of waiting blocks: its age, start and length.
    fn extents(&self) -> Vec<(u64, u64, u64)> {
        let mut extents: Vec<(u64, u64, u64)> = Vec::new();
        for (block, since) in (0_u64..).zip(self.since) {
            let Some(since) = since else { continue };
            match extents.last_mut().filter(|(_, start, length)| start + length == block) {
                Some(extent) => *extent = (extent.0.min(since), extent.1, extent.2 + 1),
                None => extents.push((since, block, 1)),
            }
        }
        extents
    }
}

proptest! {
    #[test]
    fn the_queue_does_what_a_table_of_blocks_does(events in events()) {
        let mut queue = FreedQueue::new(64);
        let mut naive = Naive { since: [None; 64], gone: [0; 4] };
        for (now, event) in (0..).zip(events) {
            match event {
                Event::Freed { start, length, kept } => {
                    if naive.free(start, length) {
                        queue.freed(at(now), range(start, length), Blocks(kept));
                        naive.set(start, kept, Some(now));
                        naive.gone[0] += length;
                        naive.gone[2] += length - kept;
                    }
                }
                Event::Rewritten { start, length } => {
                    // A cut extent keeps its age: the naive one is told the age of both halves.
                    for (since, from, blocks) in naive.extents() {
                        naive.set(from, blocks, Some(since));
                    }
                    let gone = naive.set(start, length, None);
                    naive.gone[3] += gone;
                    prop_assert_eq!(queue.rewritten(range(start, length)), Blocks(gone));
                }
                Event::Take { limit } => {
                    for (since, from, blocks) in naive.extents() {
                        naive.set(from, blocks, Some(since));
                    }
                    let oldest = naive.extents().into_iter().min();
                    let expected = oldest.map(|(_, start, length)| (start, length.min(limit)));
                    let taken = queue.take(at(now), Blocks(limit));
                    prop_assert_eq!(taken, expected.map(|(start, length)| range(start, length)));
                    if let Some((start, length)) = expected {
                        naive.gone[1] += naive.set(start, length, None);
                    }
                }
                Event::SkipAll => {
                    queue.skip_all();
                    naive.gone[2] += naive.set(0, 64, None);
                }
            }
            let extents = naive.extents();
            let waiting = extents.iter().map(|extent| extent.2).sum();
            prop_assert_eq!(queue.waiting(), Blocks(waiting));
            prop_assert_eq!(queue.extents(), extents.len() as u64);
            let oldest = extents.iter().map(|extent| at(extent.0)).min();
            prop_assert_eq!(queue.oldest(), oldest.unwrap_or(Instant::NEVER));
            let QueueCounters { freed, issued, skipped, invalidated, .. } = queue.counters();
            let told = [freed, issued, skipped, invalidated].map(|tally| tally.blocks.0);
            prop_assert_eq!(told, naive.gone);
            prop_assert_eq!(told[0], told[1] + told[2] + told[3] + waiting);
        }
    }

    #[test]
    fn a_bounded_queue_keeps_its_bound_and_loses_no_block(events in events(), bound in 1..6_usize) {
        let mut queue = FreedQueue::new(bound);
        let mut waits = [false; 64];
        for (now, event) in (0..).zip(events) {
            match event {
                Event::Freed { start, length, kept } => {
                    // Without a table of what was skipped, only blocks that never came are freed.
                    let blocks = &mut waits[index(start)..index(start + length)];
                    if blocks.iter().all(|waits| !waits) {
                        blocks.fill(true);
                        queue.freed(at(now), range(start, length), Blocks(kept));
                    }
                }
                Event::Rewritten { start, length } => {
                    queue.rewritten(range(start, length));
                    waits[index(start)..index(start + length)].fill(false);
                }
                Event::Take { limit } => {
                    queue.take(at(now), Blocks(limit));
                }
                Event::SkipAll => queue.skip_all(),
            }
            let counters = queue.counters();
            let untrimmed = counters.skipped.blocks + counters.invalidated.blocks;
            let told = counters.issued.blocks + untrimmed + queue.waiting();
            prop_assert!(queue.extents() <= bound as u64);
            prop_assert_eq!(counters.freed.blocks, told);
        }
    }
}
