use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Fate, Ground, Group, Suite, Test, Way, failed, killed};
use crate::campaign::mutants::build::{Program, Programs};

#[test]
fn the_first_test_that_failed_is_named() {
    let harness = "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest a::d ... FAILED\n";
    assert_eq!(failed(harness), "a::c");
    let table = "{\"row\":\"r\",\"outcome\":\"held\"}\n{\"row\":\"s\",\"outcome\":\"lost\"}\n";
    assert_eq!(failed(table), "s");
    assert_eq!(failed("killed by a signal"), "");
}

fn ground<'a>(programs: &'a Programs, folder: &'a Path) -> Ground<'a> {
    Ground { programs, xtask: Path::new("/bin/false"), folder, awake: Some(7) }
}

#[test]
fn a_test_that_fails_kills_and_one_that_hangs_too() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Programs::default();
    let ground = ground(&programs, folder.path());
    let end = |script: &str, limit: u64| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        killed(shell, &ground, Duration::from_millis(limit)).unwrap()
    };
    assert_eq!(end("true", 60_000), None);
    let by = "test x ... FAILED";
    assert_eq!(end(&format!("echo {by}; exit 101"), 60_000), Some((Fate::Killed, "x".to_owned())));
    assert_eq!(end("kill -9 $$", 60_000), Some((Fate::Killed, String::new())));
    assert_eq!(end("sleep 100", 50), Some((Fate::Hung, String::new())));
    assert!(fs::read(ground.log()).unwrap().is_empty());
    assert_eq!(end("test \"$TRIMBENCH_MUTANT\" = 7", 60_000), None);
}

#[test]
fn only_tests_that_come_through_the_function_are_run() {
    // Needs a mount namespace of its own, as every test that is run alone.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program =
        Program { path: "/bin/echo".into(), folder: folder.path().to_owned(), is_test: true };
    let programs = Programs(BTreeMap::from([("unit".to_owned(), program)]));
    let ground = ground(&programs, folder.path());
    let test = |name: &str, reached: &[usize]| Test {
        name: name.to_owned(),
        reached: reached.iter().copied().collect(),
        took: Duration::ZERO,
    };
    let tests = vec![test("one", &[1]), test("both", &[1, 2]), test("two", &[2])];
    let suite = Suite(vec![Group { way: Way::Harness("unit".to_owned()), tests }]);
    let printed = |function: Option<usize>| {
        let end = suite.until_killed(&ground, function).unwrap();
        assert_eq!(end, (Fate::Survived, String::new()));
        fs::read_to_string(ground.log()).unwrap()
    };
    assert_eq!(printed(Some(1)), "--exact one both\n");
    assert_eq!(printed(None), "--exact one both two\n");
    fs::write(ground.log(), "").unwrap();
    assert_eq!(printed(Some(3)), "");
    assert!(suite.knows(2) && !suite.knows(3));
}
