use super::super::tests::tree;
use super::table;

#[test]
fn lines_are_counted_by_crate_and_apart_from_those_of_tests() {
    let table = table(&tree(&[
        ("crates/a/src/lib.rs", "1\n\n3\n"),
        ("crates/a/src/lib/tests.rs", "1\n2\n"),
        ("crates/a/tests/cli/main.rs", "1\n"),
        ("tests/lib.rs", "1\n2\n3\n4\n"),
        ("xtask/src/main.rs", "1\n"),
        ("README.md", "1\n"),
    ]));
    let rows: Vec<Vec<&str>> =
        table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows,
        [["a", "3", "3"], ["tests", "0", "4"], ["xtask", "1", "0"], ["all", "4", "7"]]
    );
}
