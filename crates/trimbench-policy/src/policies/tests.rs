//! Arithmetic: what each policy grants, and when.

use trimbench_core::{BlockSize, Blocks, Bytes, Instant, Nanos};

use super::at_once::AtOnce;
use crate::catalogue::Choice;
use crate::policy::{Backlog, Foreground, Grant, TrimPolicy};

fn policy(text: &str) -> Box<dyn TrimPolicy> {
    let block_size = BlockSize::new(Bytes(4_096)).unwrap();
    text.parse::<Choice>().unwrap().build(block_size).unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(millis))
}

/// 1000 blocks in 10 extents, the first freed at `oldest`.
fn waiting(oldest: Instant) -> Backlog {
    Backlog { blocks: Blocks(1_000), extents: 10, oldest, least: Blocks(1), in_flight: 0 }
}

const NOTHING: Backlog = Backlog {
    blocks: Blocks(0),
    extents: 0,
    oldest: Instant::NEVER,
    least: Blocks(0),
    in_flight: 0,
};

/// Discards until `end` that are done at once: when, and how long.
fn discards(policy: &mut dyn TrimPolicy, backlog: Backlog, end: Instant) -> Vec<(Instant, Blocks)> {
    let mut now = backlog.oldest;
    let mut discards = Vec::new();
    while now < end {
        match policy.grant(now, &backlog) {
            Grant::Blocks(blocks) => {
                policy.issued(now, blocks);
                policy.completed(now);
                discards.push((now, blocks));
            }
            Grant::Until(later) => {
                assert!(later > now);
                now = later;
            }
            Grant::Idle => break,
        }
    }
    discards
}

#[test]
fn none_keeps_nothing() {
    let mut none = policy("none");
    assert_eq!(none.admit(at(0), Blocks(7), &NOTHING), Blocks(0));
    assert_eq!(none.grant(at(0), &waiting(at(0))), Grant::Idle);
}

#[test]
fn at_once_grants_everything_whatever_is_in_flight() {
    let mut it = AtOnce;
    assert_eq!(it.admit(at(0), Blocks(7), &NOTHING), Blocks(7));
    let backlog = Backlog { in_flight: 10_000, ..waiting(at(5)) };
    assert_eq!(it.grant(at(5), &backlog), Grant::Blocks(Blocks(1_000)));
}

#[test]
fn fstrim_weekly_grants_at_each_period_what_was_freed_until_then() {
    let mut weekly = policy("fstrim-weekly,period=10s");
    // A block group, 128 MiB.
    let everything = Grant::Blocks(Blocks(32_768));
    let cases = [
        (0, 0, Grant::Until(at(10_000))),
        (9_999, 0, Grant::Until(at(10_000))),
        (10_000, 0, everything),
        (10_000, 10_000, everything),
        (10_001, 10_001, Grant::Until(at(20_000))),
        (19_999, 9_000, everything),
        (20_000, 10_001, everything),
    ];
    for (now, oldest, expected) in cases {
        let grant = weekly.grant(at(now), &waiting(at(oldest)));
        assert_eq!(grant, expected, "freed at {oldest} ms, asked at {now} ms");
    }
    let busy = Backlog { in_flight: 1, ..waiting(at(0)) };
    assert_eq!(weekly.grant(at(10_000), &busy), Grant::Idle, "one after the other");
}

#[test]
fn btrfs_async_waits_for_its_delay_and_is_throttled_then() {
    let mut it = policy("btrfs-async,delay=120s");
    assert_eq!(it.grant(at(1_000), &waiting(at(1_000))), Grant::Until(at(121_000)));
    // 1,000 a second, of at most 64 MiB.
    let times: Vec<_> = discards(&mut *it, waiting(at(1_000)), at(121_003))
        .into_iter()
        .inspect(|discard| assert_eq!(discard.1, Blocks(16_384)))
        .map(|discard| discard.0)
        .collect();
    assert_eq!(times, [at(121_000), at(121_001), at(121_002)]);
}

#[test]
fn rate_limited_keeps_its_rate_exactly() {
    let in_a_second = |text: &str| {
        let discards = discards(&mut *policy(text), waiting(at(0)), at(1_000));
        let blocks: u64 = discards.iter().map(|discard| discard.1.0).sum();
        (discards.len(), blocks * 4_096)
    };
    let piece = 64 << 10;
    assert_eq!(in_a_second("rate-limited,iops=1000,discard-max=64KiB"), (1_000, 1_000 * piece));
    assert_eq!(in_a_second("rate-limited,iops=3,discard-max=64KiB"), (3, 3 * piece));
    let both = "rate-limited,iops=100,bytes-per-second=1MiB,discard-max=64KiB";
    assert_eq!(in_a_second(both), (16, 16 * piece), "the longer pause counts");
    let bytes = "rate-limited,iops=0,bytes-per-second=10MiB,discard-max=64KiB";
    assert_eq!(in_a_second(bytes), (160, 160 * piece));
}

#[test]
fn rate_limited_saves_nothing_and_has_one_discard_in_flight() {
    let mut it = policy("rate-limited,iops=10");
    let busy = Backlog { in_flight: 1, ..waiting(at(0)) };
    it.issued(at(0), Blocks(1));
    assert_eq!(it.grant(at(50), &busy), Grant::Idle);
    assert_eq!(it.grant(at(50), &waiting(at(0))), Grant::Until(at(100)));
    it.issued(at(1_000), Blocks(1));
    assert_eq!(it.grant(at(1_000), &waiting(at(0))), Grant::Until(at(1_100)));
}

#[test]
fn skip_by_queue_skips_beyond_its_limits() {
    let mut it = policy("skip-by-queue,pending-max=64,bytes-max=4MiB,depth=2");
    let backlog = |extents, in_flight, blocks| Backlog {
        blocks: Blocks(blocks),
        extents,
        oldest: at(0),
        least: Blocks(1),
        in_flight,
    };
    let cases = [
        (backlog(0, 0, 0), 10, 10),
        (backlog(62, 1, 62), 10, 10),
        (backlog(62, 2, 62), 10, 0),
        (backlog(64, 0, 64), 10, 0),
        (backlog(1, 0, 1_000), 100, 24),
        (backlog(1, 0, 1_024), 1, 0),
    ];
    for (backlog, freed, kept) in cases {
        assert_eq!(it.admit(at(0), Blocks(freed), &backlog), Blocks(kept), "{backlog:?}");
    }
    assert_eq!(it.grant(at(0), &backlog(5, 1, 9)), Grant::Blocks(Blocks(9)));
    assert_eq!(it.grant(at(0), &backlog(5, 2, 9)), Grant::Idle);
}

#[test]
fn skip_by_latency_skips_all_while_requests_take_too_long() {
    let mut it = policy("skip-by-latency,threshold=15ms,memory=1s");
    let look =
        |millis, outstanding| Foreground { outstanding, latency: Some(Nanos::from_millis(millis)) };
    let kept = |it: &mut Box<dyn TrimPolicy>, now| {
        let kept = it.admit(at(now), Blocks(8), &NOTHING);
        assert_eq!(it.sheds(at(now)), kept == Blocks(0), "what waits shares the fate of the new");
        kept
    };
    assert_eq!(kept(&mut it, 0), Blocks(8), "nothing is known");
    it.foreground(at(0), look(8, 0));
    it.foreground(at(1), look(64, 0));
    // 8 - 8 / 8 + 64 / 8 = 15 ms: not beyond the threshold.
    assert_eq!(kept(&mut it, 1), Blocks(8));
    it.foreground(at(2), look(16, 0));
    assert_eq!(kept(&mut it, 2), Blocks(0), "15.125 ms");
    assert_eq!(kept(&mut it, 1_002), Blocks(0), "remembered for a second");
    assert_eq!(kept(&mut it, 1_003), Blocks(8), "then forgotten");
    it.foreground(at(2_000), look(16, 1));
    assert_eq!(kept(&mut it, 9_000), Blocks(0), "not while a request is outstanding");
    it.foreground(at(9_000), look(7, 0));
    assert_eq!(kept(&mut it, 9_000), Blocks(8));
}

#[test]
fn a_grant_until_an_instant_holds_until_then_and_not_longer() {
    // Of `paced` the pause would be 1 ms / 0.0781 %, 1.28 s; what waits for a second goes before.
    let cases = [
        ("fstrim-weekly,period=7s", at(7_000)),
        ("btrfs-async,delay=9s", at(9_001)),
        ("paced,wait-max=1s,target=1ms", at(1_001)),
    ];
    for (text, due) in cases {
        let mut it = policy(text);
        it.foreground(at(0), Foreground { outstanding: 1, latency: None });
        it.issued(at(0), Blocks(1));
        it.completed(at(1));
        assert_eq!(it.grant(at(1), &waiting(at(1))), Grant::Until(due), "{text}");
        let before = Instant::from_start(Nanos(due.since_start().0 - 1));
        assert_eq!(it.grant(before, &waiting(at(1))), Grant::Until(due), "{text}");
        assert!(matches!(it.grant(due, &waiting(at(1))), Grant::Blocks(_)), "{text}");
    }
}
