use super::{escape, figure};

#[test]
fn figures_are_short_and_not_rounded_to_nothing() {
    for (value, text) in [
        (0.0, "0"),
        (7.0, "7"),
        (100.0, "100"),
        (0.25, "0.25"),
        (12.345_67, "12.3457"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(figure(value), text);
    }
}

#[test]
fn a_cell_stays_in_its_column_and_line() {
    assert_eq!(escape("a | b\nc"), r"a \| b c");
}
