//! The policy against drive models. The target is 10 ms and the tolerance 0.1 %; the default drive
//! takes 10 ms for a discard of 100.35 MiB: (10 ms - 0.2 ms) / (100 ms / GiB).

use trimbench_core::{Bytes, Nanos, Ppm};

use crate::trimmer::Extents;

mod drive_model;

use drive_model::{Drive, DriveModel, Load, Mode, Run};

const TARGET: Nanos = Nanos::from_millis(10);
const TOLERANCE: Ppm = Ppm(1_000);

/// Late requests may be as many as tolerated.
fn assert_kept(run: &Run) {
    assert!(run.late(TARGET) <= TOLERANCE, "{} are late: {:?}", run.late(TARGET), run.account);
}

#[test]
fn all_is_trimmed_within_the_target_whether_costs_vary_or_not() {
    for noise in [Ppm(0), Ppm(300_000)] {
        let it = DriveModel::default();
        let run = DriveModel { drive: Drive { noise, ..it.drive }, ..it }.run();
        assert_eq!(run.waiting, Bytes(0), "all is trimmed");
        assert_kept(&run);
        assert_eq!(run.account.floor_steps, 0, "{noise}");
        let last = run.discards.len() - 1;
        let shorter = run.discards[20..last].iter().filter(|it| it.bytes < Bytes::mib(8)).count();
        assert!(shorter * 10 <= last, "{noise}: {shorter} of {last} discards are short");
    }
}

#[test]
fn a_command_beyond_the_target_is_made_rare_and_long() {
    let it = DriveModel::default();
    let drive =
        Drive { command: Nanos::from_millis(92), per_gib: Nanos::from_millis(10), ..it.drive };
    let run = DriveModel { drive, duration: Nanos::from_secs(2_000), ..it }.run();
    assert_kept(&run);
    assert!(run.discards.len() >= 12, "{} discards", run.discards.len());
    assert_eq!(run.discards.last().unwrap().bytes, Bytes::mib(128), "being short is no use");
}

#[test]
fn idle_time_is_used_without_a_pause_and_without_longer_stalls() {
    let it = DriveModel::default();
    let run = DriveModel { load: Load { on: Nanos::ZERO, ..it.load }, ..it }.run();
    assert_eq!(run.waiting, Bytes(0));
    // After the time in which nobody knows that there is no foreground.
    assert!(run.occupied() >= Ppm(800_000), "{}", run.occupied());
    // What costs are is found on the way.
    let longest = run.discards.iter().map(|discard| discard.service).max();
    assert!(longest <= Some(Nanos::from_millis(12)), "{longest:?}");
}

#[test]
fn bursts_are_spared_and_their_gaps_used() {
    let it = DriveModel::default();
    let second = Nanos::from_secs(1).0;
    let load = Load { on: Nanos(2 * second), off: Nanos(2 * second), ..it.load };
    let run = DriveModel { load, freed_per_second: Bytes::mib(512), ..it }.run();
    assert_kept(&run);
    assert!(run.waiting <= Bytes::gib(1), "{}", run.waiting);
}

/// Works a GiB off in a second, and serves slowly while half a second of work is left.
fn background() -> DriveModel {
    let (share, slack) = (Ppm(100_000), Nanos::from_millis(500));
    let mode = Mode::Background { share, slack, slow: Nanos::from_millis(12) };
    let it = DriveModel::default();
    DriveModel { drive: Drive { mode, ..it.drive }, ..it }
}

#[test]
fn work_that_a_drive_puts_off_slows_the_pace_until_it_keeps_up() {
    let run = background().run();
    assert_eq!(run.waiting, Bytes(0));
    assert_kept(&run);
}

#[test]
fn a_drive_that_is_nearly_full_of_work_keeps_the_tolerance_in_the_long_run() {
    let run = DriveModel { freed_per_second: Bytes::mib(900), ..background() }.run();
    assert_kept(&run);
    assert!(run.waiting_max <= Bytes::gib(64));
}

/// Requests take 11 ms each, discards or not.
fn late_by_itself() -> DriveModel {
    let it = DriveModel::default();
    DriveModel {
        drive: Drive { request: Nanos::from_millis(11), ..it.drive },
        load: Load { interval: Nanos::from_millis(20), ..it.load },
        freed: Bytes::gib(1),
        ..it
    }
}

#[test]
fn a_foreground_that_is_late_by_itself_is_spared_but_trims_do_not_starve() {
    let run = late_by_itself().run();
    assert!(run.discards.len() >= 10, "{} discards", run.discards.len());
    assert!(run.occupied() <= Ppm(2 * TOLERANCE.0), "{}", run.occupied());
    assert!(run.account.floor_steps > 0, "the miss is in the account");
    let bound = DriveModel { policy: "paced,wait-max=10s", ..late_by_itself() }.run();
    assert_eq!(bound.waiting, Bytes(0));
    let seconds = bound.discards.last().unwrap().at.since_start().seconds();
    assert!((10.0..60.0).contains(&seconds), "the last discard at {seconds} s");
}

#[test]
fn extents_that_cannot_be_divided_are_paid_by_longer_pauses() {
    let run = DriveModel {
        policy: "paced,backlog-max=1TiB",
        extents: Extents::Atomic,
        freed: Bytes(0),
        freed_per_second: Bytes::mib(256),
        ..DriveModel::default()
    }
    .run();
    assert!(run.discards.iter().all(|discard| discard.bytes == Bytes::mib(256)));
    assert_kept(&run);
    assert!(run.discards.len() >= 10, "{} discards", run.discards.len());
}

#[test]
fn no_more_waits_than_the_bound_and_the_rest_is_skipped() {
    let run = DriveModel { freed_per_second: Bytes::gib(16), ..DriveModel::default() }.run();
    assert!(run.waiting_max <= Bytes::gib(64), "{}", run.waiting_max);
    assert_kept(&run);
    assert!(run.counters.skipped.blocks > run.counters.issued.blocks, "the drive cannot keep up");
}
