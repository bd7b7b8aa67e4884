use super::super::{NAMED, SHORT, rows};
use super::{RATES, RateRow, judged};

fn all() -> Vec<RateRow> {
    let path = format!("{}/../{RATES}", env!("CARGO_MANIFEST_DIR"));
    rows(&std::fs::read_to_string(path).unwrap(), RateRow::read).unwrap()
}

/// How many figures do not hold where ours are the real ones times these factors, in the order of
/// `QUANTITIES`, and ours keeps up with this many writes a second.
fn missed(factors: [f64; 4], kept: f64) -> usize {
    let figures = judged(&all(), |row, quantity| {
        (row.writes_per_s <= kept).then(|| row.real[quantity] * factors[quantity])
    });
    figures.iter().filter(|figure| !figure.holds()).count()
}

#[test]
fn response_times_like_the_real_ones_hold_and_others_do_not() {
    assert_eq!(missed([1.0, 1.0, 1.0, 1.0], f64::MAX), 0);
    assert_eq!(missed([1.09, 1.19, 1.0, 0.85], f64::MAX), 0);
    assert_eq!(missed([1.0, 1.25, 1.0, 1.0], f64::MAX), 1, "one quantity");
    assert_eq!(missed([1.2, 1.25, 1.0, 1.0], f64::MAX), 3, "two, and so all");
    assert_eq!(missed([1.0; 4], 20_000.0), 5, "what ours does not keep up with is wrong");
}

#[test]
fn every_drive_has_rates_of_both_kinds() {
    let all = all();
    assert!(NAMED.iter().all(|drive| all.iter().any(|row| row.drive == *drive)));
    for rows in [&all, &all.iter().filter(|row| row.drive == SHORT).cloned().collect()] {
        assert!(rows.iter().any(|row| row.fitted) && rows.iter().any(|row| !row.fitted));
    }
}
