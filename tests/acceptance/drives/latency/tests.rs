use std::fs;
use std::path::Path;

use trimbench_results::Step;

use super::*;
use crate::acceptance::Form;
use crate::acceptance::planted::{Planted, failing, record, session};

fn text() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(LATENCY)).unwrap()
}

/// What does not hold where ours are the real ones times these factors, in the order of
/// [`QUANTITIES`]; without rows whose writes a second are above `kept`.
fn failed(factors: [f64; 4], kept: f64) -> Vec<String> {
    let planted = Planted::new();
    planted.file(KEPT, text().as_bytes());
    let rows = rows(&text(), Form::Full, Row::read).unwrap();
    for drive in DRIVES {
        planted.capture(drive, 0, "");
        let mut ours = session(drive, &[]);
        for row in rows.iter().filter(|row| row.drive == drive && row.writes_per_s <= kept) {
            let mut step = Step::new(format!("rate-{}-per-s", row.rate()), "rate");
            for ((_, key, _), (real, factor)) in QUANTITIES.iter().zip(row.real.iter().zip(factors))
            {
                step.measure(key, real * factor / 1e6);
            }
            ours.steps.push(step);
        }
        planted.record(&format!("{drive}/run.json"), &record(vec![ours]));
    }
    let findings = read(&planted.raw_of(Form::Full)).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn cells_of_the_real_drives_hold_and_others_do_not() {
    assert_eq!(failed([1.0, 1.0, 1.0, 1.0], f64::MAX), [""; 0]);
    assert_eq!(failed([1.09, 1.19, 1.0, 0.85], f64::MAX), [""; 0]);
    assert_eq!(failed([1.0, 1.25, 1.0, 1.0], f64::MAX).len(), 1, "one quantity");
    assert_eq!(failed([1.2, 1.25, 1.0, 1.0], f64::MAX).len(), 3, "two, and so all");
}

#[test]
fn a_rate_that_ours_does_not_keep_up_with_is_wrong() {
    assert!(failed([1.0; 4], 20_000.0).len() == 5);
}

#[test]
fn the_short_form_has_one_drive_and_both_forms_predict() {
    for form in [Form::Short, Form::Full] {
        let rows = rows(&text(), form, Row::read).unwrap();
        let drives: std::collections::BTreeSet<&str> =
            rows.iter().map(|row| row.drive.as_str()).collect();
        assert_eq!(drives.len(), if form == Form::Short { 1 } else { DRIVES.len() });
        assert!(rows.iter().any(|row| row.fitted) && rows.iter().any(|row| !row.fitted));
    }
}
