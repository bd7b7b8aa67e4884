use super::{Skip, SkipSummary, TestCounter, parse_allowed, refused};

/// What two test programs print: 3 of 4 pass, one of the passed skips with two reasons.
const PRINTED: &str = "\
running 3 tests
test loops::a_loop_device_is_trimmed ... ok
test units::a_size_is_parsed ... ok
test units::a_wrong_size_is_refused ... FAILED

successes:

---- loops::a_loop_device_is_trimmed stdout ----
SKIP a_loop_device_is_trimmed: needs root
SKIP a_loop_device_is_trimmed: needs mkfs.xfs
noise of a passed test

successes:
    loops::a_loop_device_is_trimmed

failures:

---- units::a_wrong_size_is_refused stdout ----
assertion failed

failures:
    units::a_wrong_size_is_refused

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test lines ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

fn count(printed: &str, success: bool) -> SkipSummary {
    let mut counter = TestCounter::default();
    for line in printed.lines() {
        counter.line(line);
    }
    counter.finish(success)
}

#[test]
fn results_are_summed_and_a_skip_is_not_a_pass() {
    let summary = count(PRINTED, false);
    assert_eq!(summary.line(), "2 passed, 1 failed, 1 skipped");
    let skip = Skip {
        name: "a_loop_device_is_trimmed".to_owned(),
        reason: "needs root; needs mkfs.xfs".to_owned(),
    };
    assert_eq!(summary.skips, [skip]);
    assert!(!summary.is_good());
}

#[test]
fn failures_are_shown_and_the_output_of_passed_tests_is_not() {
    let mut counter = TestCounter::default();
    let shown: Vec<&str> = PRINTED.lines().filter(|line| counter.line(line)).collect();
    assert!(shown.contains(&"assertion failed"), "{shown:?}");
    assert!(shown.contains(&"test units::a_wrong_size_is_refused ... FAILED"), "{shown:?}");
    assert!(!shown.contains(&"noise of a passed test"), "{shown:?}");
    assert!(!shown.contains(&"test lines ... ok"), "{shown:?}");
}

/// What nextest prints of two tests that pass, one of which skips, and one that fails.
const BY_NEXTEST: &str = "    Starting 3 tests across 2 binaries
        PASS [   0.004s] (1/3) tests::linux discards_reach_the_device
  stdout ───

    running 1 test
    test discards_reach_the_device ... ok

    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s

  stderr ───
    SKIP discards_reach_the_device: needs root
    noise of a passed test
    running 1 test

        PASS [   0.001s] (2/3) trimbench-core units::a_size_is_parsed
  stdout ───

    running 1 test
    test units::a_size_is_parsed ... ok

    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s

        FAIL [   0.001s] (3/3) trimbench-core units::a_wrong_size_is_refused
  stdout ───

    running 1 test
    test units::a_wrong_size_is_refused ... FAILED

    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; finished in 0.00s

  stderr ───
    assertion failed

     Summary [   0.006s] 3 tests run: 2 passed, 1 failed, 0 skipped
        FAIL [   0.001s] (3/3) trimbench-core units::a_wrong_size_is_refused
";

#[test]
fn what_nextest_prints_is_counted_and_shown_alike() {
    assert_eq!(count(BY_NEXTEST, false).line(), "1 passed, 1 failed, 1 skipped");
    let mut both = TestCounter::default();
    for printed in [BY_NEXTEST, PRINTED] {
        both.begin();
        for line in printed.lines() {
            both.line(line);
        }
    }
    assert_eq!(both.finish(false).line(), "3 passed, 2 failed, 2 skipped");
    let mut counter = TestCounter::default();
    let shown: Vec<&str> = BY_NEXTEST.lines().filter(|line| counter.line(line)).collect();
    let is_shown = |text: &str| shown.iter().any(|line| line.contains(text));
    assert!(is_shown("assertion failed") && is_shown("Summary"), "{shown:?}");
    for text in ["a_size_is_parsed", "SKIP", "noise"] {
        assert!(!is_shown(text), "{text}: {shown:?}");
    }
}

#[test]
fn a_broken_build_and_a_crashed_test_program_are_failures() {
    assert_eq!(count("", false).line(), "0 passed, 1 failed, 0 skipped");
    let crashed = "running 2 tests\ntest a ... ok\n";
    assert_eq!(count(crashed, false).line(), "0 passed, 1 failed, 0 skipped");
    assert!(!count(crashed, false).is_good());
}

#[test]
fn a_skip_in_a_program_that_crashed_takes_nothing_from_the_others() {
    let mut counter = TestCounter::default();
    for line in format!("{PRINTED}running 2 tests\n").lines() {
        counter.line(line);
    }
    counter.line("SKIP in_the_crashed_program: needs root");
    assert_eq!(counter.finish(false).line(), "2 passed, 2 failed, 2 skipped");
}

#[test]
fn an_ignored_test_is_a_skip_that_must_be_allowed() {
    let printed = "running 1 test\ntest slow ... ignored, takes long\n\n\
        test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; \
        finished in 0.00s\n";
    let summary = count(printed, true);
    assert_eq!(summary.line(), "0 passed, 0 failed, 1 skipped");
    assert_eq!(refused(&summary.skips, &parse_allowed("").unwrap()), ["slow"]);
}

#[test]
fn a_skip_that_is_not_listed_is_refused() {
    let allowed = parse_allowed(
        "# Needs what CI's machine lacks.\n\na_loop_device_is_trimmed  # root and loop devices\n",
    )
    .unwrap();
    let mut summary = count(&PRINTED.replace("FAILED. 2 passed; 1", "ok. 3 passed; 0"), true);
    summary.refused = refused(&summary.skips, &allowed);
    assert!(summary.is_good(), "{summary:?}");
    summary.refused = refused(&summary.skips, &parse_allowed("another  # why\n").unwrap());
    assert_eq!(summary.refused, ["a_loop_device_is_trimmed"]);
    assert!(!summary.is_good());
}

#[test]
fn an_allowed_skip_without_a_reason_is_an_error() {
    let error = parse_allowed("a_loop_device_is_trimmed\n").unwrap_err();
    assert!(error.to_string().contains("a_loop_device_is_trimmed"), "{error}");
}

#[test]
fn prose_that_begins_like_a_skip_is_none() {
    let summary = count("SKIP this line because: it is prose\nSKIP\n", true);
    assert_eq!(summary.line(), "0 passed, 0 failed, 0 skipped");
}
