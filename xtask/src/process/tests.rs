use std::process::Command;
use std::time::Duration;

use super::{Signal, run, run_lines, run_signalled, run_weighed, run_well, show};
use crate::steps::Deadline;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_command_line_is_shown_as_a_shell_would_need_it() {
    let mut command = Command::new("target/release/trimbench");
    command.args(["run", "--set", "rate=1000", "a b", "it's", ""]);
    assert_eq!(show(&command), r"target/release/trimbench run --set rate=1000 'a b' 'it'\''s' ''");
}

#[test]
fn a_failing_child_is_told_from_a_good_one() {
    assert!(run(&mut shell("exit 0"), None).unwrap().success());
    let ended = run(&mut shell("exit 3"), None).unwrap();
    assert!(!ended.success());
    assert!(ended.describe().contains('3'), "{}", ended.describe());
    let error = run_well(&mut shell("exit 3"), None).unwrap_err();
    assert!(error.to_string().contains("sh -c"), "{error}");
}

#[test]
fn the_memory_of_a_child_is_what_it_took_at_the_most() {
    let script = "x=$(head -c 50000000 /dev/zero | tr '\\0' x); sleep 0.2; x=; sleep 0.2";
    let (ended, peak) = run_weighed(&mut shell(script), None).unwrap();
    assert!(ended.success());
    assert!((48_000..1_000_000).contains(&peak.unwrap()), "{peak:?} KiB");
}

#[test]
fn the_deadline_ends_a_child_and_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grandchild");
    let script = format!("sleep 60 & echo $! >{}; wait", file.display());
    let deadline = Deadline::after(Duration::from_millis(500));
    let ended = run(&mut shell(&script), Some(deadline)).unwrap();
    assert!(ended.status.is_none());
    assert!(ended.elapsed < Duration::from_secs(20), "{:?}", ended.elapsed);
    let grandchild = std::fs::read_to_string(file).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", grandchild.trim()));
    // Gone, or dead and not yet reaped by whoever adopted it.
    assert!(state.as_ref().map_or(true, |state| state.contains(") Z ")), "{state:?}");
}

#[test]
fn lines_of_both_streams_arrive() {
    let mut seen = Vec::new();
    let ended = run_lines(&mut shell("echo out; echo err >&2; printf last"), None, |text| {
        seen.push(text.to_owned());
    });
    assert!(ended.unwrap().success());
    seen.sort();
    assert_eq!(seen, ["err", "last", "out"]);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = run(&mut Command::new("no-such-program-of-trimbench"), None).unwrap_err();
    assert!(error.to_string().contains("no-such-program-of-trimbench"), "{error}");
}

#[test]
fn a_signal_is_sent_when_it_is_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ready");
    let script =
        format!("trap 'exit 7' INT; touch {}; while :; do sleep 0.01; done", file.display());
    let ended = run_signalled(&mut shell(&script), None, Signal::INT, || file.exists()).unwrap();
    assert_eq!(ended.status.and_then(|status| status.code()), Some(7));
    let ended = run_signalled(&mut shell("sleep 60"), None, Signal::KILL, || true).unwrap();
    assert!(ended.status.is_some_and(|status| status.code().is_none()), "{ended:?}");
}

#[test]
fn a_child_that_ends_before_its_signal_is_an_error() {
    let error = run_signalled(&mut shell("exit 0"), None, Signal::INT, || false).unwrap_err();
    assert!(error.to_string().contains("before it could be sent a signal"), "{error}");
}
