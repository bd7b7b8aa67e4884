use trimbench_results::{Series, Step};

use super::*;
use crate::acceptance::planted::{Planted, failing, record, session as planted_session};

/// A pass of this average and these windows, over and over.
fn pass(id: &str, average: f64, windows: &[f64]) -> Step {
    let mut step = Step::new(id, "pass");
    step.measure("write_iops", average);
    step.measure("write_amplification_ratio", 3.0);
    let y: Vec<Option<f64>> = windows.iter().copied().cycle().take(100).map(Some).collect();
    let x = (0..100).map(f64::from).collect();
    step.series.insert("iops-window".to_owned(), Series::new("window", "IOPS", x, y).unwrap());
    step
}

/// What fails where the SSD340 has this average and these windows with TRIM, the M500 4,000 IOPS
/// throughout, and both `without` in all windows without TRIM.
fn failed(average: f64, windows: &[f64], without: f64) -> Vec<String> {
    let planted = Planted::new();
    let drives = [(average, windows), (4_000.0, &[4_000.0][..])];
    for (drive, (average, windows)) in DRIVES.into_iter().zip(drives) {
        planted.capture(drive, 0, "");
        let mut session = planted_session(drive, &[]);
        session.steps = vec![pass(KEPT, average, windows), pass(STRIPPED, 1_500.0, &[without])];
        planted.record(&format!("{drive}/run.json"), &record(vec![session]));
    }
    let found = read(&planted.raw()).unwrap();
    failing(&found).into_iter().map(str::to_owned).collect()
}

#[test]
fn averages_windows_and_gains_are_held_to_what_was_published() {
    let good = [4_000.0, 4_000.0, 4_000.0, 5_100.0, 3_000.0];
    assert_eq!(failed(4_150.0, &good, 1_300.0), [""; 0]);
    let average = "average write IOPS with TRIM, the larger over the smaller";
    assert_eq!(failed(4_250.0, &good, 1_300.0), [average]);
    assert_eq!(failed(3_800.0, &good, 1_300.0), [average]);
    let near = [4_000.0, 4_000.0, 4_900.0, 3_300.0, 4_000.0];
    assert_eq!(failed(4_000.0, &near, 1_300.0), ["share of windows more than 25 % apart"]);
    let gain = "like-m500: most writes of a window with TRIM over those without";
    assert_eq!(failed(4_000.0, &good, 1_400.0), [gain]);
}

#[test]
fn too_few_windows_and_others_are_an_error() {
    assert!(pairs(&[1.0; 99], &[1.0; 99]).is_err());
    assert!(pairs(&[1.0; 100], &[1.0; 101]).is_err());
}
