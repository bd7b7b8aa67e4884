use trimbench_core::{BlockSize, Lba, Nanos};

use super::*;
use crate::catalogue::Choice;

const OPTIONS: Options =
    Options { discard_max: Blocks(8), extents: Extents::Divisible, extents_max: 100 };

fn trimmer(policy: &str, options: Options) -> Trimmer {
    Trimmer::new(policy.parse::<Choice>().unwrap().build(BlockSize::SECTOR).unwrap(), options)
}

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

#[test]
fn no_discard_is_longer_than_the_drive_takes_or_the_grant_says() {
    let mut it = trimmer("skip-by-queue,depth=9", OPTIONS);
    it.freed(Instant::START, range(0, 12));
    assert_eq!(it.next(Instant::START), TrimmerStep::Discard(range(0, 8)));
    assert_eq!(it.next(Instant::START), TrimmerStep::Discard(range(8, 4)));
    assert_eq!(it.next(Instant::START), TrimmerStep::Idle);
    assert_eq!(it.backlog().in_flight, 2);
    let mut it = trimmer("rate-limited,discard-max=2KiB", OPTIONS);
    it.freed(Instant::START, range(0, 12));
    assert_eq!(it.next(Instant::START), TrimmerStep::Discard(range(0, 4)));
}

#[test]
fn an_atomic_extent_goes_at_once_but_for_the_longest_discard() {
    let options = Options { extents: Extents::Atomic, ..OPTIONS };
    let mut it = trimmer("rate-limited,discard-max=512B", options);
    it.freed(Instant::START, range(0, 6));
    it.freed(Instant::START, range(10, 12));
    assert_eq!(it.next(Instant::START), TrimmerStep::Discard(range(0, 6)));
    it.completed(Instant::START);
    let later = Instant::START + Nanos::from_secs(1);
    assert_eq!(it.next(later), TrimmerStep::Discard(range(10, 8)));
}

#[test]
fn what_is_rewritten_or_given_up_is_not_discarded() {
    let mut it = trimmer("fstrim-weekly,period=1s", OPTIONS);
    it.freed(Instant::START, range(0, 4));
    it.freed(Instant::START, range(10, 4));
    assert_eq!(it.rewritten(range(2, 100)), Blocks(6));
    let later = Instant::START + Nanos::from_secs(1);
    assert_eq!(it.next(Instant::START), TrimmerStep::Until(later));
    assert_eq!(it.next(later), TrimmerStep::Discard(range(0, 2)));
    it.freed(later, range(20, 4));
    it.give_up();
    assert_eq!((it.counters().skipped.blocks, it.backlog().blocks), (Blocks(4), Blocks(0)));
    assert_eq!(it.counters().deferred.blocks, Blocks(2));
}

#[test]
fn what_was_kept_back_is_as_old_as_it_is_and_what_is_too_short_is_skipped() {
    let mut it = trimmer("btrfs-async,delay=10s", OPTIONS);
    let at = |seconds| Instant::START + Nanos::from_secs(seconds);
    it.freed_since(at(8), at(2), range(0, 4));
    it.passed_over(at(8), range(10, 1));
    assert_eq!(it.next(at(8)), TrimmerStep::Until(at(12)));
    assert_eq!(it.next(at(12)), TrimmerStep::Discard(range(0, 4)));
    let counters = it.counters();
    assert_eq!((counters.freed.blocks, counters.deferred.blocks), (Blocks(5), Blocks(4)));
    assert_eq!((counters.skipped.count, counters.skipped.blocks), (1, Blocks(1)));
}

#[test]
#[should_panic(expected = "what completes was issued")]
fn a_discard_that_was_not_issued_does_not_complete() {
    trimmer("none", OPTIONS).completed(Instant::START);
}
