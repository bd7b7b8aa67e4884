//! Nothing is destroyed that was not named: the rows of `obstacles::ATTEMPTS` through the command
//! line. The library is held against the same rows in `tests/safety.rs`.

use std::process::Output;

use tempfile::tempdir;
use tests::Need::{Loop, Root};
use tests::obstacles::{ATTEMPTS, Scene};
use tests::{missing, requires};

use super::{code, command, stderr};

/// Few enough bytes for images of 8 MiB and partitions of 2 MiB.
const RUN: [&str; 10] = [
    "run",
    "trim-integrity",
    "--set",
    "region=1MiB",
    "--set",
    "guard=64KiB",
    "--set",
    "cases=shares",
    "--set",
    "shares=50%",
];
/// Never attempted by a program that would write if it were let through.
const NEVER_RUN: &str = "root_disk";

fn attempt(scene: &Scene) -> Output {
    let folder = tempdir().unwrap();
    let mut command = command(folder.path(), &RUN);
    command.args(["--output", "run", "--target"]).arg(&scene.target);
    for path in &scene.destroy {
        command.arg("--destroy").arg(path);
    }
    // Without a name for what is to be destroyed, no signature can be confirmed either.
    if !scene.destroy.is_empty() {
        for signature in &scene.signatures {
            command.args(["--overwrite-signature", signature]);
        }
        command.args(scene.sole_user.then_some("--sole-user"));
    }
    command.output().unwrap()
}

/// What is wrong with how a row was answered, and then without its obstacle; `None` if nothing is.
fn fault_of(scene: &mut Scene) -> Option<String> {
    let before = scene.checksums();
    let refused = attempt(scene);
    let errors = stderr(&refused);
    if code(&refused) != Some(3) || !errors.lines().any(|line| line.starts_with("error: ")) {
        return Some(format!("ended with {:?}: {errors}", code(&refused)));
    }
    if scene.checksums() != before {
        return Some("content changed".to_owned());
    }
    if !scene.lift() {
        return None;
    }
    let before = scene.checksums();
    let through = attempt(scene);
    // A program that waited for a processor says so, and ends as an invalid run.
    if !matches!(code(&through), Some(0 | 4)) {
        return Some(format!("still refused without its obstacle: {}", stderr(&through)));
    }
    (scene.checksums() == before).then(|| "a write went nowhere".to_owned())
}

#[test]
fn each_attempt_is_refused_with_a_reason_and_goes_through_without_its_obstacle() {
    let (mut attempted, mut faults) = (0, Vec::new());
    for row in ATTEMPTS.iter().filter(|row| row.name != NEVER_RUN) {
        if !requires(row.name, row.needs) {
            continue;
        }
        let mut scene = row.scene();
        // What happens between looking and claiming cannot be timed from outside of the program.
        if scene.meanwhile.is_some() {
            continue;
        }
        attempted += 1;
        faults.extend(fault_of(&mut scene).map(|fault| format!("{}: {fault}", row.name)));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(attempted >= 15 || missing(&[Root, Loop]).is_some(), "{attempted} attempts");
}
