//! Image files as targets: named, refused, overwritten, resumed. Loop devices and the whole table
//! of refusals are in `tests/`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::{TempDir, tempdir_in};
use trimbench_results::Outcome;

use super::interrupts::signal;
use super::{code, command, record, stderr, stdout, trimbench};

/// A folder on a filesystem with direct I/O and holes, and an image of `mebibytes` in it.
fn image(mebibytes: u64) -> (TempDir, PathBuf) {
    let folder = tempdir_in("/var/tmp").unwrap();
    let path = folder.path().canonicalize().unwrap().join("image");
    std::fs::File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
    (folder, path)
}

/// Bytes that the file takes on its filesystem.
fn allocated(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().blocks() * 512
}

/// Quick on 64 MiB.
const SMALL: [(&str, &[&str]); 5] = [
    ("trim-sweep", &["sizes=4KiB,1MiB", "reference=1MiB", "commands=20", "load-span=8MiB"]),
    ("idle-trim", &["repetitions=1", "rest=0"]),
    ("recovery", &["rest=0"]),
    ("steady-state", &["round-time=100ms", "precondition=100%", "rest=0"]),
    ("trim-integrity", &["region=4MiB"]),
];

fn settings(set: &[&'static str]) -> Vec<&'static str> {
    set.iter().flat_map(|setting| ["--set", setting]).collect()
}

#[test]
fn what_was_not_named_is_refused_and_left_as_it_was() {
    let (folder, path) = image(64);
    std::fs::write(&path, vec![0x5A; 1 << 20]).unwrap();
    let other = folder.path().join("other");
    std::fs::write(&other, vec![0xA5; 1 << 20]).unwrap();
    let (target, other) = (path.to_str().unwrap(), other.to_str().unwrap());
    for consent in [&[][..], &["--destroy", other]] {
        let arguments = [&["run", "trim-integrity", "--target", target], consent].concat();
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("--destroy {target}")), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![0x5A; 1 << 20]);
    assert_eq!(std::fs::read(other).unwrap(), vec![0xA5; 1 << 20]);
}

#[test]
fn a_dry_run_looks_and_says_what_would_be_refused() {
    let (folder, path) = image(64);
    let target = path.to_str().unwrap();
    let arguments = ["run", "idle-trim", "--dry-run", "--target", target];
    let refused = trimbench(folder.path(), &arguments);
    assert_eq!(code(&refused), Some(0), "{}", stderr(&refused));
    let text = stdout(&refused);
    for part in ["refused", "times the drive", "endurance", "everything on it", target] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let small = trimbench(folder.path(), &["run", "--dry-run", "--target", target]);
    assert!(stdout(&small).contains("left out     it needs"), "{}", stdout(&small));
    let allowed = trimbench(folder.path(), &[&arguments[..], &["--destroy", target]].concat());
    assert!(!stdout(&allowed).contains("refused"), "{}", stdout(&allowed));
    assert_eq!(allocated(&path), 0, "nothing was written");
}

#[test]
fn every_method_that_works_on_devices_completes_on_an_image() {
    for (method, set) in SMALL {
        let (folder, path) = image(64);
        let target = path.to_str().unwrap();
        let named = ["run", method, "--target", target, "--destroy", target, "--output", "run"];
        let output = trimbench(folder.path(), &[&named[..], &settings(set)].concat());
        assert_eq!(code(&output), Some(0), "{method}: {}", stderr(&output));
        let record = record(folder.path(), "run");
        let session = &record.sessions[0];
        assert!(session.finished && session.headline().is_some(), "{method}");
        assert_eq!(session.target.kind, "image");
        assert!(session.trace_hash.is_none() && session.target.clock == "wall");
        assert!(!session.environment_before.is_empty(), "{method}");
        if method == "idle-trim" {
            assert!(allocated(&path) < 1 << 20, "its discards arrived");
        }
    }
}

#[test]
fn an_interrupted_session_goes_on_only_where_it_may_destroy() {
    let (folder, path) = image(64);
    let target = path.to_str().unwrap();
    let mut arguments = vec!["run", "trim-integrity", "--target", target, "--output", "run"];
    arguments.extend(["--destroy", target, "--set", "region=16MiB"]);
    for kind in ["-INT", "-KILL"] {
        let mut command = command(folder.path(), &arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        super::interrupts::wait_for_steps(folder.path(), "run", 1, &mut child);
        signal(&child, kind);
        let status = child.wait().unwrap();
        let kept = record(folder.path(), "run");
        assert_eq!(status.code(), (kind == "-INT").then_some(130));
        assert_eq!(kept.outcome == Outcome::Interrupted, kind == "-INT");
        let steps = kept.sessions[0].steps.clone();
        let refused = trimbench(folder.path(), &["run", "--resume", "run"]);
        assert_eq!(code(&refused), Some(3), "{}", stderr(&refused));
        let still = record(folder.path(), "run");
        assert_eq!((&still.sessions[0].steps, &still.outcome), (&steps, &kept.outcome));
        let resumed = trimbench(folder.path(), &["run", "--resume", "run", "--destroy", target]);
        assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
        let whole = record(folder.path(), "run");
        let same = steps.iter().all(|step| whole.sessions[0].steps.contains(step));
        assert!(same && whole.sessions[0].finished, "measured steps are not measured again");
        std::fs::remove_dir_all(folder.path().join("run")).unwrap();
    }
}

#[test]
fn an_image_that_is_cut_off_midway_is_no_result() {
    let (folder, path) = image(64);
    let target = path.to_str().unwrap();
    let arguments =
        ["run", "idle-trim", "--target", target, "--destroy", target, "--output", "run"];
    let slow = ["--set", "repetitions=2", "--set", "rest=1s"];
    let mut command = command(folder.path(), &[&arguments[..], &slow].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while allocated(&path) < 32 << 20 {
        std::thread::yield_now();
    }
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(!record(folder.path(), "run").sessions[0].finished);
}

#[test]
fn what_was_named_for_nothing_or_twice_is_a_mistake() {
    let (folder, path) = image(64);
    let image = path.to_str().unwrap();
    let twice = ["run", "idle-trim", "--target", "sim:vendor2", "--target", "sim:vendor2"];
    for (arguments, says) in [
        (&["run", "idle-trim", "--destroy", image][..], "no `--target` is a block device"),
        (&twice[..], "is given twice"),
    ] {
        let output = trimbench(folder.path(), arguments);
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
    assert_eq!(allocated(&path), 0);
}

#[test]
fn methods_that_need_a_device_are_left_out_of_a_directory_or_refused_by_name() {
    let folder = tempdir_in("/var/tmp").unwrap();
    let here = folder.path().to_str().unwrap();
    let named = trimbench(folder.path(), &["run", "recovery", "--target", here]);
    assert_eq!(code(&named), Some(3), "{}", stderr(&named));
    assert!(stderr(&named).contains("writes to a whole device"), "{}", stderr(&named));
    let dry = trimbench(folder.path(), &["run", "--target", here, "--dry-run"]);
    assert_eq!(stdout(&dry).matches("left out").count(), 5, "{}", stdout(&dry));
}

#[test]
fn a_drive_that_eats_a_neighbour_or_breaks_its_promise_fails() {
    let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    for (settings, expected) in [("", 0), (",freeze-on-discard=600ms", 1)] {
        let target = format!("sim:generic-sata-tlc,capacity=1GiB{settings}");
        let set = ["--set", "commands=50", "--set", "sizes=1MiB", "--set", "reference=1MiB"];
        let arguments = [&["run", "trim-sweep", "--limit", "hlk", "--target", &target], &set[..]];
        let output = trimbench(folder.path(), &arguments.concat());
        assert_eq!(code(&output), Some(expected), "{}", stderr(&output));
        for figure in ["trim-max", "loaded-max", "loaded-p98.5"] {
            assert!(stderr(&output).contains(figure), "{figure}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_drive_that_fails_or_vanishes_ends_every_method_clearly_and_keeps_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    for (method, _) in SMALL {
        for (fault, name) in [("eio-from", "EIO"), ("vanish-from", "ENODEV")] {
            let run = format!("{method}-{name}");
            let target = format!("sim:generic-sata-tlc,capacity=1GiB,{fault}=2s");
            let arguments = ["run", method, "--target", &target, "--output", &run];
            let output = trimbench(folder.path(), &arguments);
            assert_eq!(code(&output), Some(3), "{run}: {}", stderr(&output));
            assert!(stderr(&output).contains(name), "{run}: {}", stderr(&output));
            let kept = super::record(folder.path(), &run);
            assert!(!kept.sessions[0].steps.is_empty(), "{run}");
            assert!(matches!(kept.outcome, Outcome::Failed { .. }), "{run}");
            assert_eq!(code(&trimbench(folder.path(), &["report", &run])), Some(0), "{run}");
        }
    }
}

#[test]
fn every_method_gives_the_same_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    for run in ["first", "second"] {
        let arguments = ["run", "--target", "sim:generic-nvme-tlc,capacity=1GiB"];
        let small = ["--set", "sizes=16MiB,32MiB", "--set", "span=64MiB", "--output", run];
        let output = trimbench(folder.path(), &[&arguments[..], &small].concat());
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    let bytes = |run: &str| std::fs::read(folder.path().join(run).join("run.json")).unwrap();
    assert!(bytes("first") == bytes("second"));
}
