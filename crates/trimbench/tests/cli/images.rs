//! Image files as targets: refused unless named, overwritten where the method says, gone on with.
//! Loop devices and the whole table of refusals are in `tests/`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::{TempDir, tempdir_in};
use tests::Need::{Program, Root};
use tests::requires;
use trimbench_core::Bytes;
use trimbench_results::Outcome;

use super::devices::QUICK;
use super::interrupts::{signal, wait_for_steps};
use super::{code, command, record, stderr, stdout, trimbench};

/// Of an image with a pattern: larger than what [`METHOD`] touches.
const SIZE: u64 = 16 << 20;
/// Guard, region and guard, which is all that the method touches.
const TOUCHED: usize = 5 << 20;
/// A quick session. What it writes lies in the first 5 MiB.
const METHOD: [&str; 7] =
    ["run", "trim-integrity", "--set", "region=4MiB", "--set", "guard=512KiB", "--output"];

/// A folder on a filesystem with direct I/O and holes, and an image in it, full of a pattern.
fn image() -> (TempDir, PathBuf) {
    let (folder, image) = hollow_image();
    fs::write(&image, pattern()).unwrap();
    (folder, image)
}

/// The same with an image of 64 MiB that takes no room.
fn hollow_image() -> (TempDir, PathBuf) {
    let folder = tempdir_in("/var/tmp").unwrap();
    let image = fs::canonicalize(folder.path()).unwrap().join("disk.img");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    (folder, image)
}

/// Bytes that the file takes on its filesystem.
fn allocated(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

fn pattern() -> Vec<u8> {
    vec![0x5a; usize::try_from(SIZE).unwrap()]
}

fn arguments<'a>(run: &'a str, image: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let target = ["--target", image.to_str().unwrap()];
    [&METHOD[..], &[run], &target, more].concat()
}

#[test]
fn an_image_that_was_not_named_is_refused_and_stays_as_it_is() {
    let (folder, image) = image();
    let other = folder.path().join("other.img");
    fs::write(&other, "else").unwrap();
    for more in [&[][..], &["--destroy", other.to_str().unwrap()]] {
        let output = trimbench(folder.path(), &arguments("run", &image, more));
        let errors = stderr(&output);
        assert_eq!(code(&output), Some(3), "{errors}");
        assert!(errors.contains(&format!("--destroy {}", image.display())), "{errors}");
        assert!(!folder.path().join("run").exists(), "nothing was measured");
    }
    assert!(fs::read(&image).unwrap() == pattern());
    assert_eq!(fs::read(&other).unwrap(), b"else");
}

#[test]
fn a_signature_is_refused_unless_it_was_named_too() {
    let (folder, image) = image();
    // The magic of swap space, as `wipefs` knows it, on an otherwise empty image.
    let mut content = vec![0; usize::try_from(SIZE).unwrap()];
    content[4_086..4_096].copy_from_slice(b"SWAPSPACE2");
    content[1_024] = 1; // Version.
    content[1_028..1_032].copy_from_slice(&4_095_u32.to_le_bytes()); // Last page.
    fs::write(&image, &content).unwrap();
    let named = ["--destroy", image.to_str().unwrap()];
    let output = trimbench(folder.path(), &arguments("run", &image, &named));
    let errors = stderr(&output);
    assert_eq!(code(&output), Some(3), "{errors}");
    assert!(errors.contains("--overwrite-signature swap"), "{errors}");
    assert!(fs::read(&image).unwrap() == content);
    let named = [&named[..], &["--overwrite-signature", "swap"]].concat();
    let output = trimbench(folder.path(), &arguments("run", &image, &named));
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
}

#[test]
fn a_plain_user_may_overwrite_an_image_of_his_own() {
    let test = "images::a_plain_user_may_overwrite_an_image_of_his_own";
    if !requires(test, &[Root, Program("setpriv")]) {
        return;
    }
    let user = 65_534;
    for parent in ["/var/tmp", "/dev/shm"] {
        let folder = tempdir_in(parent).unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        let (program, image) = (path.join("trimbench"), path.join("disk.img"));
        fs::copy(env!("CARGO_BIN_EXE_trimbench"), &program).unwrap();
        fs::File::create(&image).unwrap().set_len(SIZE).unwrap();
        for mine in [&path, &image] {
            std::os::unix::fs::chown(mine, Some(user), Some(user)).unwrap();
        }
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        let named = ["--destroy", image.to_str().unwrap()];
        let output = nobody.args(arguments("run", &image, &named)).current_dir(&path).output();
        let output = output.unwrap();
        assert!(matches!(code(&output), Some(0 | 4)), "{parent}: {}", stderr(&output));
        assert!(fs::read(&image).unwrap().iter().any(|byte| *byte != 0), "it was overwritten");
    }
}

#[test]
fn a_dry_run_looks_and_says_what_would_be_refused() {
    let (folder, path) = hollow_image();
    let target = path.to_str().unwrap();
    let arguments = ["run", "idle-trim", "--dry-run", "--target", target];
    let refused = trimbench(folder.path(), &arguments);
    assert_eq!(code(&refused), Some(0), "{}", stderr(&refused));
    let text = stdout(&refused);
    for part in ["refused", "times the drive", "everything on it", target] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let small = trimbench(folder.path(), &["run", "--dry-run", "--target", target]);
    assert!(stdout(&small).contains("left out     it needs"), "{}", stdout(&small));
    let allowed = trimbench(folder.path(), &[&arguments[..], &["--destroy", target]].concat());
    assert!(!stdout(&allowed).contains("refused"), "{}", stdout(&allowed));
    assert_eq!(allocated(&path), 0, "nothing was written");
}

#[test]
fn an_image_that_was_named_is_measured_and_touched_where_the_method_says() {
    let (folder, image) = image();
    let named = ["--destroy", image.to_str().unwrap()];
    let output = trimbench(folder.path(), &arguments("run", &image, &named));
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    let record = record(folder.path(), "run");
    let session = &record.sessions[0];
    assert!(session.finished && session.target.kind == "image", "{:?}", session.target);
    assert_eq!(session.target.identity["purged-by"], "trim");
    assert_eq!(session.target.capabilities["capacity"], Bytes(SIZE).to_string());
    let lost = session.figures.iter().find(|figure| figure.id == "neighbour-blocks-lost");
    assert!(lost.unwrap().value < 0.5);
    let content = fs::read(&image).unwrap();
    assert!(content[..TOUCHED] != pattern()[..TOUCHED]);
    assert!(content[TOUCHED..] == pattern()[TOUCHED..], "nothing beyond the guard is touched");
}

#[test]
fn every_method_that_works_on_devices_completes_on_an_image() {
    for (method, set) in QUICK {
        let (folder, path) = hollow_image();
        let set: Vec<&str> = set.iter().flat_map(|setting| ["--set", setting]).collect();
        let target = path.to_str().unwrap();
        let named = ["run", method, "--target", target, "--destroy", target, "--output", "run"];
        let output = trimbench(folder.path(), &[&named[..], &set].concat());
        let record = record(folder.path(), "run");
        let session = &record.sessions[0];
        // On a machine that others use a pace may not be reached within 100 ms, and the program
        // waits for a processor.
        let paused = session.caveats.iter().any(|id| id == "paused");
        let open = (method == "settle" || paused) && code(&output) == Some(4);
        assert!(open || code(&output) == Some(0), "{method}: {}", stderr(&output));
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
    let (folder, image) = hollow_image();
    let target = image.to_str().unwrap();
    let named = ["--destroy", target];
    let arguments = ["run", "trim-integrity", "--target", target, "--output", "run"];
    let arguments = [&arguments[..], &named, &["--set", "region=16MiB"]].concat();
    for kind in ["-INT", "-KILL"] {
        let mut command = command(folder.path(), &arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_steps(folder.path(), "run", 1, &mut child);
        signal(&child, kind);
        let status = child.wait().unwrap();
        let kept = record(folder.path(), "run");
        assert_eq!(status.code(), (kind == "-INT").then_some(130));
        assert_eq!(kept.outcome == Outcome::Interrupted, kind == "-INT");
        let steps = &kept.sessions[0].steps;
        let before = fs::read(&image).unwrap();

        let unnamed = trimbench(folder.path(), &["run", "--resume", "run"]);
        assert_eq!(code(&unnamed), Some(3), "{}", stderr(&unnamed));
        assert!(fs::read(&image).unwrap() == before, "consent is never taken from a record");
        let still = record(folder.path(), "run");
        assert_eq!((&still.sessions[0].steps, &still.outcome), (steps, &kept.outcome));

        let resumed = trimbench(folder.path(), &[&["run", "--resume", "run"], &named[..]].concat());
        assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
        let whole = &record(folder.path(), "run").sessions[0];
        assert!(whole.finished && whole.steps.len() > steps.len());
        for step in steps {
            assert!(whole.steps.contains(step), "`{}` was measured again", step.id);
        }
        fs::remove_dir_all(folder.path().join("run")).unwrap();
    }
}

#[test]
fn a_resume_on_another_image_of_that_name_is_refused() {
    let (folder, image) = image();
    let named = ["--destroy", image.to_str().unwrap()];
    let output = trimbench(folder.path(), &arguments("run", &image, &named));
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    let mut unfinished = record(folder.path(), "run");
    unfinished.sessions[0].finished = false;
    fs::write(folder.path().join("run/run.json"), unfinished.to_json()).unwrap();
    let other = folder.path().join("other.img");
    fs::write(&other, pattern()).unwrap();
    fs::rename(&other, &image).unwrap();
    let resumed = trimbench(folder.path(), &[&["run", "--resume", "run"], &named[..]].concat());
    let errors = stderr(&resumed);
    assert_eq!(code(&resumed), Some(2), "{errors}");
    assert!(errors.contains("is not the one") && errors.contains("inode"), "{errors}");
    assert!(fs::read(&image).unwrap() == pattern());
}

#[test]
fn an_image_that_is_cut_off_midway_is_no_result() {
    let (folder, path) = hollow_image();
    let target = path.to_str().unwrap();
    let arguments =
        ["run", "idle-trim", "--target", target, "--destroy", target, "--output", "run"];
    let slow = ["--set", "repetitions=2", "--set", "rest=1s"];
    let mut command = command(folder.path(), &[&arguments[..], &slow].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    super::interrupts::wait_until(&mut child, || allocated(&path) >= 32 << 20);
    fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(!record(folder.path(), "run").sessions[0].finished);
}

#[test]
fn what_was_named_for_nothing_or_twice_is_a_mistake() {
    let (folder, path) = hollow_image();
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
