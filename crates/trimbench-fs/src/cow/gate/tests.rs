use trimbench_core::Blocks;

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::START + SECOND.times(seconds)
}

fn gate(manner: TrimManner, rate: Bytes) -> Gate {
    let config = PoolConfig { trim_rate: rate, ..PoolConfig::new(manner) };
    Gate::new(&config, Bytes(512))
}

fn backlog(extents: u64, blocks: u64, oldest: Instant) -> Backlog {
    Backlog { blocks: Blocks(blocks), extents, oldest, least: Blocks(1), in_flight: 0 }
}

/// How many of so many extents of 512 bytes a pass takes, freed at 5 s.
fn taken(manner: TrimManner, extents: u64, due: (Instant, Instant)) -> u64 {
    let mut gate = gate(manner, Bytes(0));
    let left = |taken: u64| backlog(extents - taken, extents - taken, at(5));
    gate.begin_pass(&left(0), due);
    let mut taken = 0;
    while taken < extents && gate.opens(at(60), &left(taken), 0) == at(60) {
        gate.passed(512);
        taken += 1;
    }
    assert!(taken == extents || !gate.is_in_pass(), "the pass is over");
    taken
}

#[test]
fn a_pass_takes_what_the_source_says() {
    let (old, young) = ((at(30), at(59)), (at(4), at(59)));
    // 2017: a quarter of the excess whatever its age, a thirtieth of what is old, rounded up to 64.
    assert_eq!(taken(TrimManner::FreeBsd2017, 20_000, young), 2_500);
    assert_eq!(taken(TrimManner::FreeBsd2017, 20_000, old), 3_200);
    assert_eq!(taken(TrimManner::FreeBsd2017, 9_000, young), 0);
    assert_eq!(taken(TrimManner::FreeBsd2017, 50, old), 50);
    // 2013: all that is old, and all but 64.
    assert_eq!(taken(TrimManner::FreeBsd2013, 20_000, young), 20_000 - 64);
    assert_eq!(taken(TrimManner::FreeBsd2013, 20_000, old), 20_000);
    assert_eq!(taken(TrimManner::FreeBsd2013, 64, young), 0);
    // Nothing whose group is not synced.
    assert_eq!(taken(TrimManner::FreeBsd2013, 20_000, (at(4), at(4))), 0);
}

#[test]
fn more_than_2_gib_are_too_much_in_2013() {
    let mut gate = gate(TrimManner::FreeBsd2013, Bytes(0));
    let most = Bytes::gib(2).0 / 512;
    let backlog = |blocks| backlog(1, blocks, at(5));
    gate.begin_pass(&backlog(most + 1), (at(4), at(59)));
    assert_eq!(gate.opens(at(60), &backlog(most + 1), 0), at(60));
    assert_eq!(gate.opens(at(60), &backlog(most), 0), Instant::NEVER);
}

#[test]
fn ten_are_queued_at_a_drive_and_a_rate_is_looked_at_every_10_ms() {
    let mut gate = gate(TrimManner::ZfsTrim, Bytes(1_000_000));
    let waits = backlog(1, 1, at(0));
    gate.begin_metaslab(at(10));
    assert_eq!(gate.opens(at(10), &waits, 0), at(10), "the first goes at once");
    assert_eq!(gate.opens(at(10), &waits, 10), Instant::NEVER);
    gate.passed(2_005_000);
    let now = at(10) + Nanos::from_millis(3);
    assert_eq!(gate.opens(now, &waits, 1), at(12) + Nanos::from_millis(13));
    gate.begin_metaslab(now);
    assert_eq!(gate.opens(now, &waits, 1), now, "it counts anew");
    assert_eq!(gate.opens(now, &backlog(0, 0, Instant::NEVER), 0), Instant::NEVER);
}
