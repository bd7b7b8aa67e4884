//! Real files: nothing is left behind, whatever ends the run, and filesystems that cannot be
//! measured are refused with the reason. On loop devices over images of their own.

use std::path::Path;
use std::process::{Child, Output, Stdio};

use tempfile::tempdir;
use tests::{LoopFilesystem, Need, requires};
use trimbench_results::{RunRecord, Step};

use super::{code, command, record, stderr, stdout, trimbench};

/// What these tests need of the machine.
pub(crate) fn needs(program: &'static str, filesystem: &'static str) -> [Need; 4] {
    [Need::Root, Need::Loop, Need::Program(program), Need::Filesystem(filesystem)]
}

/// The arguments of a run of a few trials in `target`.
fn few<'a>(target: &'a str, sizes: &'a str, run: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["run", "delete-stall", "--target", target, "--output", run];
    for set in [sizes, "span=16MiB", "repetitions=1", "patience=0s", "lead=100ms", "rest=100ms"] {
        arguments.extend(["--set", set]);
    }
    arguments
}

/// The record of a run that went through. On a busy machine the program waits for a processor and
/// does not keep its schedule, which makes a run invalid: that is said with code 4, and no matter
/// here.
fn went_through(output: &Output, folder: &Path, run: &str) -> RunRecord {
    let record = record(folder, run);
    let late = |id: &String| id == "late-schedule" || id == "paused";
    let busy = record.sessions[0].steps.iter().any(|step| step.caveats.iter().any(late));
    let expected = if busy { 4 } else { 0 };
    assert_eq!(code(output), Some(expected), "{}\n{}", stderr(output), stdout(output));
    record
}

pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|n| n != "lost+found").collect()
}

#[test]
fn discards_arrive_within_the_window_and_nothing_is_left_behind() {
    for (filesystem, program, options) in [
        ("ext4", "mkfs.ext4", "discard"),
        ("xfs", "mkfs.xfs", "discard"),
        ("btrfs", "mkfs.btrfs", "discard=sync"),
    ] {
        let test = "directories::discards_arrive_within_the_window_and_nothing_is_left_behind";
        if !requires(test, &needs(program, filesystem)) {
            continue;
        }
        let image = LoopFilesystem::new(filesystem, 1_024, options);
        let folder = tempdir().unwrap();
        let target = image.path().to_str().unwrap();
        let output = trimbench(folder.path(), &few(target, "sizes=64MiB", "run"));
        let record = went_through(&output, folder.path(), "run");
        let session = &record.sessions[0];
        let deleted = session.steps.iter().filter(|step| step.kind == "delete");
        for step in deleted {
            let (freed, arrived) =
                (step.parameters["size_bytes"], step.metrics["discarded_bytes_window"]);
            assert!(arrived >= freed, "{filesystem}: {arrived} of {freed} in {}", step.id);
        }
        assert!(session.caveats.iter().any(|id| id == "not-a-physical-ssd"), "it is a loop device");
        assert!(stdout(&output).contains("the device is virtual"), "{}", stdout(&output));
        assert_eq!(entries(image.path()), Vec::<String>::new(), "{filesystem}");
    }
}

/// Starts a run in `target` and waits until its first step is kept.
fn start(folder: &Path, target: &str) -> Child {
    let mut command = command(folder, &few(target, "sizes=32MiB,48MiB,64MiB", "run"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    super::interrupts::wait_for_steps(folder, "run", 1, &mut child);
    child
}

#[test]
fn an_interrupted_run_cleans_up_and_a_killed_one_at_the_next_start() {
    let test = "directories::an_interrupted_run_cleans_up_and_a_killed_one_at_the_next_start";
    if !requires(test, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let image = LoopFilesystem::new("ext4", 1_024, "discard");
    let target = image.path().to_str().unwrap();
    std::fs::write(image.path().join("precious"), "data").unwrap();
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), target);
    super::interrupts::signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(entries(image.path()), ["precious"]);
    // What was measured is kept and not measured again.
    let kept = record(folder.path(), "run").sessions[0].steps.clone();
    let resumed = trimbench(folder.path(), &["run", "--resume", "run"]);
    let whole = went_through(&resumed, folder.path(), "run").sessions[0].steps.clone();
    assert_eq!(whole.len(), 6);
    for step in &kept {
        let again = whole.iter().find(|other| other.id == step.id).unwrap();
        let sum = |step: &Step| step.metrics["probe_latency_s_sum"].to_bits();
        assert_eq!(sum(step), sum(again), "{} was not measured again", step.id);
    }

    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), target);
    super::interrupts::signal(&child, "-KILL");
    child.wait().unwrap();
    assert_eq!(entries(image.path()).len(), 2, "a killed run leaves its directory");
    let output = trimbench(folder.path(), &few(target, "sizes=16MiB", "next"));
    went_through(&output, folder.path(), "next");
    assert!(stderr(&output).contains("crashed run"), "{}", stderr(&output));
    assert_eq!(entries(image.path()), ["precious"]);
}

#[test]
fn a_resume_on_another_filesystem_is_refused() {
    let test = "directories::a_resume_on_another_filesystem_is_refused";
    if !requires(test, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let image = LoopFilesystem::new("ext4", 1_024, "discard");
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), image.path().to_str().unwrap());
    super::interrupts::signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let kept = record(folder.path(), "run");
    // The same place, on the filesystem below.
    tests::run("umount", &[image.path().to_str().unwrap()]);
    let output = trimbench(folder.path(), &["run", "--resume", "run"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("is not the one"), "{}", stderr(&output));
    assert_eq!(record(folder.path(), "run").sessions, kept.sessions, "nothing is lost");
    assert_eq!(entries(image.path()), Vec::<String>::new());
}

#[test]
fn filesystems_that_cannot_be_measured_are_refused_with_the_reason() {
    let test = "directories::filesystems_that_cannot_be_measured_are_refused_with_the_reason";
    if !requires(test, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let folder = tempdir().unwrap();
    let check = |options: &str, sizes: &str, expected: &[&str]| {
        let image = LoopFilesystem::new("ext4", 256, options);
        let target = image.path().to_str().unwrap();
        let output = trimbench(folder.path(), &few(target, sizes, "run"));
        assert_eq!(code(&output), Some(3), "{options}: {}", stderr(&output));
        for text in expected {
            assert!(stderr(&output).contains(text), "no `{text}` in {}", stderr(&output));
        }
        assert_eq!(entries(image.path()), Vec::<String>::new());
        assert_eq!(entries(folder.path()), Vec::<String>::new(), "an empty run leaves nothing");
    };
    check("nodiscard", "sizes=16MiB", &["send no discards", "-o discard", "mode=trim"]);
    check("discard", "sizes=1GiB", &["it needs", "a reserve of the filesystem is never used"]);
    check("discard,ro", "sizes=16MiB", &["read-only"]);
}

#[test]
fn fstrim_is_measured_where_deletions_send_no_discards() {
    let test = "directories::fstrim_is_measured_where_deletions_send_no_discards";
    if !requires(test, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let image = LoopFilesystem::new("ext4", 1_024, "nodiscard");
    let folder = tempdir().unwrap();
    let target = image.path().to_str().unwrap();
    let mut arguments = few(target, "sizes=64MiB", "run");
    arguments.extend(["--set", "mode=trim"]);
    let output = trimbench(folder.path(), &arguments);
    let record = went_through(&output, folder.path(), "run");
    let deleted = record.sessions[0].steps.iter().filter(|step| step.kind == "delete");
    for step in deleted {
        assert!(step.metrics["discarded_bytes_window"] >= step.parameters["size_bytes"]);
    }
}
