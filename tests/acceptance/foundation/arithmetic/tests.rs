use trimbench_results::Step;

use super::read;
use crate::acceptance::planted::{Planted, failing, record, session};

const STOP: [(&str, f64); 5] = [
    ("largest-stutter", 2.004),
    ("largest-delay", 2_006.0),
    ("largest-equivalent-stop", 2.003),
    ("largest-overdue", 2.004),
    ("largest-read-gap", 2.002),
];
const CALIBRATED: [(&str, f64); 2] = [("stutter", 0.2513), ("delay-exponent", 2.0)];

fn deletion(gigabytes: f64, stutter_per_gb: f64) -> Step {
    let mut step = Step::new(format!("delete-{gigabytes}-{stutter_per_gb}"), "delete");
    step.set("size_bytes", gigabytes * 1e9);
    step.measure("stutter_s", stutter_per_gb * gigabytes);
    step
}

fn planted(stop: &[(&str, f64)], calibrated: &[(&str, f64)], at_2_gb: f64) -> Planted {
    let planted = Planted::new();
    planted.capture("stop", 0, "");
    planted.capture("calibrated", 0, "");
    planted.record("stop/run.json", &record(vec![session("stop", stop)]));
    let mut session = session("calibrated", calibrated);
    session.steps = [1.0, 2.0, 4.0, 8.0]
        .into_iter()
        .flat_map(|size| {
            let middle = if size > 1.5 && size < 2.5 { at_2_gb } else { 0.2505 };
            // One wild deletion of three does not move the median.
            [0.1, middle, 0.9].map(|stutter| deletion(size, stutter))
        })
        .collect();
    planted.record("calibrated/run.json", &record(vec![session]));
    planted
}

#[test]
fn stalls_that_are_as_known_hold() {
    let findings = read(&planted(&STOP, &CALIBRATED, 0.245).raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    assert_eq!(findings.len(), 8);
    assert!((findings[6].figure - 0.245).abs() < 1e-9, "{}", findings[6].figure);
    assert!(findings[6].note.contains("8 GB: 0.2505 s/GB"), "{}", findings[6].note);
}

#[test]
fn each_measure_of_the_stop_is_judged_by_itself() {
    for index in 0..STOP.len() {
        for wrong in [0.98, 1.02] {
            let mut stop = STOP;
            stop[index].1 *= wrong;
            let findings = read(&planted(&stop, &CALIBRATED, 0.25).raw()).unwrap();
            assert_eq!(failing(&findings).len(), 1, "{} times {wrong}", stop[index].0);
            assert!(!findings[index].holds());
        }
    }
}

#[test]
fn the_calibrated_drive_is_judged_over_all_sizes_at_each_and_by_its_exponent() {
    let failed = |calibrated: [(&str, f64); 2], at_2_gb| -> Vec<String> {
        let findings = read(&planted(&STOP, &calibrated, at_2_gb).raw()).unwrap();
        failing(&findings).into_iter().map(str::to_owned).collect()
    };
    let [stutter, exponent] = CALIBRATED;
    assert_eq!(failed([("stutter", 0.26), exponent], 0.25), ["stutter of a drive of 0.25 s/GB"]);
    assert_eq!(failed(CALIBRATED, 0.24), ["stutter over size, of the size farthest from 0.25"]);
    assert_eq!(
        failed([stutter, ("delay-exponent", 1.0)], 0.25),
        ["exponent of the delay on the size"]
    );
}

#[test]
fn a_figure_that_was_not_computed_is_an_error() {
    let error = read(&planted(&STOP[1..], &CALIBRATED, 0.25).raw()).unwrap_err().to_string();
    assert!(error.contains("largest-stutter"), "{error}");
}
