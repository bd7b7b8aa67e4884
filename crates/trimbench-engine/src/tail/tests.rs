//! A tail of which every access is known.

use super::*;
use crate::testing::close;

/// A load of 10,000 accesses in 10 s, of which the first of each group of `every` takes 9 ms.
fn tail(every: u64) -> LimitedTail {
    let times = (Nanos::from_secs(10), Nanos::from_secs(1));
    let mut tail = LimitedTail::new(times, Nanos::from_millis(1), Nanos::from_millis(5));
    for access in 0..10_000 {
        let slow = access % every == 0;
        let response = Nanos::from_micros(if slow { 9_000 } else { 100 + access / 100 });
        tail.note(Nanos::from_millis(access), response);
    }
    tail
}

#[test]
fn ten_of_ten_thousand_may_exceed_the_limit_and_not_eleven() {
    let good = tail(1_000);
    assert!(!good.has_failed(10_000));
    assert_eq!(good.measured().keeps_limit(), Some(true));
    let bad = tail(900);
    assert!(bad.has_failed(10_000), "12 exceed it");
    assert_eq!(bad.measured().keeps_limit(), Some(false));
    assert!(!bad.has_failed(12_000), "of more accesses more may");
}

#[test]
fn the_percentile_is_exact_and_needs_ten_thousand_accesses() {
    // The eleventh slowest of 10,000: 9 ms with eleven that take it, else the slowest other.
    let blocks = tail(900).measured().blocks().unwrap();
    close(p999(blocks.iter()).unwrap(), 9.0);
    let blocks = tail(1_000).measured().blocks().unwrap();
    close(p999(blocks.iter()).unwrap(), 0.199);
    assert_eq!(p999(blocks.iter().skip(1)), None, "9000 are too few");
    assert_eq!(blocks.len(), 10, "a block is no shorter than the pace of the disturbances");
}

#[test]
fn too_few_accesses_are_no_verdict() {
    let few = |exceeding_count| {
        TailStep { load_count: 9_999, exceeding_count, ..tail(1_000).measured() }.keeps_limit()
    };
    assert_eq!(few(9), None);
    // Too slow is too slow, however few.
    assert_eq!(few(50), Some(false));
}

#[test]
fn accesses_behind_the_time_that_counts_may_exceed_the_limit_no_more_often() {
    let mut behind = tail(1_000);
    let fast = Nanos::from_micros(100);
    (0..5_000).for_each(|_| behind.note_behind(Nanos::from_secs(9), fast));
    let found = behind.measured();
    assert_eq!((found.load_count, found.keeps_limit()), (10_000, Some(true)));
    behind.note_behind(Nanos::from_secs(9), Nanos::from_millis(9));
    let found = behind.measured();
    assert_eq!(found.keeps_limit(), Some(false), "11 of 10,000");
    close(p999(found.blocks().unwrap().iter()).unwrap(), 9.0);
}
