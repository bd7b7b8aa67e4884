//! Ctrl-C, kill -9 and resume.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::tempdir;
use trimbench_results::Outcome;

use super::{code, command, record, stderr, trimbench};
use tests::kept_record;

/// A run of a few seconds, one drive after the other: some are then always left.
const LONG: [&str; 11] = [
    "run",
    "delete-stall",
    "idle-trim",
    "trim-integrity",
    "--target",
    "sim:generic-sata-tlc",
    "--target",
    "sim:vendor2",
    "--jobs",
    "1",
    "--output",
];

/// Starts the long run into `run`.
fn start(folder: &Path, run: &str) -> Child {
    let arguments = [&LONG[..], &[run]].concat();
    let mut command = command(folder, &arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the record in `run` holds at least `sessions` sessions with a step in the last.
pub(crate) fn wait_for_steps(folder: &Path, run: &str, sessions: usize, child: &mut Child) {
    wait_until(child, || {
        let Some(record) = kept_record(&folder.join(run)) else { return false };
        let begun = record.sessions.last().is_some_and(|session| !session.steps.is_empty());
        begun && record.sessions.len() >= sessions
    });
}

/// Waits until something is there, while the run goes on.
#[expect(clippy::disallowed_methods, reason = "looking must not slow the run down")]
pub(crate) fn wait_until(child: &mut Child, is_there: impl Fn() -> bool) {
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn bytes(folder: &Path, run: &str) -> Vec<u8> {
    std::fs::read(folder.join(run).join("run.json")).unwrap()
}

#[test]
fn an_interrupted_run_is_kept_and_resumes_to_the_same_bytes() {
    let folder = tempdir().unwrap();
    let whole = trimbench(folder.path(), &[&LONG[..], &["whole"]].concat());
    assert_eq!(code(&whole), Some(0), "{}", stderr(&whole));
    for (run, kind, sessions) in [("int", "-INT", 2), ("term", "-TERM", 1), ("kill", "-KILL", 2)] {
        let mut child = start(folder.path(), run);
        wait_for_steps(folder.path(), run, sessions, &mut child);
        signal(&child, kind);
        let status = child.wait().unwrap();
        let kept = record(folder.path(), run);
        if kind == "-KILL" {
            assert_eq!(kept.outcome, Outcome::Running, "it had no time to say more");
        } else {
            assert_eq!(status.code(), Some(130), "{kind}");
            assert_eq!(kept.outcome, Outcome::Interrupted, "{kind}");
        }
        let finished = kept.sessions.iter().filter(|session| session.finished).count();
        assert!(kept.sessions.len() >= sessions && finished < kept.plan.len(), "{kind}");
        let resumed = trimbench(folder.path(), &["run", "--resume", run]);
        assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
        let equal = bytes(folder.path(), run) == bytes(folder.path(), "whole");
        assert!(equal, "{kind}: a resumed run equals an uninterrupted one");
    }
}

#[test]
fn the_report_of_an_interrupted_run_shows_what_there_is() {
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), "run");
    wait_for_steps(folder.path(), "run", 2, &mut child);
    signal(&child, "-INT");
    child.wait().unwrap();
    let report = trimbench(folder.path(), &["report", "run"]);
    let text = super::stdout(&report);
    assert!(text.contains("interrupted"), "{text}");
    assert!(text.contains("generic-sata-tlc"), "{text}");
}

#[test]
fn a_run_that_is_at_work_is_not_resumed_beside_itself() {
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), "run");
    wait_for_steps(folder.path(), "run", 1, &mut child);
    let output = trimbench(folder.path(), &["run", "--resume", "run"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("another run is in progress"), "{}", stderr(&output));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_resume_with_another_profile_is_refused() {
    let folder = tempdir().unwrap();
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/like-rc100.toml");
    let text = std::fs::read_to_string(profiles).unwrap();
    let file = folder.path().join("drive.toml");
    std::fs::write(&file, &text).unwrap();
    let arguments = ["run", "delete-stall", "--target", "sim:./drive.toml", "--output", "run"];
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(code(&trimbench(folder.path(), &["run", "--resume", "run"])), Some(0));
    std::fs::write(&file, text.replace("\"267ms\"", "\"26ms\"")).unwrap();
    let output = trimbench(folder.path(), &["run", "--resume", "run"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("has changed since"), "{}", stderr(&output));
}

#[test]
fn a_resume_by_another_version_is_refused() {
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), "run");
    wait_for_steps(folder.path(), "run", 1, &mut child);
    signal(&child, "-INT");
    child.wait().unwrap();
    let path = folder.path().join("run/run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text.find("\"commit\": \"").unwrap() + "\"commit\": \"".len();
    let other = format!("{}0000{}", &text[..at], &text[at..]);
    std::fs::write(&path, &other).unwrap();
    let output = trimbench(folder.path(), &["run", "--resume", "run"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("(commit 0000"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), other, "left as it was");
}
