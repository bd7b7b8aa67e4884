//! `policy` on modelled filesystems, and everywhere else, where it is refused.

use tempfile::tempdir;

use super::{code, record, stderr, stdout, trimbench};

/// A filesystem on a small drive.
const TARGET: &str = "ext4,journal=8MiB:sim:vendor6,capacity=512MiB";
/// A pool of drives, which does not account for their wear.
const POOL: &str = "stripe,scale=256:sim:like-optane-900p,capacity=2GiB*2";
/// Small files, and enough accesses for a p99.9, of which the drive can serve the writes.
pub(super) const RUN: [&str; 16] = [
    "run",
    "policy",
    "--set",
    "file-sizes=256KiB,1MiB",
    "--set",
    "foreground-span=8MiB",
    "--set",
    "cycle=20%",
    "--set",
    "stable-cycles=2",
    "--set",
    "cycles=3",
    "--set",
    "rate=2000",
    "--set",
    "read-share=95%",
];

#[test]
fn policies_stand_beside_each_other_and_a_run_repeats_itself() {
    let folder = tempdir().unwrap();
    let mut hashes = Vec::new();
    for run in ["first", "second"] {
        let more = ["--set", "policies=none,ext4,paced", "--target", TARGET, "--output", run];
        let output = trimbench(folder.path(), &[&RUN[..], &more].concat());
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let record = record(folder.path(), run);
        let session = &record.sessions[0];
        let headline = session.headline().unwrap();
        let verdict = headline.words().unwrap();
        assert_eq!(headline.id, "policy");
        assert!(verdict.contains("the lowest p99.9 of those within 10%"), "{verdict}");
        for policy in ["none", "ext4", "paced"] {
            assert!(session.steps.iter().any(|step| step.kind == policy), "{policy}");
        }
        assert_eq!(session.figure("trimmed-under-none").unwrap().value.to_bits(), 0);
        hashes.push(session.trace_hash.clone().unwrap());
    }
    assert_eq!(hashes[0], hashes[1]);
    let text = stdout(&trimbench(folder.path(), &["report", "first"]));
    for words in ["write amplification", "left untrimmed", "longest TRIM", "to choose", "skipped"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    let rows = |policy: &str| text.lines().filter(|line| line.starts_with(policy)).count();
    assert!(rows("none ") >= 3 && rows("none ") == rows("paced "), "{text}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_would_do() {
    let folder = tempdir().unwrap();
    for (set, said) in [
        ("policies=none,pased", "did you mean `paced`?"),
        ("policies=none,none", "named twice"),
        ("rate=0", "out of range; give 1 to 1000000"),
        ("churn=1KB", "out of range; give 100000B to 10GB"),
        (
            "paced=tolerence=5%",
            "option `paced` of `policy`: `paced` has no parameter `tolerence`; did you mean \
             `tolerance`?",
        ),
        ("btrfs-async=delay=5", "has no unit"),
        ("policies=ext4,deferred", "did you mean `btrfs-async`?"),
    ] {
        let target = "ext4:sim:vendor6";
        let arguments = ["run", "policy", "--target", target, "--set", set, "--output", "run"];
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(2), "{set}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{set}: {}", stderr(&output));
    }
    for target in ["sim:vendor6", ".", POOL, "xfs:sim:vendor6"] {
        let arguments = ["run", "policy", "--target", target, "--output", "other"];
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(3), "{target}: {}", stderr(&output));
        assert!(stderr(&output).contains("name `ext4:sim:NAME`"), "{}", stderr(&output));
    }
}

#[test]
fn a_run_of_all_methods_leaves_it_out_on_a_pool() {
    let folder = tempdir().unwrap();
    let output = trimbench(folder.path(), &["run", "--target", POOL, "--output", "run"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("left out: policy: "), "{}", stdout(&output));
    let record = record(folder.path(), "run");
    let policy = record.sessions.iter().find(|session| session.plan.method == "policy").unwrap();
    assert!(policy.left_out.is_some() && policy.finished);
    assert!(record.sessions.iter().any(|session| session.left_out.is_none()));
}

#[test]
fn a_drive_without_a_capacity_gets_the_methods() {
    let folder = tempdir().unwrap();
    for (target, set, capacity) in [
        ("ext4:sim:vendor6", "used=80%", "vendor6,capacity=4GiB"),
        ("ext4:sim:vendor6", "drive=2GiB", "vendor6,capacity=2GiB"),
        ("ext4:sim:vendor6,capacity=3GiB", "drive=2GiB", "vendor6,capacity=3GiB"),
    ] {
        let arguments = ["run", "policy", "--target", target, "--set", set, "--dry-run"];
        let text = stdout(&trimbench(folder.path(), &arguments));
        assert!(text.contains(capacity), "{text}");
    }
}
