use super::*;
use crate::acceptance::planted::{Planted as Raws, failing};

fn failed(all: u32, xtask: u32, status: i32) -> Vec<String> {
    let raws = Raws::new();
    let head = "lines of Rust         outside in tests\n";
    raws.capture(LINES, 0, &format!("{head}xtask {xtask} 9\nall {all} 99999\n"));
    raws.capture(TIDY, status, "");
    failing(&read(&raws.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn lines_and_faults_are_held_against_their_bars() {
    assert!(failed(66_000, 12_000, 0).is_empty());
    assert_eq!(failed(66_001, 12_000, 0), ["lines of Rust outside of tests, all"]);
    assert_eq!(failed(66_000, 12_001, 0), ["lines of Rust outside of tests, xtask"]);
    assert_eq!(failed(1, 1, 1).len(), 1);
}

#[test]
fn a_table_without_a_row_is_an_error() {
    let raws = Raws::new();
    raws.capture(LINES, 0, "lines of Rust outside in tests\n");
    raws.capture(TIDY, 0, "");
    assert!(read(&raws.raw()).is_err());
}
