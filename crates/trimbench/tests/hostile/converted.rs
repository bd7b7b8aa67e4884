//! `trace convert` with an output that is its own input under another name, or a file in use.

use std::fs::{self, File};
use std::process::Stdio;

use tests::Need::{Loop, Root};
use tests::{LoopDevice, Mounted};

use super::runs::{Folder, LOG, PRECIOUS};
use super::{command, ended};

/// `convert` to an iolog, with more behind it.
fn convert<'a>(from: &'a str, to: &'a str) -> [&'a str; 7] {
    ["trace", "convert", from, to, "--to", "iolog", "--overwrite"]
}

/// A folder with a trace in it.
fn with_log() -> Folder {
    let folder = Folder::new();
    fs::write(folder.at("log"), LOG).expect("the folder is ours");
    folder
}

/// That the trace is as it was.
fn kept(folder: &Folder) {
    let text = fs::read_to_string(folder.at("log")).unwrap_or_default();
    assert!(text == LOG, "the trace is now `{text}`");
}

#[test]
fn no_trace_is_converted_onto_its_own_hard_link() {
    let folder = with_log();
    fs::hard_link(folder.at("log"), folder.at("out")).expect("the folder is ours");
    folder.ends(&convert("log", "out"), 2);
    kept(&folder);
}

#[test]
fn no_trace_is_converted_onto_a_file_of_its_set() {
    let folder = Folder::new();
    let event = |time: u8| {
        let mut event = 0x6561_7407_u32.to_le_bytes().to_vec();
        event.resize(48, 0);
        event[8] = time;
        event[24..28].copy_from_slice(&512_u32.to_le_bytes());
        event[28..32].copy_from_slice(&(1_u32 | 2 << 16).to_le_bytes());
        event
    };
    for processor in [0, 1] {
        let path = folder.at(&format!("sda.blktrace.{processor}"));
        fs::write(path, event(processor)).expect("the folder is ours");
    }
    folder.ends(&convert("sda", "sda.blktrace.1"), 2);
    let kept = fs::read(folder.at("sda.blktrace.1")).is_ok_and(|content| content == event(1));
    assert!(kept, "a file of the set was overwritten");
}

#[test]
fn no_trace_is_converted_onto_the_file_behind_stdin() {
    let folder = with_log();
    let log = File::open(folder.at("log")).expect("it is there");
    let mut command = command(folder.path(), &convert("-", "log"));
    let output = command.stdin(log).output().expect("the program was built");
    kept(&folder);
    ended(&output, 2);
}

#[test]
fn no_trace_is_appended_to_itself_by_stdout() {
    let folder = with_log();
    let log = File::options().append(true).open(folder.at("log")).expect("it is there");
    let mut command = command(folder.path(), &convert("log", "-"));
    let child = command.stdout(log).stderr(Stdio::piped()).spawn();
    let output = child.expect("the program was built").wait_with_output().expect("it ends");
    kept(&folder);
    ended(&output, 2);
}

#[test]
fn no_trace_is_converted_onto_its_own_bind_mount() {
    machine!(beside, &[Root]);
    let folder = with_log();
    fs::write(folder.at("out"), "").expect("the folder is ours");
    let _mounted = Mounted::bind(&folder.at("log"), &folder.at("out"));
    folder.ends(&convert("log", "out"), 2);
    kept(&folder);
}

#[test]
fn no_trace_replaces_an_attached_image() {
    machine!(beside, &[Root, Loop]);
    let folder = with_log();
    let device = LoopDevice::over(&folder.at("image"), 1);
    folder.ends(&convert("log", "image"), 3);
    let size = fs::metadata(device.image()).map_or(0, |data| data.len());
    assert!(size == 1 << 20, "the image has {size} bytes");
}

#[test]
fn no_trace_replaces_a_file_that_is_being_written() {
    let folder = with_log();
    folder.precious();
    let _writer = File::options().append(true).open(folder.at("precious")).expect("it is ours");
    folder.ends(&convert("log", "precious"), 3);
    folder.kept();
}

#[test]
fn no_trace_replaces_the_record_of_a_run() {
    let folder = with_log();
    let record = folder.finished().join("run.json");
    let before = fs::read(&record).expect("a run keeps its record");
    folder.ends(&convert("log", "run/run.json"), 2);
    assert!(fs::read(&record).is_ok_and(|now| now == before), "the record is lost");
}

#[test]
fn a_full_disk_keeps_the_trace_that_was_there() {
    machine!(beside, &[Root]);
    let folder = Folder::new();
    let _mounted = Mounted::memory("64k", folder.path());
    folder.precious();
    let arguments =
        ["trace", "generate", "precious", "--to", "iolog", "--commands", "100000", "--overwrite"];
    folder.ends(&arguments, 3);
    folder.kept();
    let names = fs::read_dir(folder.path()).expect("it is mounted").count();
    assert!(names == 1, "half a trace is left");
}

#[test]
fn a_failed_conversion_keeps_the_trace_that_was_there() {
    let folder = Folder::new();
    fs::write(folder.at("log"), format!("{LOG}2 /d write -1 512\n")).expect("the folder is ours");
    folder.precious();
    folder.ends(&convert("log", "precious"), 2);
    let there = fs::read(folder.at("precious")).is_ok_and(|content| content == PRECIOUS);
    assert!(there, "the file that was there is gone");
}
