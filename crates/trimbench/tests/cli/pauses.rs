//! Pauses of the program itself are no latency of the target: what was measured beside them is
//! invalid. On image files and directories that these tests make.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tests::{ControlGroup, Need, requires};
use trimbench_results::{RunRecord, Session};

use super::interrupts::{signal, wait_for_steps};
use super::{code, command, record, stderr};

/// How long the program is stopped, how often, and the time between: one stop may fall between two
/// steps.
const STOP: Duration = Duration::from_millis(400);
const STOPS: usize = 3;
const BETWEEN: Duration = Duration::from_millis(150);

/// Methods whose later steps take a second at least.
const UNDER_LOAD: (&str, &[&str]) = (
    "latency-under-load",
    &[
        "span=32MiB",
        "rates=25%,50%,75%",
        "warm-up=0",
        "rate-time=500ms",
        "round-share=100%",
        "trim-rate=0",
    ],
);
const SWEEP: (&str, &[&str]) =
    ("trim-sweep", &["sizes=4KiB,1MiB", "reference=1MiB", "commands=500", "load-span=8MiB"]);
const FILES: (&str, &[&str]) =
    ("postmark", &["number=1000", "transactions=50000", "repetitions=3", "size-high=8KiB"]);
const INTEGRITY: (&str, &[&str]) = ("trim-integrity", &["region=4MiB"]);

/// What is measured: a folder with an image and a directory in it.
fn place() -> (TempDir, String, String) {
    let folder = tests::scratch();
    let path = folder.path().canonicalize().unwrap();
    File::create(path.join("image")).unwrap().set_len(64 << 20).unwrap();
    std::fs::create_dir(path.join("data")).unwrap();
    let name = |last: &str| path.join(last).to_str().unwrap().to_owned();
    let (image, data) = (name("image"), name("data"));
    (folder, image, data)
}

/// Starts a run on this target, which it may destroy.
fn start(folder: &Path, (method, set): (&str, &[&str]), target: &str) -> Child {
    let set: Vec<&str> = set.iter().flat_map(|setting| ["--set", setting]).collect();
    let run = ["run", method, "--target", target, "--output", "run"];
    let is_image = Path::new(target).is_file();
    let consent: &[&str] = if is_image { &["--destroy", target] } else { &[] };
    let mut command = command(folder, &[&run[..], consent, &set].concat());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Stops the run some times once it has measured a step, and lets it end.
#[expect(clippy::disallowed_methods, reason = "a process is stopped for a known time")]
fn run_with_a_stop(folder: &Path, method: (&str, &[&str]), target: &str) -> (Output, RunRecord) {
    let mut child = start(folder, method, target);
    wait_for_steps(folder, "run", 1, &mut child);
    for _ in 0..STOPS {
        std::thread::sleep(BETWEEN);
        signal(&child, "-STOP");
        std::thread::sleep(STOP);
        signal(&child, "-CONT");
    }
    let output = child.wait_with_output().unwrap();
    let record = record(folder, "run");
    (output, record)
}

/// The longest pause that a step tells of, in seconds.
fn longest_pause(session: &Session) -> f64 {
    let paused = session.steps.iter().filter(|step| step.caveats.iter().any(|id| id == "paused"));
    paused.map(|step| step.metrics["own_pause_s_max"]).fold(0.0, f64::max)
}

/// Fails unless the run says that it was paused, and none of its figures is believed.
fn assert_invalid(output: &Output, record: &RunRecord) {
    let session = &record.sessions[0];
    assert_eq!(code(output), Some(4), "{}", stderr(output));
    assert!(session.finished && !session.figures.is_empty());
    assert!(session.caveats.iter().any(|id| id == "paused"), "{:?}", session.caveats);
    assert!(!session.figures.iter().any(|figure| session.believes(figure)));
}

#[test]
fn a_program_that_was_stopped_believes_none_of_its_figures() {
    for method in [UNDER_LOAD, SWEEP, FILES] {
        let (folder, image, data) = place();
        let target = if method == FILES { data } else { image };
        let (output, record) = run_with_a_stop(folder.path(), method, &target);
        assert_invalid(&output, &record);
        let longest = longest_pause(&record.sessions[0]);
        assert!((0.3..30.0).contains(&longest), "{}: {longest} s", method.0);
    }
}

#[test]
fn a_stop_does_not_change_what_blocks_hold() {
    let (folder, image, _) = place();
    let (output, record) = run_with_a_stop(folder.path(), INTEGRITY, &image);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(record.sessions[0].finished && record.is_valid());
}

#[test]
fn a_quota_of_processor_time_is_no_latency_of_the_drive() {
    let test = "pauses::a_quota_of_processor_time_is_no_latency_of_the_drive";
    if !requires(test, &[Need::Root, Need::ProcessorQuota]) {
        return;
    }
    let (folder, image, _) = place();
    let quota = ControlGroup::of_processor(20).unwrap();
    let child = start(folder.path(), UNDER_LOAD, &image);
    quota.hold(child.id()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_invalid(&output, &record(folder.path(), "run"));
}
