//! Filesystems that are made for the run: modelled ones on emulated drives, real ones on images.

use std::path::Path;
use std::process::Stdio;

use tempfile::{TempDir, tempdir, tempdir_in};
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::{machine, requires};
use trimbench_results::Outcome;

use super::interrupts::{signal, wait_for_steps};
use super::{code, command, record, stderr, stdout, trimbench};

/// A filesystem whose page cache is small enough that files reach the drive.
const MODELLED: &str = "ext4,memory=16MiB:sim:vendor6,capacity=4GiB";
/// `PostMark` with 20 MB of files.
const POSTMARK: [&str; 6] =
    ["run", "postmark", "--set", "size-high=40000B", "--set", "number=1000"];
/// A few small deletions.
pub(crate) const DELETIONS: [&str; 16] = [
    "run",
    "delete-stall",
    "--set",
    "sizes=8MiB,16MiB",
    "--set",
    "repetitions=2",
    "--set",
    "patience=0s",
    "--set",
    "span=8MiB",
    "--set",
    "window=200ms",
    "--set",
    "lead=100ms",
    "--set",
    "rest=100ms",
];

#[test]
fn postmark_compares_both_mounts_on_a_modelled_filesystem_and_repeats_itself() {
    let folder = tempdir().unwrap();
    let hashes = ["first", "second"].map(|run| {
        let arguments = [&POSTMARK[..], &["--target", MODELLED, "--output", run]].concat();
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for title in ["BUFFERING ENABLED", "BUFFERING DISABLED", "NODISCARD", "DIFF"] {
            assert!(text.contains(title), "no {title} in {text}");
        }
        let session = record(folder.path(), run).sessions.remove(0);
        assert_eq!(session.steps.len(), 3 * 4);
        assert_eq!(session.target.kind, "filesystem");
        assert_eq!(session.target.identity["ext4-memory"], "16MiB");
        assert!(session.target.provenance.is_some());
        session.trace_hash.unwrap()
    });
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn what_does_not_go_together_is_a_usage_error_with_the_right_name() {
    let folder = tempdir().unwrap();
    for (target, said) in [
        ("ext4,memory=16MiB,erra=5.15:sim:vendor6", "did you mean `era`?"),
        ("ext4,era=5.14:sim:vendor6", "5.15"),
        ("ext4,discard=async:sim:vendor6", "`discard` is a setting of btrfs, not of ext4"),
        ("xfs,era=4.13:sim:vendor6", "`era` is a setting of ext4, not of xfs"),
        ("ext3:sim:vendor6", "did you mean `ext4`?"),
        ("f2fs,discard=async:sim:vendor6", "`discard` is a setting of btrfs, not of f2fs"),
        ("f2fs,era=4.13:sim:vendor6", "`era` is a setting of ext4, not of f2fs"),
        ("f2fs,journaling=none:sim:vendor6", "`journaling` is a setting of ext4, not of f2fs"),
        ("f2fs,journal=64MiB:sim:vendor6", "`journal` is a setting of ext4 and xfs, not of f2fs"),
        ("f2fss:sim:vendor6", "did you mean `f2fs`?"),
        ("ext4:.", "it is not a device"),
        ("ext4:sim:vendor6,capacity=128MiB", "does not fit"),
    ] {
        let arguments = [&POSTMARK[..], &["--target", target, "--output", "run"]].concat();
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(2), "{target}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{target}: {}", stderr(&output));
    }
}

#[test]
fn methods_for_whole_devices_and_images_without_consent_are_refused() {
    let folder = tempdir().unwrap();
    let output =
        trimbench(folder.path(), &["run", "trim-sweep", "--target", MODELLED, "--output", "a"]);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("it writes to a whole device"), "{}", stderr(&output));

    let (folder, target) = image(128);
    for (wrong, said) in [
        (&["--output", "a"][..], "would be destroyed"),
        (&["--output", "b", "--destroy", "/dev/null"], "which is not the target"),
    ] {
        let arguments = [&POSTMARK[..], &["--target", &target], wrong].concat();
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn a_dry_run_tells_what_the_arms_take_together() {
    let (folder, target) = image(128);
    for (target, says) in
        [(MODELLED, "nothing: filesystem and drive are models"), (&target, "root")]
    {
        let arguments = [&POSTMARK[..], &["--target", target, "--dry-run"]].concat();
        let text = stdout(&trimbench(folder.path(), &arguments));
        assert!(text.contains(says), "{text}");
        let one =
            [&arguments[..], &["--set", "mounts=discard", "--set", "bufferings=one"]].concat();
        let written = |text: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with("writes")).unwrap();
            let words: Vec<&str> = line.split_whitespace().collect();
            let unit = match words[5].trim_end_matches(',') {
                "MB" => 1.0,
                "GB" => 1_000.0,
                other => panic!("{other}: {line}"),
            };
            unit * words[4].parse::<f64>().unwrap()
        };
        let single = stdout(&trimbench(folder.path(), &one));
        let ratio = written(&text) / written(&single);
        assert!((ratio - 4.0).abs() < 0.1, "{ratio}: {text}\n{single}");
    }
}

/// An image that takes no room, and the target that makes ext4 on it.
fn image(mebibytes: u64) -> (TempDir, String) {
    let folder = tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("image");
    std::fs::File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
    let target = format!("ext4:{}", path.display());
    (folder, target)
}

/// Mounts of ours.
fn mounted_places() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let places = table.lines().filter_map(|line| line.split(' ').nth(1));
    places.filter(|place| place.contains("/.trimbench-")).map(str::to_owned).collect()
}

fn destroy(folder: &Path) -> String {
    folder.join("image").display().to_string()
}

#[test]
fn delete_stall_runs_on_a_filesystem_that_it_has_made() {
    let test = "filesystems::delete_stall_runs_on_a_filesystem_that_it_has_made";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    // All runs mount in one folder, where each removes what killed ones left.
    let _alone = machine::alone();
    let (folder, target) = image(256);
    let destroy = destroy(folder.path());
    let more = ["--target", &target, "--destroy", &destroy, "--output", "run"];
    let output = trimbench(folder.path(), &[&DELETIONS[..], &more].concat());
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    let record = record(folder.path(), "run");
    let session = &record.sessions[0];
    assert!(session.finished && session.target.clock == "wall");
    assert_eq!(session.target.identity["filesystem"], "ext4");
    // Four deletions, each with its placebo.
    assert_eq!(session.steps.len(), 8);
    assert!(session.figures.iter().any(|figure| figure.headline));
}

#[test]
fn a_killed_run_is_cleaned_up_at_the_next_start_and_gone_on_with() {
    let test = "filesystems::a_killed_run_is_cleaned_up_at_the_next_start_and_gone_on_with";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    // All runs mount in one folder, where each removes what killed ones left.
    let _alone = machine::alone();
    let (folder, target) = image(256);
    let destroy = destroy(folder.path());
    let more = ["--target", &target, "--destroy", &destroy, "--output", "run"];
    let before = mounted_places();
    let mut child = command(folder.path(), &[&DELETIONS[..], &more].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_steps(folder.path(), "run", 1, &mut child);
    let ours: Vec<String> =
        mounted_places().into_iter().filter(|place| !before.contains(place)).collect();
    assert!(!ours.is_empty(), "it is mounted");
    signal(&child, "-KILL");
    child.wait().unwrap();
    let resume = ["run", "--resume", "run", "--destroy", &destroy, "--overwrite-signature", "ext4"];
    let output = trimbench(folder.path(), &resume);
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    assert!(stderr(&output).contains("crashed run(s) had left"), "{}", stderr(&output));
    assert_eq!(record(folder.path(), "run").outcome, Outcome::Complete);
    let left = mounted_places();
    assert!(!ours.iter().any(|place| left.contains(place)), "{left:?}");
    assert!(!ours.iter().any(|place| Path::new(place).exists()));
}
