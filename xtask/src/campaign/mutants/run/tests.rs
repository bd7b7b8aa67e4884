use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Fate, failed, killed, test_program};

#[test]
fn the_first_test_that_failed_is_named() {
    let harness = "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest a::d ... FAILED\n";
    assert_eq!(failed(harness), "a::c");
    let table = "{\"row\":\"r\",\"outcome\":\"held\"}\n{\"row\":\"s\",\"outcome\":\"lost\"}\n";
    assert_eq!(failed(table), "s");
    assert_eq!(failed("killed by a signal"), "");
}

#[test]
fn a_test_that_fails_kills_and_one_that_hangs_too() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let end = |script: &str, limit: u64| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        killed(shell, &log, Duration::from_millis(limit)).unwrap()
    };
    assert_eq!(end("true", 60_000), None);
    let by = "test x ... FAILED";
    assert_eq!(end(&format!("echo {by}; exit 101"), 60_000), Some((Fate::Killed, "x".to_owned())));
    assert_eq!(end("kill -9 $$", 60_000), Some((Fate::Killed, String::new())));
    assert_eq!(end("sleep 100", 50), Some((Fate::Hung, String::new())));
    assert!(fs::read(&log).unwrap().is_empty());
}

#[test]
fn only_programs_of_tests_are_taken_from_what_cargo_built() {
    let message = |test: bool, executable: &str| {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/x/tests/Cargo.toml\",\
             \"profile\":{{\"test\":{test}}},\"executable\":{executable}}}"
        )
    };
    let program = test_program(&message(true, "\"/x/target/safety\"")).unwrap();
    assert_eq!(program.path, Path::new("/x/target/safety"));
    assert_eq!(program.folder, Path::new("/x/tests"));
    assert!(test_program(&message(false, "\"/x/target/trimbench\"")).is_none());
    assert!(test_program(&message(true, "null")).is_none());
}
