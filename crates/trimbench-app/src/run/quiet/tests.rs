use std::cell::Cell;

use trimbench_core::{Bytes, DevicesUse, ReadTimes};

use super::*;

fn moving(megabytes: u64) -> LoadSeen {
    let written = Bytes(megabytes * 1_000_000);
    let devices = DevicesUse { names: "sda".to_owned(), written, read: Bytes(0) };
    LoadSeen { window: WINDOW, devices: Some(devices), ..LoadSeen::default() }
}

fn reading(median: u64, p99: u64) -> LoadSeen {
    let (median, p99) = (Nanos::from_micros(median), Nanos::from_micros(p99));
    LoadSeen { reads: Some(ReadTimes { count: 300, median, p99 }), ..moving(0) }
}

/// Looks that see this one after the other, the last for ever: how often, how they ended and what
/// was told meanwhile.
fn check(wait: u64, seen: &[LoadSeen]) -> (usize, Quietness, Vec<String>) {
    let (clock, count, mut told) = (Cell::new(Nanos::ZERO), Cell::new(0), Vec::new());
    let look = || {
        clock.set(clock.get() + WINDOW);
        count.set(count.get() + 1);
        Some(seen[(count.get() - 1).min(seen.len() - 1)].clone())
    };
    let say = |text: &str| told.push(text.to_owned());
    let looked = looks(Nanos::from_secs(wait), look, || clock.get(), say).unwrap();
    assert_eq!(looked.took, clock.get());
    (count.get(), looked.quietness, told)
}

#[test]
fn a_quiet_target_is_looked_at_once() {
    assert_eq!(check(60, &[moving(0)]), (1, Quietness::Quiet, Vec::new()));
}

#[test]
fn a_busy_target_is_waited_for_and_the_reason_is_told() {
    let (count, quietness, told) = check(60, &[moving(1_200), moving(9), moving(0)]);
    assert_eq!((count, quietness), (3, Quietness::Quiet));
    let expected = [
        "waiting up to 57 s for quiet: 1.20 GB were written by others to sda in 3 s",
        "waiting up to 54 s for quiet: 9 MB were written by others to sda in 3 s",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_target_that_stays_busy_is_waited_for_no_longer_than_asked() {
    for (wait, looks) in [(1, 1), (3, 1), (6, 2), (8, 2), (60, 20)] {
        let (count, quietness, _) = check(wait, &[moving(9)]);
        assert_eq!(count, looks, "{wait} s");
        assert!(matches!(quietness, Quietness::Busy(_)));
    }
}

#[test]
fn a_drive_is_as_fast_as_it_was_seen_at_its_fastest() {
    let (count, quietness, _) = check(6, &[reading(100, 2_000), reading(500, 4_000)]);
    assert_eq!(count, 2);
    assert!(matches!(quietness, Quietness::Busy(LoadOfOthers::SlowReads { .. })), "{quietness:?}");
}

#[test]
fn the_users_wish_to_stop_ends_the_wait() {
    assert_eq!(looks(Nanos::from_secs(60), || None, || Nanos::ZERO, |_| {}), None);
}
