//! Whole devices as targets, emulated ones: what they must fit, how their faults are found and end
//! a run.

use tempfile::{tempdir, tempdir_in};
use tests::methods_in_directories;
use trimbench_methods::{BY_NAME_ONLY, METHODS};
use trimbench_results::Outcome;

use super::{code, record, stderr, stdout, trimbench};

/// Methods that work on whole devices, quick on 64 MiB.
pub(crate) const QUICK: [(&str, &[&str]); 7] = [
    ("trim-sweep", &["sizes=4KiB,1MiB", "reference=1MiB", "commands=20", "load-span=8MiB"]),
    ("idle-trim", &["repetitions=1", "rest=0"]),
    ("recovery", &["rest=0"]),
    ("steady-state", &["round-time=100ms", "precondition=100%", "rest=0"]),
    (
        "latency-under-load",
        &["rates=50%", "trim-rate=0,10", "trim-chunk=64KiB", "warm-up=0", "rate-time=200ms"],
    ),
    ("trim-integrity", &["region=4MiB"]),
    ("settle", &["window=100ms", "slice=5ms", "rest=0"]),
];

#[test]
fn methods_that_need_a_device_are_left_out_of_a_directory_or_refused_by_name() {
    let folder = tempdir_in("/var/tmp").unwrap();
    let here = folder.path().to_str().unwrap();
    let named = trimbench(folder.path(), &["run", "recovery", "--target", here]);
    assert_eq!(code(&named), Some(3), "{}", stderr(&named));
    assert!(stderr(&named).contains("writes to a whole device"), "{}", stderr(&named));
    let dry = trimbench(folder.path(), &["run", "--target", here, "--dry-run"]);
    let in_directories = methods_in_directories();
    let fit = in_directories.iter().filter(|method| !BY_NAME_ONLY.contains(method)).count();
    let left_out = METHODS.len() - BY_NAME_ONLY.len() - fit;
    assert_eq!(stdout(&dry).matches("left out").count(), left_out, "{}", stdout(&dry));
}

#[test]
fn a_drive_that_eats_a_neighbour_or_breaks_its_promise_fails() {
    let folder = tempdir().unwrap();
    for (settings, figure) in [
        ("trim-eats-neighbour=4KiB", "neighbour-blocks-lost"),
        ("trim-promise=zeroes,trim-reads=old-data", "promise-violations"),
    ] {
        let target = format!("sim:generic-sata-tlc,capacity=1GiB,{settings}");
        let arguments = ["run", "trim-integrity", "--set", "region=4MiB", "--target", &target];
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("limit {figure} <= 0")), "{}", stderr(&output));
    }
    let silent = "sim:vendor2,capacity=1GiB,trim-reads=old-data,trim-eats-neighbour=4KiB";
    let arguments = ["run", "trim-integrity", "--set", "region=4MiB", "--target", silent];
    let text = stdout(&trimbench(folder.path(), &arguments));
    assert!(text.contains("no loss shows"), "nothing can be seen of it: {text}");
    let honest = "sim:generic-sata-tlc,capacity=1GiB";
    let arguments = ["run", "trim-integrity", "--set", "region=4MiB", "--target", honest];
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("limit"), "what holds is not worth a word");
}

#[test]
fn the_published_limits_have_a_name() {
    let folder = tempdir().unwrap();
    for (settings, expected) in [("", 0), (",freeze-on-discard=600ms", 1)] {
        let target = format!("sim:generic-sata-tlc,capacity=1GiB{settings}");
        let set = ["--set", "commands=50", "--set", "sizes=1MiB", "--set", "reference=1MiB"];
        let arguments = [&["run", "trim-sweep", "--limit", "hlk", "--target", &target], &set[..]];
        let output = trimbench(folder.path(), &arguments.concat());
        assert_eq!(code(&output), Some(expected), "{}", stderr(&output));
        for figure in ["trim-max", "loaded-max", "loaded-p98.5"] {
            let line = stderr(&output).lines().any(|line| {
                line.starts_with(&format!("limit {figure} <= "))
                    && line.contains(" in trim-sweep on ")
            });
            assert!(line, "{figure}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_drive_that_fails_or_vanishes_ends_every_method_clearly_and_keeps_its_steps() {
    let folder = tempdir().unwrap();
    for (method, _) in QUICK {
        for (fault, name) in [("eio-from", "EIO"), ("vanish-from", "ENODEV")] {
            let run = format!("{method}-{name}");
            let target = format!("sim:generic-sata-tlc,capacity=1GiB,{fault}=2s");
            let arguments = ["run", method, "--target", &target, "--output", &run];
            let output = trimbench(folder.path(), &arguments);
            assert_eq!(code(&output), Some(3), "{run}: {}", stderr(&output));
            assert!(stderr(&output).contains(name), "{run}: {}", stderr(&output));
            let kept = record(folder.path(), &run);
            assert!(!kept.sessions[0].steps.is_empty(), "{run}");
            assert!(matches!(kept.outcome, Outcome::Failed { .. }), "{run}");
            assert_eq!(code(&trimbench(folder.path(), &["report", &run])), Some(4), "{run}");
        }
    }
}

#[test]
fn every_method_gives_the_same_bytes_again() {
    let folder = tempdir().unwrap();
    for run in ["first", "second"] {
        let arguments = ["run", "--target", "sim:generic-nvme-tlc,capacity=1GiB"];
        let small = ["--set", "sizes=16MiB,32MiB", "--set", "span=64MiB", "--output", run];
        let output = trimbench(folder.path(), &[&arguments[..], &small].concat());
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    let bytes = |run: &str| std::fs::read(folder.path().join(run).join("run.json")).unwrap();
    assert!(bytes("first") == bytes("second"));
}
