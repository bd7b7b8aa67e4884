//! The command line as a user meets it: what it prints, what it keeps, how it ends.
//!
//! These tests need neither root nor a device: they run emulated drives, image files that they
//! made, and directories of their own where the file system below allows it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod attach;
mod attached;
mod browser;
mod compare;
mod devices;
mod directories;
mod doctor;
mod endings;
mod errors;
mod exports;
mod filesystems;
mod first_screen;
mod fit;
mod forecasts;
mod formats;
mod guests;
mod images;
mod interrupts;
mod jobs;
mod lists;
mod looks;
mod mistakes;
mod pages;
mod pauses;
mod policies;
mod postmark;
mod quiet;
mod recipes;
mod refusals;
mod runs;
mod switched;
mod tampering;
mod traces;
mod untrusted;
mod values;

use std::path::Path;
use std::process::{Command, Output};

use tests::kept_record;
use trimbench_results::RunRecord;

/// The program with these arguments, in `folder`, without the environment's wishes about colour.
/// Runs write no page, which takes longer than most of them.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program(folder, arguments);
    command.args((arguments.first() == Some(&"run")).then_some("--no-report"));
    command
}

/// The same, with the page. Runs do not look for other load, which is there: other tests.
fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = looking(folder, arguments);
    command.args(unlooked(arguments));
    command
}

/// What keeps a command that measures from looking for other load.
fn unlooked(arguments: &[&str]) -> &'static [&'static str] {
    let measures = arguments.first() == Some(&"run") || arguments.contains(&"--measure");
    if measures { &["--quiet-wait", "0s"] } else { &[] }
}

/// The program with these arguments and no others.
fn looking(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trimbench"));
    command.args(arguments).current_dir(folder);
    command.env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
    command
}

fn trimbench(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the program was built")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A small, quick session on one emulated drive.
const SMALL: [&str; 8] = [
    "run",
    "delete-stall",
    "--capacity",
    "1GiB",
    "--set",
    "sizes=16MiB,32MiB,64MiB",
    "--set",
    "span=64MiB",
];

/// The arguments of [`SMALL`] with more behind them.
fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().collect()
}

fn record(folder: &Path, run: &str) -> RunRecord {
    kept_record(&folder.join(run)).expect("a run keeps its record, and it is readable")
}
