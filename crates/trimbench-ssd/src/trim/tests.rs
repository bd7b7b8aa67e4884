use super::*;
use crate::config::TrimMode;
use crate::ssd::tests::trim as config;

#[test]
fn the_cost_is_that_of_ranges_and_units() {
    let config = TrimConfig {
        range: Nanos(5),
        per_gib_mapped: Nanos(262_144_000),
        per_gib_unmapped: Nanos(262_144),
        range_max: Bytes(1_000),
        ..config(TrimMode::Queued)
    };
    let units = Deallocated { mapped: 3, unmapped: 2 };
    assert_eq!(work(&config, Bytes(2_001), units), Nanos(3 * 5 + 3 * 1_000 + 2));
    // A GiB at 100 s a GiB does not overflow.
    let slow = TrimConfig { per_gib_mapped: Nanos::from_secs(100), ..config };
    let drive = Deallocated { mapped: u64::from(u32::MAX), unmapped: 0 };
    assert!(work(&slow, Bytes(1), drive) > Nanos::from_secs(1_000_000));
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
    assert_eq!((backlog.next_slice(), backlog.run_slice(true)), (at(1_010), Nanos::ZERO));
    assert_eq!(backlog.pending(), Nanos(350), "idle time works at full speed");
    backlog.add(at(1_500), Nanos(100));
    assert_eq!((backlog.next_slice(), backlog.run_slice(false)), (at(2_010), Nanos(250)));
    assert_eq!((backlog.next_slice(), backlog.run_slice(false)), (at(3_010), Nanos(200)));
    assert_eq!((backlog.pending(), backlog.next_slice()), (Nanos::ZERO, Instant::NEVER));
}
