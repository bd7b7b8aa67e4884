//! Output directories that are removed, renamed, immutable or full: measured figures are still
//! printed.

use std::fs;
use std::process::{Command, Output};

use super::runs::{Folder, SMALL};
use super::{Attack, Tool, attack, complaint, unless};
use crate::{LoopFilesystem, Mounted, Need};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("a_run_whose_directory_is_removed_prints_what_it_measured", &[], removed),
    attack("the_first_error_is_the_one_reported", &[], first_error),
    attack("an_interrupted_run_says_so_whatever_else_fails", &[], interrupted),
    attack("a_run_whose_directory_is_renamed_is_kept_and_says_where", &[], renamed),
    attack(
        "a_run_whose_directory_becomes_immutable_prints_what_it_measured",
        &[Need::Root, Need::Loop, Need::Filesystem("ext4"), Need::Program("chattr")],
        immutable,
    ),
    attack("a_run_on_a_full_disk_prints_its_record", &[Need::Root], |tool| {
        let output = on_a_full_disk(tool, "json")?;
        let record: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        unless(record["sessions"][0]["finished"] == true, || "half a record".to_owned())
    }),
    attack("a_run_on_a_full_disk_prints_its_tables", &[Need::Root], |tool| {
        let output = on_a_full_disk(tool, "human")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        unless(text.contains("stutter per GB deleted"), || format!("printed: {text}"))
    }),
    attack("a_limit_on_file_sizes_does_not_end_a_run_unheard", &[], |tool| {
        // In units of 512 bytes: enough for all but the record of a step.
        let output = limited(tool, "ulimit -f 32", &SMALL);
        let told = String::from_utf8_lossy(&output.stderr).contains("EFBIG");
        unless(output.status.code() == Some(3) && told, || complaint(&output))?;
        let record: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        unless(record.is_ok(), || "the record was not printed".to_owned())
    }),
    attack("a_limit_on_memory_is_told_before_the_run", &[], |tool| {
        // In KiB: enough for the program, not for the tables of the drive.
        let large = ["run", "trim-sweep", "--target", "sim:generic-nvme-tlc", "--capacity", "1TiB"];
        let output = limited(tool, "ulimit -v 800000", &large);
        let told = String::from_utf8_lossy(&output.stderr).contains("of memory");
        unless(output.status.code() == Some(2) && told, || complaint(&output))
    }),
];

/// That every event of the run came, and that it ended with this code.
fn all_printed(events: &str, errors: &str, code: (Option<i32>, i32)) -> Result<(), String> {
    let whole = events.contains("\"event\":\"figure\"") && events.contains("\"event\":\"end\"");
    unless(whole, || format!("{} lines were printed: {errors}", events.lines().count()))?;
    unless(code.0 == Some(code.1), || format!("it ended with {:?}: {errors}", code.0))
}

fn removed(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.waiting(tool, &["--no-report"]);
    fs::remove_dir_all(folder.at("run")).expect("the folder is ours");
    let (status, events, errors) = run.go_on();
    all_printed(&events, &errors, (status.code(), 3))
}

fn first_error(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.waiting(tool, &["--no-report"]);
    fs::remove_dir_all(folder.at("run")).expect("the folder is ours");
    let (_, _, errors) = run.go_on();
    let told: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    let kept_in = ["run.json", "steps.ndjson"];
    let record = told.iter().all(|line| kept_in.iter().any(|file| line.contains(file)));
    unless(record && !told.is_empty(), || errors.clone())
}

fn interrupted(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let mut run = folder.waiting(tool, &["--no-report"]);
    fs::remove_dir_all(folder.at("run")).expect("the folder is ours");
    run.interrupt();
    let (status, events, errors) = run.go_on();
    unless(status.code() == Some(130), || format!("{status}: {errors}"))?;
    unless(events.contains("interrupted"), || "the end is not among the events".to_owned())
}

fn renamed(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.waiting(tool, &["--no-report"]);
    fs::rename(folder.at("run"), folder.at("moved")).expect("the folder is ours");
    let (status, events, errors) = run.go_on();
    all_printed(&events, &errors, (status.code(), 0))?;
    let record = fs::read_to_string(folder.at("moved/run.json")).unwrap_or_default();
    unless(record.contains("\"complete\""), || "the record is not whole".to_owned())?;
    unless(errors.contains("moved"), || format!("it does not say where: {errors}"))
}

fn immutable(tool: &Tool) -> Result<(), String> {
    let filesystem = LoopFilesystem::new("ext4", 16, "noatime");
    let folder = Folder::within(filesystem.path());
    let run = folder.waiting(tool, &["--no-report"]);
    let change = |how: &str| {
        let mut command = Command::new("chattr");
        command.arg(how).arg(folder.at("run")).status().expect("chattr is there")
    };
    assert!(change("+i").success());
    let (status, events, errors) = run.go_on();
    change("-i");
    all_printed(&events, &errors, (status.code(), 3))
}

/// A run whose record has room until the first step.
fn on_a_full_disk(tool: &Tool, format: &str) -> Result<Output, String> {
    let folder = Folder::new();
    let _mounted = Mounted::memory("40k", folder.path());
    let more = ["--output", "run", "--no-report", "--output-format", format];
    let output = tool.run(folder.path(), &[&SMALL[..], &more].concat());
    unless(output.status.code() == Some(3), || complaint(&output))?;
    Ok(output)
}

/// A run within a limit of the shell's.
fn limited(tool: &Tool, limit: &str, run: &[&str]) -> Output {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit}; exec \"$@\""), "sh"]).arg(tool.path()).args(run);
    command.args(["--output", "run", "--no-report", "--output-format", "json"]);
    command.current_dir(folder.path()).env("RUST_BACKTRACE", "0");
    command.output().expect("there is a shell")
}
