//! The search against rules that are written down, and on a drive of which every number is known.

use std::convert::Infallible;

use trimbench_core::{Bytes, Nanos, Provisioner as _, Virtual};
use trimbench_results::Figure;
use trimbench_ssd::TrimMode;

use super::*;
use crate::delete_stall::DeleteStall;
use trimbench_core::Opened;
use trimbench_engine::testing::{
    KeptSteps, Lying, assert_defined, close, drive, figure, modelled, resume, run, run_on, settings,
};
use trimbench_engine::{Method as _, MethodDefinition as _, MethodResult, Preset, RunError};

const MB: u64 = 1_000_000;
const HIGHEST: u64 = 1_000 * MB;

/// What the search finds where rates up to `good` pass and are confirmed up to `confirmed`, and
/// what it tried.
fn searched(good: u64, confirmed: u64) -> (Option<u64>, Vec<(u64, bool)>) {
    let mut tried = Vec::new();
    let found = search(HIGHEST, |rate, confirms| {
        tried.push((rate, confirms));
        Ok::<_, Infallible>(rate <= if confirms { confirmed } else { good })
    });
    (found.unwrap(), tried)
}

#[test]
fn the_search_ends_within_six_percent_below_the_highest_good_rate() {
    for good in [2, 7, 31, 100, 950].map(|rate| rate * MB) {
        let (found, tried) = searched(good, u64::MAX);
        let found = found.unwrap();
        assert!(found <= good && good as f64 / found as f64 <= 1.056, "{good}: {found}");
        assert_eq!(tried.len(), 10, "two ends, seven halvings, one confirmation");
        assert_eq!(tried.last(), Some(&(found, true)));
    }
    assert_eq!(searched(HIGHEST, u64::MAX).0, Some(HIGHEST));
    assert_eq!(searched(HIGHEST, u64::MAX).1, [(HIGHEST, false), (HIGHEST, true)]);
    assert_eq!(searched(0, u64::MAX), (None, vec![(HIGHEST, false), (LOWEST, false)]));
}

#[test]
fn what_is_not_confirmed_gives_way_to_the_next_lower_rate() {
    let (found, tried) = searched(100 * MB, 95 * MB);
    let confirmations: Vec<u64> =
        tried.iter().filter(|(_, confirms)| *confirms).map(|(rate, _)| *rate).collect();
    assert!(confirmations.is_sorted_by(|a, b| a > b), "{confirmations:?}");
    assert_eq!(found, confirmations.last().copied());
    assert!(found.unwrap() <= 95 * MB, "{found:?}");
    let (none, tried) = searched(100 * MB, 0);
    assert_eq!((none, tried.iter().filter(|(_, confirms)| *confirms).count()), (None, 3));
}

#[test]
fn a_pace_is_the_rate_and_lasts_long_enough() {
    let pace = Pace::new(Bytes(8 * MB), 4 * MB, Nanos::from_secs(10));
    assert_eq!(pace, Pace { interval: Nanos::from_secs(2), chunks: 5 });
    assert_eq!(pace.time(), Nanos::from_secs(10));
    // One chunk at the least, however long that takes.
    let slow = Pace::new(Bytes(64 * MB), MB, Nanos::from_secs(10));
    assert_eq!(slow.time(), Nanos::from_secs(64));
}

/// A try of 10,000 accesses in 10 s, of which the first of each group of `every` takes 9 ms.
fn tails(every: u64) -> Tails {
    let pace = Pace { interval: Nanos::from_secs(1), chunks: 10 };
    let mut tails = Tails::new(pace, Nanos::from_millis(1), Nanos::from_millis(5));
    for access in 0..10_000 {
        let slow = access % every == 0;
        let response = Nanos::from_micros(if slow { 9_000 } else { 100 + access / 100 });
        tails.note(Nanos::from_millis(access), response);
    }
    tails
}

/// What became of it without deletions.
fn alone(tails: &Tails) -> RateTryStep {
    tails.measured(None)
}

/// The same beside deletions with these shares.
fn beside(
    issued_of_planned_ratio: f64,
    discarded_of_deleted_ratio: f64,
    deletion_over_discard_time_ratio: f64,
) -> RateTryStep {
    let (chunk_bytes, deletion_bytes_per_s) = (Bytes(8 * MB), 4 * MB);
    tails(1_000).measured(Some(RateDeletionStep {
        chunk_bytes,
        deletion_bytes_per_s,
        issued_of_planned_ratio,
        discarded_of_deleted_ratio,
        deletion_over_discard_time_ratio,
    }))
}

#[test]
fn ten_of_ten_thousand_may_exceed_the_limit_and_not_eleven() {
    let good = tails(1_000);
    assert!(!good.has_failed(10_000));
    assert_eq!(verdict(&alone(&good)), Some(true));
    let bad = tails(900);
    assert!(bad.has_failed(10_000), "12 exceed it");
    assert_eq!(verdict(&alone(&bad)), Some(false));
    assert!(!bad.has_failed(12_000), "of more accesses more may");
}

#[test]
fn the_percentile_is_exact_and_needs_ten_thousand_accesses() {
    // The eleventh slowest of 10,000: 9 ms with eleven that take it, else the slowest other.
    let blocks = blocks(&alone(&tails(900))).unwrap();
    close(p999(blocks.iter()).unwrap(), 9.0);
    let blocks = super::blocks(&alone(&tails(1_000))).unwrap();
    close(p999(blocks.iter()).unwrap(), 0.199);
    assert_eq!(p999(blocks.iter().skip(1)), None, "9000 are too few");
    assert_eq!(blocks.len(), 10, "a block is no shorter than the pace of the chunks");
}

#[test]
fn too_few_accesses_are_no_verdict() {
    let few = |exceeding_count| {
        verdict(&RateTryStep { load_count: 9_999, exceeding_count, ..alone(&tails(1_000)) })
    };
    assert_eq!(few(9), None);
    // Too slow is too slow, however few.
    assert_eq!(few(50), Some(false));
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
fn accesses_behind_the_deletions_may_exceed_the_limit_no_more_often() {
    let mut behind = tails(1_000);
    let fast = Nanos::from_micros(100);
    (0..5_000).for_each(|_| behind.note_behind(Nanos::from_secs(9), fast));
    let found = alone(&behind);
    assert_eq!((found.load_count, verdict(&found)), (10_000, Some(true)));
    behind.note_behind(Nanos::from_secs(9), Nanos::from_millis(9));
    assert_eq!(verdict(&alone(&behind)), Some(false), "11 of 10,000");
    close(p999(blocks(&alone(&behind)).unwrap().iter()).unwrap(), 9.0);
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
    let error = method.fits(modelled("ext4:sim:vendor2").capabilities()).unwrap_err();
    assert!(error.contains("use another `mode`"), "{error}");
}
