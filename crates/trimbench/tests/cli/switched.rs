//! `ab` on real filesystems: whatever ends a run, the mount is as it was; and commands of the
//! user's. On loop devices over images of their own.

use std::path::Path;
use std::process::{Child, Stdio};

use tempfile::tempdir;
use tests::{LoopFilesystem, requires};
use trimbench_claim::mounts::mount_of;

use super::directories::{entries, needs};
use super::{code, command, stderr, stdout, trimbench};

/// The arguments of a small run in `target`.
fn small<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "ab", "--target", target, "--output", "run"];
    for set in ["deletes=16MiB", "files=2", "span=16MiB", "window=200ms", "rest=10ms", "lead=10ms"]
    {
        arguments.extend(["--set", set]);
    }
    arguments.extend(more);
    arguments
}

/// An ext4 whose other options a careless remount would change.
fn ext4(test: &str) -> Option<LoopFilesystem> {
    let requires = requires(test, &needs("mkfs.ext4", "ext4"));
    requires.then(|| LoopFilesystem::new("ext4", 512, "nodiscard,lazytime,noatime,commit=17"))
}

fn options(path: &Path) -> String {
    mount_of(path).unwrap().options
}

/// Starts a run and waits until an arm was visited.
fn start(folder: &Path, target: &str) -> Child {
    let mut command = command(folder, &small(target, &["--switch-mount"]));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    super::interrupts::wait_for_steps(folder, "run", 1, &mut child);
    child
}

/// Starts a run and kills it while `discard` is in force.
fn kill_switched(image: &LoopFilesystem) {
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), image.path().to_str().unwrap());
    super::interrupts::wait_until(&mut child, || {
        options(image.path()).split(',').any(|option| option == "discard")
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Starts a run, and ends it as a user does.
fn stop(image: &LoopFilesystem) {
    let folder = tempdir().unwrap();
    let mut child = start(folder.path(), image.path().to_str().unwrap());
    super::interrupts::signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_mount_is_not_switched_without_agreement_nor_where_that_changes_nothing() {
    let test = "switched::a_mount_is_not_switched_without_agreement_nor_where_that_changes_nothing";
    let Some(image) = ext4(test) else { return };
    let (folder, target) = (tempdir().unwrap(), image.path().to_str().unwrap());
    let output = trimbench(folder.path(), &small(target, &[]));
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("`--switch-mount`"), "{}", stderr(&output));
    if requires(test, &needs("mkfs.xfs", "xfs")) {
        let xfs = LoopFilesystem::new("xfs", 512, "nodiscard");
        let target = xfs.path().to_str().unwrap();
        let output = trimbench(folder.path(), &small(target, &["--switch-mount"]));
        assert_eq!(code(&output), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("changes nothing"), "{}", stderr(&output));
    }
}

#[test]
fn a_run_that_is_stopped_or_killed_leaves_the_mount_as_it_was() {
    let test = "switched::a_run_that_is_stopped_or_killed_leaves_the_mount_as_it_was";
    let Some(image) = ext4(test) else { return };
    let before = options(image.path());
    assert!(before.contains("lazytime"), "{before}");
    stop(&image);
    assert_eq!(options(image.path()), before);
    assert_eq!(entries(image.path()), Vec::<String>::new());

    kill_switched(&image);
    assert_ne!(options(image.path()), before);
    let restored = trimbench(tempdir().unwrap().path(), &["restore"]);
    assert_eq!(code(&restored), Some(0), "{}", stderr(&restored));
    let said = stdout(&restored);
    assert!(said.contains("is mounted with `nodiscard` again"), "{said}");
    assert_eq!(options(image.path()), before);

    // The next run knows what the mount was before the first.
    kill_switched(&image);
    stop(&image);
    assert_eq!(options(image.path()), before);
    assert_eq!(entries(image.path()), Vec::<String>::new());
}

#[test]
fn a_command_that_fails_hangs_or_was_not_given_ends_the_run() {
    let test = "switched::a_command_that_fails_hangs_or_was_not_given_ends_the_run";
    let Some(image) = ext4(test) else { return };
    let (target, before) = (image.path().to_str().unwrap(), options(image.path()));
    let folder = tempdir().unwrap();
    let run = |more: &[&str]| {
        let _ = std::fs::remove_dir_all(folder.path().join("run"));
        let output = trimbench(folder.path(), &small(target, more));
        assert_eq!(options(image.path()), before);
        output
    };
    let failing = ["--switch-mount", "--command", "echo no such table >&2; exit 3"];
    let output = run(&failing);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("exit code 3: no such table"), "{}", stderr(&output));

    // Its child, too, is ended with it.
    let mark = image.path().join("pid");
    let line = format!("sleep 1000 & echo $! > {}; wait", mark.display());
    let hanging = ["--switch-mount", "--command", &line, "--set", "command-limit=1s"];
    let output = run(&hanging);
    assert!(stderr(&output).contains("did not end within 1s"), "{}", stderr(&output));
    let child = std::fs::read_to_string(&mark).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    let is_gone = status.map_or(true, |status| status.contains(") Z "));
    assert!(is_gone, "`sleep` lives on");

    let output = run(&["--switch-mount", "--set", "command=touch ran"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`--command 'touch ran'`"), "{}", stderr(&output));
    assert!(!image.path().join("ran").exists());
}
