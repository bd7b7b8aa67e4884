use super::super::{NAMED, rows};
use super::{DiscardRow, TIMES, real_time};

/// Which of the two figures hold where our discards took these milliseconds.
fn holds(row: &str, milliseconds: &[f64]) -> [bool; 2] {
    let row = DiscardRow::read(&format!("wd-dc-960,{row}")).unwrap();
    row.figures(milliseconds).map(|figure| figure.holds())
}

#[test]
fn the_greatest_of_each_interval_counts_and_of_them_the_least_and_the_median() {
    let row = "fit,2,2,3,10,20";
    // The greatest of the intervals are 10, 20 and 90.
    assert_eq!(holds(row, &[10.0, 1.0, 20.0, 0.0, 3.0, 90.0]), [true, true]);
    assert_eq!(holds(row, &[12.9, 1.0, 29.9, 0.0, 3.0, 90.0]), [true, true]);
    assert_eq!(holds(row, &[13.1, 1.0, 20.0, 0.0, 3.0, 90.0]), [false, true]);
    assert_eq!(holds(row, &[6.9, 1.0, 20.0, 0.0, 3.0, 90.0]), [false, true]);
    assert_eq!(holds(row, &[10.0, 1.0, 30.1, 0.0, 3.0, 90.0]), [true, false]);
    assert_eq!(holds(row, &[10.0, 1.0, 13.3, 0.0, 3.0, 90.0]), [true, false]);
}

#[test]
fn a_bound_is_held_from_its_side_only() {
    let row = "predict,2,1,1,<=0.5,>=20";
    assert_eq!(holds(row, &[0.4]), [true, false]);
    assert_eq!(holds(row, &[21.0]), [false, true]);
    assert_eq!(holds(row, &[5.0]), [false, false]);
    assert!(real_time("~1").is_err());
}

#[test]
fn each_drive_has_two_rows_that_are_fitted_and_one_that_is_predicted() {
    let path = format!("{}/../{TIMES}", env!("CARGO_MANIFEST_DIR"));
    let all = rows(&std::fs::read_to_string(path).unwrap(), DiscardRow::read).unwrap();
    for drive in NAMED {
        let of = || all.iter().filter(|row| row.drive == drive);
        assert_eq!((of().filter(|row| row.fitted).count(), of().count()), (2, 3), "{drive}");
    }
}
