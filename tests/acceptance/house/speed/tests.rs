use super::*;
use crate::acceptance::planted::{Planted as Raws, failing};

/// Runs of these seconds, and records of these bytes for one, two and sixteen jobs.
fn failed(seconds: [(Kind, f64); 5], records: [&str; 3]) -> Vec<String> {
    let raws = Raws::new();
    for (kind, time) in seconds {
        for round in 0..ROUNDS[1] {
            // One of five is far off, which a median does not mind.
            let time = if round == 3 { time * 9.0 } else { time };
            raws.timed_capture((&numbered(kind, round), time), 0, "");
        }
    }
    raws.capture(&numbered(SIXTEEN_JOBS, 0), 0, "");
    for (kind, record) in SAME.iter().zip(records) {
        raws.file(&format!("{}.json", numbered(*kind, 0)), record.as_bytes());
    }
    failing(&read(&raws.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

const fn times(before: f64, one: f64, two: f64, two_report: f64) -> [(Kind, f64); 5] {
    [
        (BEFORE, before),
        (ONE_JOB, one),
        (TWO_JOBS, two),
        (ONE_JOB_REPORT, 10.0),
        (TWO_JOBS_REPORT, two_report),
    ]
}

#[test]
fn each_ratio_has_its_bar() {
    let same = ["{}"; 3];
    assert!(failed(times(10.0, 8.0, 4.8, 6.8), same).is_empty());
    let names = RATIOS.map(|(what, ..)| what);
    assert_eq!(failed(times(10.0, 8.0, 4.9, 6.8), same), [names[0]]);
    assert_eq!(failed(times(10.0, 8.0, 4.8, 6.9), same), [names[1]]);
    assert_eq!(failed(times(9.9, 8.0, 4.8, 6.8), same), [names[2]]);
}

#[test]
fn records_are_the_same_to_the_byte() {
    assert_eq!(failed(times(10.0, 8.0, 4.0, 6.0), ["{}", "{}", "{ }"]).len(), 1);
}
