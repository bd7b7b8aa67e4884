use trimbench_ssd::Profile;

use super::published::{VENDORS, durations};
use super::*;

#[test]
fn the_published_durations_add_up_and_deletion_is_what_is_left() {
    let close = |value: f64, expected: f64| assert!((value - expected).abs() < 0.01, "{value}");
    let column = PublishedColumn { buffered: true, discard: true };
    let vendor2 = durations("vendor2", column).unwrap();
    close(vendor2.transactions, 2479.90);
    close(vendor2.creation, 50.96);
    close(vendor2.deletion, 97.64);
    close(vendor2.total(), 2628.50);
    assert!(durations("vendor7", column).is_err());
}

#[test]
fn means_are_taken_of_a_column_and_a_missing_one_is_an_error() {
    let run = |column, repetition, creation: f64| ColumnRun {
        vendor: "vendor1".to_owned(),
        column,
        repetition,
        durations: Durations { creation, transactions: 2.0, deletion: 3.0 },
        metrics: vec![creation, 7.0],
        after: 0.0,
    };
    let of = |column| [run(column, 0, 1.0), run(column, 1, 2.0)];
    let mut runs: Vec<ColumnRun> = PublishedColumn::ALL.into_iter().flat_map(of).collect();
    let found = means(&runs, "vendor1").unwrap();
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|mean| mean.metrics == [1.5, 7.0]));
    let expected = Durations { creation: 1.5, transactions: 2.0, deletion: 3.0 };
    assert_eq!(found[3].durations, expected);
    runs.truncate(6);
    assert!(means(&runs, "vendor1").is_err());
}

#[test]
fn all_18_values_of_the_vendors_say_to_what_they_were_fitted() {
    let mut fitted = 0;
    for vendor in VENDORS {
        let profile = Profile::built_in(vendor).unwrap();
        for value in &profile.values {
            fitted += usize::from(value.source.contains("[S0], buffered"));
        }
    }
    assert_eq!(fitted, 18);
}

#[test]
fn predictions_are_54_and_miss_their_bars_one_by_one() {
    let published = |change: f64| -> Vec<ColumnRun> {
        let of = |vendor: &'static str| {
            PublishedColumn::ALL.map(|column| {
                let mut durations = durations(vendor, column).unwrap();
                durations.creation *= change;
                let (vendor, metrics) = (vendor.to_owned(), Vec::new());
                ColumnRun { vendor, column, repetition: 0, durations, metrics, after: 0.0 }
            })
        };
        VENDORS.into_iter().flat_map(of).collect()
    };
    let count = |change: f64, is_it: fn(&Prediction) -> bool| {
        predictions(&published(change)).unwrap().iter().filter(|it| is_it(it)).count()
    };
    assert_eq!(count(1.0, |_| true), 54);
    assert_eq!(count(1.0, |it| !it.has_bar), 4);
    assert_eq!(count(1.0, Prediction::is_near), 54);
    // Creation is asked for within 3 % under discard, within 5 % unbuffered without.
    assert_eq!(count(1.04, |it| !it.is_near()), 2 * 6);
    assert_eq!(count(0.94, |it| !it.is_near()), 3 * 6);
}
