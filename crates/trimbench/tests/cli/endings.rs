//! However a run ends, its record can be read, and it resumes or says why it cannot: every method
//! that works on whole devices, with each ending.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::tempdir;
use tests::Need::{Loop, Root};
use tests::{LoopDevice, Mounted, requires, run};
use trimbench_core::Caveat;
use trimbench_results::{Outcome, RunRecord, Step};

use super::interrupts::signal;
use super::{code, command, record, stderr, stdout, trimbench};

/// A method with options that give something to interrupt, and the virtual time at which a planted
/// fault finds some steps done and others not.
const METHODS: [(&str, &[&str], &str); 6] = [
    ("delete-stall", &["sizes=64MiB,128MiB", "span=256MiB", "repetitions=20"], "60s"),
    ("trim-sweep", &["commands=2000"], "5s"),
    ("idle-trim", &["repetitions=10", "chunk-repetitions=10"], "10s"),
    ("recovery", &[], "5s"),
    ("steady-state", &["round-share=100%"], "4s"),
    ("trim-integrity", &[], "500ms"),
];
/// Of those that are interrupted on a loop device, one keeps rows, one keeps cases, and one starts
/// anew.
const ON_LOOP: [(&str, &[&str]); 3] = [
    (
        "trim-sweep",
        &[
            "sizes=4KiB,64KiB,1MiB",
            "reference=1MiB",
            "commands=40",
            "row-bytes-max=40MiB",
            "rest=50ms",
            "load-time=200ms",
            "load-span=32MiB",
        ],
    ),
    ("trim-integrity", &["region=8MiB", "guard=64KiB"]),
    ("steady-state", &["precondition=100%", "round-share=5%"]),
];
const DRIVE: &str = "sim:generic-nvme-tlc,capacity=4GiB";
/// Steps that are done before a signal is sent.
const STEPS_BEFORE: usize = 2;
const SIGNALS: [&str; 2] = ["-INT", "-KILL"];

/// A run of a method that keeps its record in `run`.
fn begin(folder: &Path, run: &str, method: &str, (target, options): (&str, &[&str])) -> Command {
    let mut command = command(folder, &["run", method, "--target", target, "--output", run]);
    command.args(options.iter().flat_map(|option| ["--set", option]));
    command
}

/// Runs, and sends it a signal as soon as some steps are done; its exit code.
fn signalled(command: &mut Command, kind: &str) -> Option<i32> {
    command.args(["--output-format", "ndjson"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The record of an emulated drive has them when the session ends.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let steps = lines.by_ref().filter(|line| line.contains("\"event\":\"step\""));
    assert_eq!(steps.take(STEPS_BEFORE).count(), STEPS_BEFORE, "it ended before");
    signal(&child, kind);
    // What nobody reads would keep it from ending.
    lines.for_each(drop);
    child.wait().unwrap().code()
}

/// An error that ends the run, in the line that says so.
fn failed_with(output: &Output, errors: &[&str]) {
    let said = stderr(output);
    assert_eq!(code(output), Some(3), "{said}");
    let line = said.lines().find(|line| line.starts_with("error: "));
    let line = line.unwrap_or_else(|| panic!("no reason: {said}"));
    assert!(errors.iter().any(|error| line.contains(error)), "{line}");
}

/// The record of a run that ended early, which is printed without complaint.
fn reported(folder: &Path, run: &str, method: &str) -> RunRecord {
    let report = trimbench(folder, &["report", run]);
    assert_eq!(code(&report), Some(4), "{}", stderr(&report));
    assert!(stdout(&report).contains(method), "{}", stdout(&report));
    record(folder, run)
}

fn resume(folder: &Path, run: &str, more: &[&str]) -> Output {
    trimbench(folder, &[&["run", "--resume", run], more].concat())
}

/// A run that was resumed to its end.
fn completed(output: &Output, folder: &Path, run: &str) -> RunRecord {
    let whole = record(folder, run);
    let paused = whole.sessions.iter().any(|session| session.has_caveat(Caveat::Paused));
    assert_eq!(code(output), Some(if paused { 4 } else { 0 }), "{run}: {}", stderr(output));
    assert_eq!(whole.outcome, Outcome::Complete, "{run}");
    assert!(!whole.sessions.is_empty() && whole.sessions.iter().all(|it| it.finished), "{run}");
    whole
}

fn steps(record: &RunRecord) -> Vec<&Step> {
    record.sessions.iter().flat_map(|session| &session.steps).collect()
}

#[test]
fn a_fault_that_ended_a_run_ends_it_again_when_it_is_resumed() {
    let folder = tempdir().unwrap();
    for (method, _, at) in METHODS {
        for (fault, error) in [("eio-from", "EIO"), ("vanish-from", "ENODEV")] {
            let run = format!("{method}-{error}");
            let target = format!("{DRIVE},{fault}={at}");
            let output = begin(folder.path(), &run, method, (&target, &[])).output().unwrap();
            failed_with(&output, &[error]);
            let kept = reported(folder.path(), &run, method);
            let Outcome::Failed { message } = &kept.outcome else { panic!("{:?}", kept.outcome) };
            assert!(message.contains(error) && !steps(&kept).is_empty(), "{run}: {message}");
            failed_with(&resume(folder.path(), &run, &[]), &[error]);
        }
    }
}

#[test]
fn whichever_signal_ended_a_run_it_resumes_to_the_same_bytes() {
    let folder = tempdir().unwrap();
    for (method, options, _) in METHODS {
        let bytes = SIGNALS.map(|kind| {
            let run = format!("{method}{kind}");
            let mut command = begin(folder.path(), &run, method, (DRIVE, options));
            let ended = signalled(&mut command, kind);
            let kept = reported(folder.path(), &run, method);
            // SIGKILL leaves no time to write an outcome, and the session begins anew.
            if kind == "-INT" {
                assert_eq!((ended, &kept.outcome), (Some(130), &Outcome::Interrupted), "{run}");
                assert!(steps(&kept).len() >= STEPS_BEFORE, "{run}");
            } else {
                assert_eq!((ended, &kept.outcome), (None, &Outcome::Running), "{run}");
            }
            completed(&resume(folder.path(), &run, &[]), folder.path(), &run);
            std::fs::read(folder.path().join(&run).join("run.json")).unwrap()
        });
        assert!(bytes[0] == bytes[1], "{method}");
    }
}

#[test]
fn a_run_whose_record_has_no_room_goes_on_when_there_is_some() {
    if !requires("endings::a_run_whose_record_has_no_room_goes_on_when_there_is_some", &[Root]) {
        return;
    }
    for (method, ..) in METHODS {
        let disk = tests::scratch();
        let mounted = Mounted::memory("20k", disk.path());
        let output = begin(disk.path(), "run", method, (DRIVE, &[])).output().unwrap();
        failed_with(&output, &["ENOSPC"]);
        assert_ne!(reported(disk.path(), "run", method).outcome, Outcome::Complete, "{method}");
        run("mount", &["-o", "remount,size=64m", disk.path().to_str().unwrap()]);
        completed(&resume(disk.path(), "run", &[]), disk.path(), "run");
        drop(mounted);
    }
}

#[test]
fn a_loop_device_without_room_below_ends_every_method_clearly() {
    const TEST: &str = "endings::a_loop_device_without_room_below_ends_every_method_clearly";
    if !requires(TEST, &[Root, Loop]) {
        return;
    }
    for (method, ..) in METHODS {
        let (folder, disk) = (tempdir().unwrap(), tests::scratch());
        let _mounted = Mounted::memory("64m", disk.path());
        let device = LoopDevice::within(disk.path(), 1024);
        // More than the disk holds, whatever the method.
        let options: &[&str] =
            if method == "delete-stall" { &["sizes=64MiB", "span=128MiB"] } else { &[] };
        let mut command = begin(folder.path(), "run", method, (device.node(), options));
        let output = command.arg("--destroy").arg(device.image()).output().unwrap();
        failed_with(&output, &["ENOSPC", "EIO"]);
        // Where nothing was measured before, there is no record.
        if stderr(&output).contains("kept in ") {
            assert!(!steps(&reported(folder.path(), "run", method)).is_empty(), "{method}");
        }
    }
}

#[test]
fn an_interrupted_run_on_a_loop_device_goes_on_where_it_is_named_again() {
    const TEST: &str =
        "endings::an_interrupted_run_on_a_loop_device_goes_on_where_it_is_named_again";
    if !requires(TEST, &[Root, Loop]) {
        return;
    }
    for ((method, options), kind) in ON_LOOP.iter().flat_map(|it| SIGNALS.map(|kind| (*it, kind))) {
        let folder = tempdir().unwrap();
        let device = LoopDevice::new(512);
        let named = ["--destroy", device.image().to_str().unwrap()];
        let mut command = begin(folder.path(), "run", method, (device.node(), options));
        signalled(command.args(named), kind);
        let kept = reported(folder.path(), "run", method);
        let expected = if kind == "-INT" { Outcome::Interrupted } else { Outcome::Running };
        assert_eq!(kept.outcome, expected, "{method}");
        assert!(steps(&kept).len() >= STEPS_BEFORE, "{method}");
        failed_with(&resume(folder.path(), "run", &[]), &["destroy"]);
        let output = resume(folder.path(), "run", &named);
        let whole = completed(&output, folder.path(), "run");
        // The drive's state is the result of all that went before: a steady state starts anew.
        let again = |step: &&&Step| method != "steady-state" && !steps(&whole).contains(*step);
        assert_eq!(steps(&kept).iter().find(again), None, "{method}: measured again");
    }
}
