//! `PostMark`: in a real directory, as 1.51 printed it, and old lines read again.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use tempfile::tempdir;
use tests::{LoopFilesystem, requires};
use trimbench_results::{Outcome, RunRecord};

use super::directories::{entries, needs};
use super::interrupts::{signal, wait_for_steps};
use super::{code, command, record, stderr, stdout, trimbench};

/// A few files in subdirectories; few enough that the page cache may have them all.
const FEW: [&str; 14] = [
    "--set",
    "number=50",
    "--set",
    "transactions=100",
    "--set",
    "size-high=9000B",
    "--set",
    "subdirectories=3",
    "--set",
    "repetitions=2",
    "--set",
    "size-low=0B",
    "--set",
    "data=random",
];

fn run(more: &[&str]) -> (tempfile::TempDir, std::process::Output) {
    // In memory: on a disk the session waits for the discards of everybody there.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let begin = ["run", "postmark", "--target", "data", "--output", "run"];
    let output = trimbench(folder.path(), &[&begin, &FEW[..], more].concat());
    (folder, output)
}

#[test]
fn a_directory_is_measured_and_nothing_is_left_behind() {
    let (folder, output) = run(&[]);
    // What the page cache had swallowed makes the run invalid.
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    let record: RunRecord = record(folder.path(), "run");
    let session = &record.sessions[0];
    assert_eq!(session.steps.len(), 2);
    assert!(session.finished);
    let step = &session.steps[1];
    let metric = |key: &str| step.metrics[key];
    assert!((metric("read_count") + metric("appended_count") - 100.0).abs() < 1e-9);
    let deleted = metric("deleted_in_transactions_count") + metric("deleted_alone_count");
    assert!((metric("created_count") - deleted).abs() < 1e-9);
    let phases = metric("creation_s") + metric("transactions_s") + metric("deletion_s");
    assert!((metric("total_s") / phases - 1.0).abs() < 1e-6);
    let text = stdout(&output);
    for name in ["Total_duration", "Deletion_alone/s", "Write_B/s", "sync after the end"] {
        assert!(text.contains(name), "no {name} in {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("data")).unwrap().count(), 0);

    let terse = trimbench(folder.path(), &["report", "run", "--compat", "1.51"]);
    let text = stdout(&terse);
    assert_eq!(text.lines().count(), 2, "{text}");
    let fields = text.lines().map(|line| line.split(' ').count());
    assert!(fields.eq([13, 13]), "{text}");
}

/// A long run in `target`, once its first repetition is kept and the next one is under way.
fn long_run(folder: &Path, target: &str) -> std::process::Child {
    let mut arguments = vec!["run", "postmark", "--target", target, "--output", "run"];
    for set in ["repetitions=100", "number=2000", "transactions=20000", "subdirectories=3"] {
        arguments.extend(["--set", set]);
    }
    let mut command = command(folder, &arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_steps(folder, "run", 1, &mut child);
    let target = Path::new(target);
    let begun = || entries(target).iter().any(|name| target.join(name).join("s0").is_dir());
    super::interrupts::wait_until(&mut child, begun);
    child
}

#[test]
fn ctrl_c_leaves_nothing_behind_and_a_killed_run_is_cleaned_up_at_the_next_start() {
    let test =
        "postmark::ctrl_c_leaves_nothing_behind_and_a_killed_run_is_cleaned_up_at_the_next_start";
    if !requires(test, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let image = LoopFilesystem::new("ext4", 256, "discard");
    let target = image.path().to_str().unwrap();
    std::fs::write(image.path().join("precious"), "data").unwrap();
    let folder = tempdir().unwrap();
    let child = long_run(folder.path(), target);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert_eq!(entries(image.path()), ["precious"]);
    let kept = record(folder.path(), "run");
    assert_eq!(kept.outcome, Outcome::Interrupted);
    assert!((1..100).contains(&kept.sessions[0].steps.len()));

    let folder = tempdir().unwrap();
    let child = long_run(folder.path(), target);
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    assert_eq!(entries(image.path()).len(), 2, "a killed run leaves its directory");
    let next = ["run", "postmark", "--target", target, "--output", "next"];
    let output = trimbench(folder.path(), &[&next[..], &FEW[..]].concat());
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    assert!(stderr(&output).contains("crashed run"), "{}", stderr(&output));
    assert_eq!(entries(image.path()), ["precious"]);
}

#[test]
fn a_filesystem_that_others_fill_meanwhile_ends_the_run_with_what_there_is() {
    let test = "postmark::a_filesystem_that_others_fill_meanwhile_ends_the_run_with_what_there_is";
    if !requires(test, &needs("mkfs.ext4", "ext4")) {
        return;
    }
    let image = LoopFilesystem::new("ext4", 256, "discard");
    let folder = tempdir().unwrap();
    let mut child = long_run(folder.path(), image.path().to_str().unwrap());
    let mut filler = std::fs::File::create(image.path().join("precious")).unwrap();
    let data = vec![1; 1 << 20];
    while child.try_wait().unwrap().is_none() {
        // An error here: there is nothing left to take, until the run frees some.
        let _ = filler.write_all(&data);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    for part in ["`repetition-", " of file ", "ENOSPC", "`trimbench run --resume "] {
        assert!(stderr(&output).contains(part), "no {part} in {}", stderr(&output));
    }
    assert_eq!(entries(image.path()), ["precious"], "the directory is gone");
    let kept = &record(folder.path(), "run").sessions[0];
    assert!((1..100).contains(&kept.steps.len()) && !kept.finished);
}

#[test]
fn what_cannot_be_done_is_refused_before_it_starts() {
    for (set, expected) in [
        ("bias-read=11", "give -1 to 10"),
        ("bias-create=-2", "give -1 to 10"),
        ("size-low=9001B", "is out of range"),
        ("write-block=0B", "is out of range"),
        ("buffering=yes", "is not one of true, false"),
        ("number=0", "give 1 to 1000000"),
    ] {
        let folder = tempdir().unwrap();
        let begin = ["run", "postmark", "--target", ".", "--set", "size-high=9000B", "--set", set];
        let output = trimbench(folder.path(), &begin);
        assert_eq!(code(&output), Some(2), "{set}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{set}: {}", stderr(&output));
    }
    let (folder, output) = run(&["--dry-run"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    // A million files of 60 MB fit nowhere.
    let huge = ["number=1000000", "size-low=60000000B", "size-high=64MiB", "transactions=0"];
    let with: Vec<&str> = huge.iter().flat_map(|set| ["--set", set]).collect();
    let begin = ["run", "postmark", "--target", "data"];
    let output = trimbench(folder.path(), &[&begin, &with[..]].concat());
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("its files grow to"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(folder.path().join("data")).unwrap().count(), 0);
}

#[test]
fn an_old_line_is_read_and_its_deletion_rate_made_true() {
    let folder = tempdir().unwrap();
    // vendor2 with discard and buffering, as published.
    let line = "2628.50 2479.90 20.16 28.45 981.15 9.99 10.07 10.09 28.45 971.77 10.18 1047732.08 \
                3278791.40";
    std::fs::write(folder.path().join("old.txt"), format!("# vendor2\n\n{line}\n")).unwrap();
    let import = ["import", "postmark", "old.txt", "--number", "50000"];
    let output = trimbench(folder.path(), &import);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let row = text.lines().find(|line| line.contains("Deletion_alone/s  ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>()[1..], ["971.77", "507.19"], "{text}");
    assert!(text.contains("97.6 s"), "{text}");
    let json = trimbench(folder.path(), &[&import[..], &["--output-format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(json[0]["old_formula"], true);
    assert_eq!(json[0]["line"], 3);

    std::fs::write(folder.path().join("bad.txt"), "1 2 3\n").unwrap();
    let output = trimbench(folder.path(), &["import", "postmark", "bad.txt"]);
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("line 1 of `bad.txt`"), "{}", stderr(&output));
}
