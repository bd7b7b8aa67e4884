use std::time::Duration;

use super::{FuzzSubject, HANG, Watch, execute};

/// The same executions twice; the share that was understood, and the ends there were.
fn twice(subject: FuzzSubject, executions: u64) -> (f64, Vec<String>) {
    let feed = subject.feed().unwrap();
    let all = || -> Vec<_> {
        let run = |number| execute(&*feed, 7, number).map_err(|what| format!("{number}: {what}"));
        (0..executions).map(|number| run(number).unwrap()).collect()
    };
    let done = all();
    assert_eq!(done, all());
    let whole = done.iter().filter(|done| done.whole).count() as f64;
    let mut ends: Vec<String> = done.into_iter().map(|done| done.end.into_owned()).collect();
    ends.sort_unstable();
    ends.dedup();
    (whole / executions as f64, ends)
}

#[test]
fn damaged_traces_hold_and_are_always_the_same() {
    let (whole, ends) = twice(FuzzSubject::Traces, 2_000);
    assert!((0.1..0.9).contains(&whole), "{whole} {ends:?}");
}

#[test]
fn damaged_records_hold_and_are_always_the_same() {
    let (whole, ends) = twice(FuzzSubject::Records, 1_000);
    // Nearly every record has parts that can be understood.
    assert!((0.8..0.99).contains(&whole), "{whole} {ends:?}");
}

#[test]
fn reports_of_hostile_records_hold_and_are_always_the_same() {
    let (whole, ends) = twice(FuzzSubject::Reports, 500);
    // The others are damaged so that nothing of them can be understood.
    assert!((0.9..1.0).contains(&whole), "{whole} {ends:?}");
}

#[test]
fn damaged_profiles_hold_and_are_always_the_same() {
    let (whole, ends) = twice(FuzzSubject::Profiles, 1_000);
    assert!((0.1..0.9).contains(&whole), "{whole} {ends:?}");
}

#[test]
fn damaged_options_hold_and_are_always_the_same() {
    let (whole, ends) = twice(FuzzSubject::Options, 2_000);
    assert!((0.1..0.9).contains(&whole), "{whole} {ends:?}");
}

#[test]
fn what_is_not_over_after_much_processor_time_hangs() {
    let mut watch = Watch::new(2);
    let second = Duration::from_secs(1);
    assert_eq!(watch.look(&[4, 5], second), None);
    // The second worker goes on, the first does not.
    assert_eq!(watch.look(&[4, 6], second + HANG), None);
    assert_eq!(watch.look(&[4, 7], HANG * 2), None);
    // However often it is looked at while nothing is computed.
    assert!((0..1_000).all(|_| watch.look(&[4, 7], HANG * 2).is_none()));
    assert_eq!(watch.look(&[4, 8], second + HANG * 2), Some(4));
    // A worker that has nothing to do any more does not hang.
    assert_eq!(watch.look(&[u64::MAX, 9], HANG * 3), None);
    assert_eq!(watch.look(&[u64::MAX, 10], HANG * 9), None);
}
