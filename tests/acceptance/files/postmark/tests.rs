use trimbench_results::Step;

use super::*;
use crate::acceptance::planted::{Planted, record, session};

/// A record with one repetition of these metrics.
fn plant(planted: &Planted, name: &str, metrics: &[(&str, f64)]) {
    let mut one = session("directory", &[]);
    let mut step = Step::new("repetition-1", "repetition");
    for (key, value) in metrics {
        step.measure(key, *value);
    }
    one.steps = vec![step];
    planted.record(&format!("{name}/run.json"), &record(vec![one]));
}

const METRICS: [(&str, f64); 8] = [
    ("created_count", 764.0),
    ("created_in_transactions_count", 264.0),
    ("read_count", 243.0),
    ("appended_count", 257.0),
    ("deleted_in_transactions_count", 236.0),
    ("deleted_alone_count", 528.0),
    ("read_bytes", 1_430_770.0),
    ("written_bytes", 4_662_068.0),
];
const LINE: &str =
    "2 1 500.00 382.00 500.00 264.00 243.00 257.00 382.00 528.00 236.00 715385.00 2331034.00\n";

#[test]
fn counts_are_taken_out_of_the_rates_and_one_that_differs_is_seen() {
    let set = SETS[0];
    let planted = Planted::new();
    planted.capture("subdirectories-peer", 0, LINE);
    plant(&planted, "subdirectories", &METRICS);
    assert!(equal(&planted.raw(), &set).unwrap().holds());
    let mut other = METRICS;
    other[3].1 += 1.0;
    plant(&planted, "subdirectories", &other);
    let finding = equal(&planted.raw(), &set).unwrap();
    assert!(!finding.holds() && (finding.figure - 8.0).abs() < 1e-9);
}

#[test]
fn the_ratio_is_the_median_of_the_pairs() {
    let planted = Planted::new();
    for (pair, total) in [(1, 0.9), (2, 1.0), (3, 9.0)] {
        planted.timed_capture((&format!("pair-{pair}-peer"), 1.25), 0, LINE);
        planted.timed_capture((&format!("pair-{pair}-idle"), 0.25), 0, "");
        plant(&planted, &format!("pair-{pair}"), &[("total_s", total)]);
    }
    let finding = ratio(&planted.raw()).unwrap();
    assert!((finding.figure - 1.0).abs() < 1e-9 && finding.holds());
    plant(&planted, "pair-1", &[("total_s", 1.1)]);
    plant(&planted, "pair-2", &[("total_s", 1.1)]);
    assert!(!ratio(&planted.raw()).unwrap().holds());
}

#[test]
fn a_golden_number_that_is_off_by_one_is_seen() {
    let planted = Planted::new();
    let mut sets = GOLDEN.map(|(_, settings, _)| forecast(&settings));
    let lines =
        |sets: &[Value]| -> String { sets.iter().map(|set| set.to_string() + "\n").collect() };
    planted.capture("golden", 0, &lines(&sets));
    assert!(golden(&planted.raw()).unwrap().iter().all(Finding::holds));
    sets[1]["size_3"] = 3_584.into();
    planted.capture("golden", 0, &lines(&sets));
    let wrong = golden(&planted.raw()).unwrap();
    assert_eq!(wrong.iter().filter(|finding| !finding.holds()).count(), 1);
}
