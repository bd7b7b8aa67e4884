//! Image files as targets: refused unless named, overwritten where the method says, gone on with.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trimbench_core::Bytes;

use super::interrupts::signal;
use super::{code, command, record, stderr, trimbench};

/// Of an image: larger than what [`METHOD`] touches.
const SIZE: u64 = 16 << 20;
/// Guard, region and guard, which is all that the method touches.
const TOUCHED: usize = 5 << 20;
/// A quick session. What it writes lies in the first 5 MiB.
const METHOD: [&str; 7] =
    ["run", "trim-integrity", "--set", "region=4MiB", "--set", "guard=512KiB", "--output"];

/// A folder on a filesystem with direct I/O, and an image in it, full of a pattern.
fn image() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = fs::canonicalize(folder.path()).unwrap().join("disk.img");
    fs::write(&image, pattern()).unwrap();
    (folder, image)
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
fn a_resumed_run_asks_again_and_measures_the_rest() {
    let (folder, image) = image();
    let named = ["--destroy", image.to_str().unwrap()];
    let mut child = command(folder.path(), &arguments("run", &image, &named)).spawn().unwrap();
    loop {
        let json = fs::read(folder.path().join("run/run.json")).unwrap_or_default();
        let steps = trimbench_results::RunRecord::from_json(&json)
            .ok()
            .and_then(|record| record.sessions.first().map(|session| session.steps.len()));
        if steps.is_some_and(|steps| steps >= 2) {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it was interrupted");
        std::thread::yield_now();
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let kept = record(folder.path(), "run").sessions[0].steps.clone();
    let before = fs::read(&image).unwrap();

    let unnamed = trimbench(folder.path(), &["run", "--resume", "run"]);
    assert_eq!(code(&unnamed), Some(3), "{}", stderr(&unnamed));
    assert!(fs::read(&image).unwrap() == before, "consent is never taken from a record");
    assert_eq!(record(folder.path(), "run").sessions[0].steps, kept, "what was measured is kept");

    let resumed = trimbench(folder.path(), &[&["run", "--resume", "run"], &named[..]].concat());
    assert!(matches!(code(&resumed), Some(0 | 4)), "{}", stderr(&resumed));
    let steps = &record(folder.path(), "run").sessions[0].steps;
    assert!(steps.len() > kept.len());
    for step in &kept {
        assert!(steps.contains(step), "`{}` was measured again", step.id);
    }
}

#[test]
fn a_resume_on_another_image_of_that_name_is_refused() {
    let (folder, image) = image();
    let named = ["--destroy", image.to_str().unwrap()];
    let output = trimbench(folder.path(), &arguments("run", &image, &named));
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    let path = folder.path().join("run/run.json");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"finished\": true", "\"finished\": false");
    fs::write(&path, text).unwrap();
    let other = folder.path().join("other.img");
    fs::write(&other, pattern()).unwrap();
    fs::rename(&other, &image).unwrap();
    let resumed = trimbench(folder.path(), &[&["run", "--resume", "run"], &named[..]].concat());
    let errors = stderr(&resumed);
    assert_eq!(code(&resumed), Some(2), "{errors}");
    assert!(errors.contains("the target is another one") && errors.contains("inode"), "{errors}");
    assert!(fs::read(&image).unwrap() == pattern());
}
