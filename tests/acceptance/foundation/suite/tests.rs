use super::{BUGS, plant, read};
use crate::Repository;
use crate::acceptance::planted::{Planted, failing};

const GREEN: &str = "== cargo test\nskipped: no_root: not root\n305 passed, 0 failed, 1 skipped\n";
const RED: &str = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\
                   test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n";
const STILL_GREEN: &str = "running 2 tests\ntest a ... ok\ntest b ... ok\n\
                   test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n";

/// Whether the tests are green, their time and what they print, and what the bugs lead to.
fn planted((exit, seconds, printed): (i32, f64, &str), red: [(i32, &str); 2]) -> Planted {
    let planted = Planted::new();
    planted.capture("commit", 0, "0123456789abcdef\n");
    planted.capture_of(("test", "cargo xtask test", seconds), exit, printed);
    for (bug, (exit, printed)) in BUGS.iter().zip(red) {
        planted.capture(&format!("{}-diff", bug.name), 0, &format!("+    {}\n", bug.wrong));
        planted.capture(bug.name, exit, printed);
    }
    planted
}

fn failed(test: (i32, f64, &str), red: [(i32, &str); 2]) -> Vec<String> {
    let findings = read(&planted(test, red).raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn green_tests_that_turn_red_with_each_bug_hold() {
    assert_eq!(failed((0, 300.0, GREEN), [(101, RED); 2]), Vec::<String>::new());
    let findings = read(&planted((0, 300.0, GREEN), [(101, RED); 2]).raw()).unwrap();
    let note = "a clone of commit 0123456789ab; skips: no_root: not root";
    assert_eq!(findings[2].note, note);
}

#[test]
fn each_fault_of_the_tests_is_seen_by_itself() {
    let failures = "305 passed, 2 failed, 0 skipped\n";
    let expected = ["exit code of the tests", "tests that failed"];
    assert_eq!(failed((1, 300.0, failures), [(101, RED); 2]), expected);
    let few = "149 passed, 0 failed, 0 skipped\n";
    assert_eq!(failed((0, 300.0, few), [(101, RED); 2]), ["tests that passed"]);
    let slow = (0, 1_201.0, GREEN);
    assert_eq!(failed(slow, [(101, RED); 2]), ["time of build and tests"]);
    let refused = "error: a skipped and is not listed in tests/allowed-skips.txt\n\
                   305 passed, 0 failed, 1 skipped\n";
    assert_eq!(failed((0, 300.0, refused), [(101, RED); 2]), ["skips that are not allowed"]);
}

#[test]
fn a_bug_that_no_test_notices_is_seen() {
    for index in 0..BUGS.len() {
        let mut red = [(101, RED); 2];
        red[index] = (0, STILL_GREEN);
        let what = format!("tests that fail with a planted bug in {}", BUGS[index].file);
        assert_eq!(failed((0, 300.0, GREEN), red), [what]);
    }
}

#[test]
fn a_bug_that_does_not_build_shows_nothing() {
    let planted = planted((0, 300.0, GREEN), [(101, ""), (101, RED)]);
    let error = read(&planted.raw()).unwrap_err().to_string();
    assert!(error.contains("no test"), "{error}");
    let planted = Planted::new();
    planted.capture("commit", 0, "0123456789abcdef\n");
    planted.capture_of(("test", "cargo xtask test", 1.0), 0, "cut off\n");
    assert!(read(&planted.raw()).unwrap_err().to_string().contains("no counts"));
}

#[test]
fn the_short_form_counts_what_cargo_prints_of_two_packages() {
    let short = |exit: i32, printed: &str| {
        let planted = planted((0, 1.0, GREEN), [(101, RED); 2]);
        planted.file("captures.ndjson", b"");
        planted.capture("commit", 0, "0123456789abcdef\n");
        planted.capture_of(("test", "cargo test --package a", 30.0), exit, printed);
        for bug in &BUGS {
            planted.capture(&format!("{}-diff", bug.name), 0, bug.wrong);
            planted.capture(bug.name, 101, RED);
        }
        read(&planted.raw())
    };
    let green = "test result: ok. 50 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(failing(&short(0, green).unwrap()), Vec::<&str>::new());
    let expected = [
        "exit code of the tests",
        "tests of the two packages that failed",
        "tests of the two packages that passed",
    ];
    assert_eq!(failing(&short(101, RED).unwrap()), expected);
    assert!(short(101, "").is_err(), "nothing was built");
}

#[test]
fn the_lines_that_are_to_be_wrong_stand_in_the_sources_once() {
    let repository = Repository::here().unwrap();
    for bug in &BUGS {
        let text = std::fs::read_to_string(repository.root().join(bug.file)).unwrap();
        let planted = plant(&text, bug).unwrap();
        assert!(planted.contains(bug.wrong) && !planted.contains(bug.right));
        assert!(plant(&text.repeat(2), bug).is_err());
    }
}
