//! Other load on a real target: the run waits, then ends with the reason, or goes on and believes
//! nothing. On filesystems on loop devices of these tests.

use std::path::Path;
use std::process::Output;

use tempfile::{tempdir, tempdir_in};
use tests::writer::OtherWriter;
use tests::{LoopFilesystem, requires};

use super::directories::needs;
use super::{code, looking, record, stderr, stdout};

/// The program, which looks for other load, on a few small deletions.
fn run(folder: &Path, target: &str, more: &[&str]) -> Output {
    let mut arguments =
        vec!["run", "delete-stall", "--no-report", "--target", target, "--output", "run"];
    for set in [
        "sizes=16MiB",
        "span=16MiB",
        "repetitions=1",
        "patience=0s",
        "window=2s",
        "rate=100",
        "probe-interval=10ms",
        "lead=100ms",
        "rest=100ms",
    ] {
        arguments.extend(["--set", set]);
    }
    arguments.extend(more);
    looking(folder, &arguments).output().expect("the program was built")
}

#[test]
fn a_target_that_others_write_to_is_not_measured_unless_that_is_no_matter() {
    const TEST: &str =
        "quiet::a_target_that_others_write_to_is_not_measured_unless_that_is_no_matter";
    if !requires(TEST, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let image = LoopFilesystem::new("ext4", 512, "discard");
    let target = image.path().to_str().unwrap();
    let folder = tempdir().unwrap();
    let _writer = OtherWriter::start(&image.path().join("of-others"), 64).unwrap();

    let refused = run(folder.path(), target, &["--quiet-wait", "6s"]);
    let said = stderr(&refused);
    assert_eq!(code(&refused), Some(3), "{said}");
    let reason = format!("were written by others to {} in 3", image.device_name());
    for part in ["waiting up to ", "the target is not quiet: ", &reason, "`--busy-ok`"] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert!(!folder.path().join("run").exists(), "nothing was measured");

    let measured = run(folder.path(), target, &["--quiet-wait", "1s", "--busy-ok"]);
    assert_eq!(code(&measured), Some(4), "{}", stderr(&measured));
    let record = record(folder.path(), "run");
    let session = &record.sessions[0];
    assert!(session.finished && session.caveats.iter().any(|id| id == "busy-target"));
    assert!(session.environment_before["quiet"].starts_with("no: "), "{session:?}");
    let answers: Vec<&str> = record.advice.iter().map(|card| card.action.as_str()).collect();
    assert_eq!(answers, ["unknown"]);
    // Each window, in which the run itself moves less than 2 MB, was not the run's either.
    let busy =
        session.steps.iter().filter(|step| step.caveats.iter().any(|id| id == "busy-target"));
    assert_eq!(busy.count(), 2, "{:?}", session.steps);
    assert!(stdout(&measured).contains("busy with something else"), "{}", stdout(&measured));
}

#[test]
fn the_dry_run_says_how_long_a_run_looks_and_waits() {
    let folder = tempdir_in("/var/tmp").unwrap();
    let target = folder.path().to_str().unwrap();
    let line = |label: &str, more: &[&str]| {
        let output = run(folder.path(), target, &[&["--dry-run"], more].concat());
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        line.unwrap_or_else(|| panic!("no {label} in {text}")).trim().to_owned()
    };
    let looks = "looks for other load for 3 s, waits up to";
    assert!(line("quiet", &[]).ends_with(&format!("{looks} 60 s for quiet")));
    let busy = line("quiet", &["--quiet-wait", "10min", "--busy-ok"]);
    let expected = format!("{looks} 10 min for quiet, and measures all the same (`--busy-ok`)");
    assert!(busy.ends_with(&expected), "{busy}");
    let not = line("quiet", &["--quiet-wait", "0s"]);
    assert!(not.ends_with("does not look for other load (`--quiet-wait 0s`)"), "{not}");
    let wrong = run(folder.path(), target, &["--quiet-wait", "60"]);
    assert_eq!(code(&wrong), Some(2), "{}", stderr(&wrong));
}

#[test]
fn the_dry_run_counts_how_long_deletions_wait_for_their_discards() {
    const TEST: &str = "quiet::the_dry_run_counts_how_long_deletions_wait_for_their_discards";
    if !requires(TEST, &needs("mkfs.btrfs", "btrfs")) {
        return;
    }
    let image = LoopFilesystem::new("btrfs", 512, "discard=async");
    let folder = tempdir().unwrap();
    let output = run(folder.path(), image.path().to_str().unwrap(), &["--dry-run"]);
    let text = stdout(&output);
    // A deletion and a placebo: windows of 182 s in place of 2 s, and 2 s without discards
    // before and after.
    let waits = "waits up to 4 min after each of 2 deletions until they are over (btrfs mounted \
                 with `discard=async`), 7 min together, in the time above; where others keep \
                 discarding, up to 60 min each";
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(waits), "{text}");
    assert!(flat.contains("time about 7 min of wall time"), "{text}");
}
