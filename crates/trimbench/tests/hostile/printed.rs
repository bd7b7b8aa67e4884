//! Output directories that are removed, renamed, immutable or full: measured figures are still
//! printed.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::{LoopFilesystem, Mounted};

use super::runs::{Folder, SMALL};
use super::{PROGRAM, ended, refused, says, trimbench};

/// That every event of the run came, and that it ended with this code.
fn all_printed(events: &str, errors: &str, code: (Option<i32>, i32)) {
    let whole = events.contains("\"event\":\"figure\"") && events.contains("\"event\":\"end\"");
    assert!(whole, "{} lines were printed: {errors}", events.lines().count());
    assert!(code.0 == Some(code.1), "it ended with {:?}: {errors}", code.0);
}

/// A run whose record has room until the first step.
fn on_a_full_disk(format: &str) -> String {
    let folder = Folder::new();
    let _mounted = Mounted::memory("40k", folder.path());
    let more = ["--output", "run", "--no-report", "--output-format", format];
    let output = trimbench(folder.path(), &[&SMALL[..], &more].concat());
    ended(&output, 3);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A run within a limit of the shell's.
fn limited(limit: &str, run: &[&str]) -> Output {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit}; exec \"$@\""), "sh"]).arg(PROGRAM).args(run);
    command.args(["--output", "run", "--no-report", "--output-format", "json"]);
    command.current_dir(folder.path()).env("RUST_BACKTRACE", "0");
    command.output().expect("there is a shell")
}

#[test]
fn a_run_whose_directory_is_removed_prints_what_it_measured() {
    let folder = Folder::new();
    let run = folder.waiting(&["--no-report"]);
    fs::remove_dir_all(folder.at("run")).expect("the folder is ours");
    let (status, events, errors) = run.go_on();
    all_printed(&events, &errors, (status.code(), 3));
}

#[test]
fn the_first_error_is_the_one_reported() {
    let folder = Folder::new();
    let run = folder.waiting(&["--no-report"]);
    fs::remove_dir_all(folder.at("run")).expect("the folder is ours");
    let (_, _, errors) = run.go_on();
    let told: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    let kept_in = ["run.json", "steps.ndjson"];
    let record = told.iter().all(|line| kept_in.iter().any(|file| line.contains(file)));
    assert!(record && !told.is_empty(), "{errors}");
}

#[test]
fn an_interrupted_run_says_so_whatever_else_fails() {
    let folder = Folder::new();
    let mut run = folder.waiting(&["--no-report"]);
    fs::remove_dir_all(folder.at("run")).expect("the folder is ours");
    run.interrupt();
    let (status, events, errors) = run.go_on();
    assert!(status.code() == Some(130), "{status}: {errors}");
    assert!(events.contains("interrupted"), "the end is not among the events");
}

#[test]
fn a_run_whose_directory_is_renamed_is_kept_and_says_where() {
    let folder = Folder::new();
    let run = folder.waiting(&["--no-report"]);
    fs::rename(folder.at("run"), folder.at("moved")).expect("the folder is ours");
    let (status, events, errors) = run.go_on();
    all_printed(&events, &errors, (status.code(), 0));
    let record = fs::read_to_string(folder.at("moved/run.json")).unwrap_or_default();
    assert!(record.contains("\"complete\""), "the record is not whole");
    assert!(errors.contains("moved"), "it does not say where: {errors}");
}

#[test]
fn a_run_whose_directory_becomes_immutable_prints_what_it_measured() {
    machine!(beside, &[Root, Loop, Filesystem("ext4"), Program("chattr")]);
    let filesystem = LoopFilesystem::new("ext4", 16, "noatime");
    let folder = Folder::within(filesystem.path());
    let run = folder.waiting(&["--no-report"]);
    let change = |how: &str| {
        let mut command = Command::new("chattr");
        command.arg(how).arg(folder.at("run")).status().expect("chattr is there")
    };
    assert!(change("+i").success());
    let (status, events, errors) = run.go_on();
    change("-i");
    all_printed(&events, &errors, (status.code(), 3));
}

#[test]
fn a_run_on_a_full_disk_prints_its_record_or_its_tables() {
    machine!(beside, &[Root]);
    let record: Value = serde_json::from_str(&on_a_full_disk("json")).expect("it is a record");
    assert!(record["sessions"][0]["finished"] == true, "half a record");
    let text = on_a_full_disk("human");
    assert!(text.contains("stutter per GB deleted"), "printed: {text}");
}

#[test]
fn a_limit_on_file_sizes_does_not_end_a_run_unheard() {
    // In units of 512 bytes: enough for all but the record of a step.
    let output = limited("ulimit -f 32", &SMALL);
    refused(&output, "EFBIG");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), "the record was not printed");
}

#[test]
fn a_limit_on_memory_is_told_before_the_run() {
    // In KiB: enough for the program, not for the tables of the drive.
    let large = ["run", "trim-sweep", "--target", "sim:generic-nvme-tlc", "--capacity", "1TiB"];
    let output = limited("ulimit -v 800000", &large);
    ended(&output, 2);
    says(&output, "of memory");
}
