//! Tries against rules that are written down, and the search on a drive of which every number is
//! known.

use trimbench_core::{Bytes, Nanos, Provisioner as _, Virtual};
use trimbench_results::Figure;
use trimbench_ssd::TrimMode;

use super::*;
use crate::delete_stall::DeleteStall;
use trimbench_core::Opened;
use trimbench_engine::testing::{
    KeptSteps, Lying, assert_defined, close, drive, figure, modelled, resume, run, run_on, settings,
};
use trimbench_engine::{
    Method as _, MethodDefinition as _, MethodResult, Preset, RunError, TailStep,
};

const MB: u64 = 1_000_000;

#[test]
fn a_pace_is_the_rate_and_lasts_long_enough() {
    let pace = Pace::new(Bytes(8 * MB), 4 * MB, Nanos::from_secs(10));
    assert_eq!(pace, Pace { interval: Nanos::from_secs(2), chunks: 5 });
    assert_eq!(pace.time(), Nanos::from_secs(10));
    // One chunk at the least, however long that takes.
    let slow = Pace::new(Bytes(64 * MB), MB, Nanos::from_secs(10));
    assert_eq!(slow.time(), Nanos::from_secs(64));
}

/// A try that kept the limit, beside deletions with these shares.
fn beside(
    issued_of_planned_ratio: f64,
    discarded_of_deleted_ratio: f64,
    deletion_over_discard_time_ratio: f64,
) -> RateTryStep {
    let (chunk_bytes, deletion_bytes_per_s) = (Bytes(8 * MB), 4 * MB);
    let deletion = Some(RateDeletionStep {
        chunk_bytes,
        deletion_bytes_per_s,
        issued_of_planned_ratio,
        discarded_of_deleted_ratio,
        deletion_over_discard_time_ratio,
    });
    let (load_count, exceeding_count) = (10_000, 10);
    let tail =
        TailStep { limit_s: 0.005, load_count, exceeding_count, slowest: None, accesses: None };
    RateTryStep { tail, deletion }
}

#[test]
fn a_rate_that_the_drive_cannot_take_does_not_pass() {
    assert_eq!(verdict(&beside(0.99, 1.0, 1.0)), Some(true));
    assert_eq!(verdict(&beside(0.9, 1.0, 1.0)), Some(false));
}

fn method(set: &[(&str, &str)]) -> DeleteStall {
    let own = [
        ("sizes", "32MiB,64MiB"),
        ("repetitions", "1"),
        ("patience", "0s"),
        ("window", "500ms"),
        ("span", "64MiB"),
        ("read-share", "100%"),
        ("p999-limit", "5ms"),
        ("rate-chunks", "1MiB,32MiB"),
        ("rate-max", "500MB"),
        ("rest", "100ms"),
        ("lead", "100ms"),
    ];
    let set: Vec<_> = own.iter().chain(set).copied().collect();
    DeleteStall::resolve(Preset::Quick, &settings(&set)).unwrap()
}

fn found(set: &[(&str, &str)]) -> MethodResult {
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    run(&method(set), &mut device, &mut KeptSteps::default()).unwrap()
}

fn value(figures: &[Figure], id: &str) -> f64 {
    figure(figures, id).value
}

#[test]
fn a_long_chunk_is_limited_by_how_many_accesses_it_holds_up() {
    let found = found(&[]);
    // A chunk of 32 MiB holds the controller for 8.192 + 0.1 ms. Of the accesses, one a ms, those
    // of its first 3.3 ms or so wait for more than 5 ms: 3 or 4, and 10 of 10,500 may. So there may
    // be 2.5 to 3.4 chunks in 10.5 s.
    let long = value(&found.figures, "deletion-rate-in-chunks-of-32MiB");
    let chunks = long * 10.5 / 33.554_432;
    assert!((1.9..=3.6).contains(&chunks), "{long} MB/s are {chunks} chunks in 10 s");
    assert_eq!(
        figure(&found.figures, "deletion-rate-in-chunks-of-32MiB").words().as_deref(),
        Some("confirmed")
    );
    // One of 1 MiB takes 0.36 ms: nothing waits for 5 ms, whatever the rate.
    close(value(&found.figures, "deletion-rate-in-chunks-of-1MiB"), 500.0);
    let best = figure(&found.figures, "highest-deletion-rate");
    close(best.value, 500.0);
    assert_eq!(best.words().as_deref(), Some("in chunks of 1MiB: limit 5 ms"));
    close(value(&found.figures, "highest-deletion-rate-chunk"), 1.0);
    let response = figure(&found.figures, "highest-deletion-rate-response");
    assert!(response.value < 5.0 && response.n >= 30_000, "{response:?}");
    assert!(response.interval.unwrap().contains(response.value), "{response:?}");
    let alone = figure(&found.figures, "deletion-rate-load-alone");
    assert!(alone.n >= 10_000 && alone.interval.is_some(), "{alone:?}");
    // The trials are what they were.
    assert!(figure(&found.figures, "stutter").headline);
}

#[test]
fn random_arrivals_are_enough_for_the_percentile() {
    let found = found(&[("rate-chunks", "1MiB"), ("arrivals", "poisson")]);
    close(value(&found.figures, "highest-deletion-rate"), 500.0);
    let alone = figure(&found.figures, "deletion-rate-load-alone");
    assert!(alone.n != 10_500 && alone.n >= 10_000, "{alone:?}");
}

#[test]
fn the_drive_itself_limits_the_rate_of_short_chunks() {
    // One after the other, a chunk of 64 KiB takes 10 + 100 + 16 + 20 us.
    let set = [("rate-chunks", "64KiB"), ("rate-max", "2GB"), ("rate", "500")];
    let rate = value(&found(&set).figures, "deletion-rate-in-chunks-of-64KiB");
    let most = 65_536.0 / 146.0 * 1.02;
    assert!((0.8 * most..=most).contains(&rate), "{rate} of at most {most} MB/s");
}

#[test]
fn a_limit_below_the_load_alone_finds_nothing() {
    let found = found(&[("p999-limit", "20us")]);
    let best = figure(&found.figures, "highest-deletion-rate");
    close(best.value, 0.0);
    assert_eq!(best.words().as_deref(), Some("the load alone exceeds the limit"));
    assert!(found.steps.iter().all(|step| step.kind != TRY));
}

#[test]
fn without_a_limit_there_is_no_search_and_announced_is_what_is_found() {
    let plain = found(&[("p999-limit", "none")]);
    assert!(plain.steps.iter().all(|step| !step.kind.starts_with("rate")));
    assert!(plain.figures.iter().all(|figure| !figure.id.contains("deletion-rate")));
    assert_defined(&method(&[]).metrics(), &found(&[("rate-chunks", "32MiB")]).figures);
}

#[test]
fn a_resumed_search_takes_what_was_measured() {
    let method = method(&[("rate-chunks", "32MiB")]);
    let new = || Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let mut all = KeptSteps::default();
    let whole = run(&method, &mut new(), &mut all).unwrap();
    let mut keeper = KeptSteps::stopping_after(all.steps.len() - 3);
    let error = run(&method, &mut new(), &mut keeper).unwrap_err();
    assert!(matches!(error, trimbench_engine::MethodError::Run(RunError::Interrupted)), "{error}");
    let mut rest = KeptSteps::default();
    let resumed = resume(&method, &mut new(), &mut rest, keeper.steps).unwrap();
    assert!(rest.steps.len() <= 4, "{:?}", rest.kept());
    let id = "deletion-rate-in-chunks-of-32MiB";
    close(value(&resumed.figures, id), value(&whole.figures, id));
}

#[test]
fn a_chunk_larger_than_what_is_deleted_is_refused() {
    let set = settings(&[("p999-limit", "5ms"), ("sizes", "16MiB"), ("rate-chunks", "32MiB")]);
    let error = DeleteStall::resolve(Preset::Quick, &set).unwrap_err().to_string();
    assert!(error.contains("more than the largest of `sizes`"), "{error}");
    let set = settings(&[("sizes", "16MiB"), ("rate-chunks", "32MiB")]);
    assert!(DeleteStall::resolve(Preset::Quick, &set).is_ok(), "nothing is searched");
}

#[test]
fn a_rate_whose_discards_fall_behind_or_stay_away_does_not_pass() {
    assert_eq!(verdict(&beside(1.0, 0.99, 0.99)), Some(true));
    assert_eq!(verdict(&beside(1.0, 0.9, 1.0)), Some(false));
    assert_eq!(verdict(&beside(1.0, 1.0, 0.9)), Some(false));
}

#[test]
fn on_a_filesystem_a_chunk_is_limited_by_the_discards_that_it_brings() {
    // Every TRIM of vendor2 holds it up for 82.4 ms, whatever the size: 2 or 3 accesses, one a ms,
    // wait for more than 80 ms, and 10 of 10,500 may. So there may be 3 to 5 chunks in 10.5 s.
    for mode in ["unlink", "truncate"] {
        let text = "ext4,journal=8MiB,era=2.6.33:sim:vendor2,capacity=512MiB";
        let mut filesystems = modelled(text);
        let set = [("p999-limit", "80ms"), ("rate-chunks", "32MiB"), ("mode", mode)];
        let method = method(&set);
        let on = Opened::Filesystems(&mut filesystems);
        let found = run_on(&method, on, &mut KeptSteps::default(), Vec::new()).unwrap();
        let long = figure(&found.figures, "deletion-rate-in-chunks-of-32MiB");
        assert_eq!(long.words().as_deref(), Some("confirmed"), "{mode}");
        let chunks = long.value * 10.5 / 33.554_432;
        assert!((2.9..=5.1).contains(&chunks), "{mode}: {chunks} chunks in 10.5 s");
        for step in found.steps.iter().filter(|step| step.kind == CONFIRMATION) {
            let deletion: RateDeletionStep = step.read().unwrap();
            assert!(deletion.discarded_of_deleted_ratio >= 1.0, "{}", step.id);
            assert!(deletion.deletion_over_discard_time_ratio >= 0.98, "{}", step.id);
        }
        assert_defined(&method.metrics(), &found.figures);
    }
}

#[test]
fn a_search_that_trims_all_free_space_each_time_is_refused() {
    let method = method(&[("mode", "trim")]);
    let error = method.fits(modelled("ext4:sim:vendor2").capabilities()).unwrap_err().to_string();
    assert!(error.contains("use another `mode`"), "{error}");
}
