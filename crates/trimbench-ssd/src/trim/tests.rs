use super::*;
use trimbench_core::Ppm;

use crate::config::TrimMode;
use crate::ssd::tests::{plain, trim as config};
use crate::unit::PIECE_BYTES;

fn found(mapped: u64, unmapped: u64) -> Found {
    Found::new(Deallocated { mapped, cached: 0, unmapped }, plain().unit())
}

#[test]
fn the_cost_is_that_of_ranges_and_units() {
    let config = TrimConfig {
        range: Nanos(5),
        per_gib_mapped: Nanos(262_144_000),
        per_gib_unmapped: Nanos(262_144),
        ..config(TrimMode::Queued)
    };
    assert_eq!(work(&config, 3, found(3, 2)), Nanos(3 * 5 + 3 * 1_000 + 2));
    // A GiB at 100 s a GiB does not overflow.
    let slow = TrimConfig { per_gib_mapped: Nanos::from_secs(100), ..config };
    assert!(work(&slow, 1, found(u32::MAX.into(), 0)) > Nanos::from_secs(1_000_000));
}

#[test]
fn data_below_the_uncharged_size_cost_nothing() {
    let config = TrimConfig {
        range: Nanos::ZERO,
        per_gib_mapped: Nanos(262_144_000),
        per_gib_unmapped: Nanos(262_144),
        uncharged: Bytes(2 * PIECE_BYTES),
        ..config(TrimMode::Queued)
    };
    let costs = [0, 2, 3, 10].map(|units| work(&config, 1, found(units, 1)).0);
    assert_eq!(costs, [1, 1, 1_001, 8_001]);
}

#[test]
fn the_tail_meets_its_chance_and_its_mean() {
    let config = TrimConfig {
        tail_chance: Ppm(200_000),
        tail_per_gib: Nanos::from_millis(1),
        ..config(TrimMode::Queued)
    };
    let two_gib = found(1 << 19, 0);
    let mut tail = Tail::default();
    let all: Vec<u64> = (0..100_000).map(|_| tail.next(&config, two_gib).0).collect();
    let longer = all.iter().filter(|time| **time > 0).count();
    assert!((19_500..20_500).contains(&longer), "{longer} of 20,000");
    // 2 GiB at 1 ms a GiB; a standard deviation of the mean is 14 us.
    let mean = all.iter().sum::<u64>() / longer as u64;
    assert!((1_950_000..2_050_000).contains(&mean), "{mean} ns");
    // An exponential's: the share beyond the mean is 1 / e.
    let beyond = all.iter().filter(|time| **time > mean).count() * 1_000 / longer;
    assert!((355..381).contains(&beyond), "{beyond} in 1,000");
    let mut again = Tail::default();
    assert!(all.iter().all(|time| again.next(&config, two_gib).0 == *time), "it is fixed");
    let nothing = found(0, 1 << 19);
    assert!((0..100).all(|_| again.next(&config, nothing) == Nanos::ZERO), "nothing was freed");
}

#[test]
fn the_backlog_is_worked_off_in_slices_and_ends() {
    let config = TrimConfig {
        background_share: Ppm(250_000),
        background_slice: Nanos(1_000),
        ..config(TrimMode::Background)
    };
    let at = |nanos| Instant::from_start(Nanos(nanos));
    let mut backlog = Backlog::new(&config);
    assert_eq!(backlog.next_slice(), Instant::NEVER);
    backlog.add(at(10), Nanos(1_600));
    assert_eq!((backlog.next_slice(), backlog.run_slice(false)), (at(10), Nanos(250)));
    assert_eq!((backlog.next_slice(), backlog.run_slice(true)), (at(1_010), Nanos(1_000)));
    assert_eq!(backlog.pending(), Nanos(350), "idle time works at full speed");
    backlog.add(at(1_500), Nanos(100));
    assert_eq!((backlog.next_slice(), backlog.run_slice(false)), (at(2_010), Nanos(250)));
    assert_eq!((backlog.next_slice(), backlog.run_slice(false)), (at(3_010), Nanos(200)));
    assert_eq!((backlog.pending(), backlog.next_slice()), (Nanos::ZERO, Instant::NEVER));
}

#[test]
fn a_bounded_backlog_holds_trims_until_it_has_shrunk() {
    let config = TrimConfig {
        background_share: Ppm(250_000),
        background_slice: Nanos(1_000),
        background_bound: Some(Nanos(500)),
        ..config(TrimMode::Background)
    };
    let at = |nanos| Instant::from_start(Nanos(nanos));
    let mut backlog = Backlog::new(&config);
    backlog.add(at(0), Nanos(500));
    assert!(!backlog.hold(Slot(0), at(5)), "the bound is room");
    backlog.add(at(0), Nanos(100));
    assert!(backlog.hold(Slot(1), at(5)));
    backlog.add(at(0), Nanos(300));
    assert!(backlog.hold(Slot(2), at(5)));
    assert_eq!(backlog.held(), 2);
    // 250 of the time from 0 on: 100 of it make room for the second, the third needs 400.
    let took = backlog.run_slice(false);
    assert_eq!(backlog.acknowledged(at(0), took), Some((Slot(1), at(100))));
    assert_eq!(backlog.acknowledged(at(0), took), None);
    let took = backlog.run_slice(false);
    assert_eq!(backlog.acknowledged(at(1_000), took), Some((Slot(2), at(1_150))));
    assert_eq!((backlog.held(), backlog.pending()), (0, Nanos(400)));
}

#[test]
fn a_discard_frees_the_pieces_that_it_covers_whole() {
    let granules = |granularity: u64, alignment: u64| {
        let trim = TrimConfig {
            granularity: Bytes(granularity * PIECE_BYTES),
            alignment: Bytes(alignment * PIECE_BYTES),
            ..config(TrimMode::Queued)
        };
        Granules::new(&SsdConfig { trim, ..plain() })
    };
    // Granularity and alignment, what is discarded, what is freed; `None` is nothing.
    for (pieces, discarded, freed) in [
        ((1, 0), (5, 6), Some((5, 6))),
        ((16, 0), (0, 16), Some((0, 16))),
        ((16, 0), (1, 32), Some((16, 32))),
        ((16, 0), (16, 47), Some((16, 32))),
        ((16, 0), (1, 31), None),
        ((16, 0), (3, 9), None),
        ((16, 2), (0, 18), Some((2, 18))),
        ((16, 2), (0, 2), None),
        ((16, 2), (0, 1), None),
        ((16, 2), (3, 50), Some((18, 50))),
        ((16, 15), (0, 100), Some((15, 95))),
        ((3, 1), (2, 12), Some((4, 10))),
        ((256, 0), (u32::MAX - 300, u32::MAX - 1), None),
        ((256, 0), (u32::MAX - 600, u32::MAX - 1), Some((u32::MAX - 511, u32::MAX - 255))),
    ] {
        let found = granules(pieces.0, pieces.1).within(discarded.0..discarded.1);
        let found = (!found.is_empty()).then_some((found.start, found.end));
        assert_eq!(found, freed, "{pieces:?} {discarded:?}");
    }
}
