use std::path::Path;

use trimbench_results::Step;

use super::super::SHORT;
use super::{Discards, KEPT, Known, RealTime, TIMES, read, rows};
use crate::acceptance::Form;
use crate::acceptance::planted::{Planted, failing, record, session};

const HEAD: &str = "drive,split,gib,discards,intervals,least_ms,median_ms\n";

/// What does not hold where our discards took these milliseconds.
fn failed(row: &str, milliseconds: &[f64]) -> Vec<String> {
    let planted = Planted::new();
    planted.file(KEPT, format!("{HEAD}{row}\n").as_bytes());
    let name = Discards::read(row).unwrap().name();
    planted.capture(&name, 0, "");
    let mut ours = session("drive", &[]);
    ours.steps = (0..)
        .zip(milliseconds)
        .map(|(number, time)| {
            let mut step = Step::new(format!("one-go-{number}"), "one-go");
            step.measure("full_s", time / 1e3);
            step
        })
        .collect();
    planted.record(&format!("{name}/run.json"), &record(vec![ours]));
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn the_greatest_of_each_interval_counts_and_of_them_the_least_and_the_median() {
    let row = format!("{SHORT},fit,2,2,3,10,20");
    // The greatest of the intervals are 10, 20 and 90.
    assert!(failed(&row, &[10.0, 1.0, 20.0, 0.0, 3.0, 90.0]).is_empty());
    assert!(failed(&row, &[12.9, 1.0, 29.9, 0.0, 3.0, 90.0]).is_empty());
    let least = format!("{SHORT}: least of discards of 2 GiB, fitted, ours over real");
    let median = format!("{SHORT}: median of discards of 2 GiB, fitted, ours over real");
    assert_eq!(failed(&row, &[13.1, 1.0, 20.0, 0.0, 3.0, 90.0]), [least.as_str()]);
    assert_eq!(failed(&row, &[6.9, 1.0, 20.0, 0.0, 3.0, 90.0]), [least.as_str()]);
    assert_eq!(failed(&row, &[10.0, 1.0, 30.1, 0.0, 3.0, 90.0]), [median.as_str()]);
    assert_eq!(failed(&row, &[10.0, 1.0, 13.3, 0.0, 3.0, 90.0]), [median.as_str()]);
}

#[test]
fn a_bound_is_held_from_its_side_only() {
    let row = format!("{SHORT},predict,2,1,1,<=0.5,>=20");
    assert_eq!(failed(&row, &[0.4]).len(), 1, "below both");
    assert_eq!(failed(&row, &[21.0]).len(), 1, "above both");
    assert_eq!(failed(&row, &[5.0]).len(), 2);
    let known = |text| RealTime::read(text).unwrap().known;
    assert_eq!(known("1.5"), Known::Exactly);
    assert_eq!((known("<=1.5"), known(">=1.5")), (Known::AtMost, Known::AtLeast));
    assert!(RealTime::read("~1").is_err());
}

#[test]
fn each_drive_has_rows_of_both_kinds_and_the_short_form_runs_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = std::fs::read_to_string(root.join(TIMES)).unwrap();
    let all = rows(&text, Form::Full, Discards::read).unwrap();
    for drive in [SHORT, "kioxia-cm7-r-3840", "solidigm-p5520-1920", "wd-dc-960"] {
        let of = || all.iter().filter(|row| row.drive == drive);
        assert_eq!((of().filter(|row| row.fitted).count(), of().count()), (2, 3), "{drive}");
    }
    assert!(rows(&text, Form::Short, Discards::read).unwrap().iter().all(|row| row.drive == SHORT));
}
