use super::escape;

#[test]
fn a_cell_stays_in_its_column_and_line() {
    assert_eq!(escape("a | b\nc"), r"a \| b c");
}
