//! `trace convert` with an output that is its own input under another name, or a file in use.

use std::fs::{self, File};
use std::process::Stdio;

use super::runs::{Folder, LOG, PRECIOUS};
use super::{Attack, Tool, attack, complaint, unless};
use crate::{LoopDevice, Mounted, Need};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("no_trace_is_converted_onto_its_own_hard_link", &[], hard_link),
    attack("no_trace_is_converted_onto_a_file_of_its_set", &[], set),
    attack("no_trace_is_converted_onto_the_file_behind_stdin", &[], stdin),
    attack("no_trace_is_appended_to_itself_by_stdout", &[], appended),
    attack("no_trace_is_converted_onto_its_own_bind_mount", &[Need::Root], bind_mount),
    attack("no_trace_replaces_an_attached_image", &[Need::Root, Need::Loop], attached),
    attack("no_trace_replaces_a_file_that_is_being_written", &[], written_by_others),
    attack("no_trace_replaces_the_record_of_a_run", &[], over_a_record),
    attack("a_full_disk_keeps_the_trace_that_was_there", &[Need::Root], full),
    attack("a_failed_conversion_keeps_the_trace_that_was_there", &[], failed),
];

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
fn kept(folder: &Folder) -> Result<(), String> {
    let text = fs::read_to_string(folder.at("log")).unwrap_or_default();
    unless(text == LOG, || format!("the trace is now `{text}`"))
}

fn hard_link(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    fs::hard_link(folder.at("log"), folder.at("out")).expect("the folder is ours");
    let ended = folder.ends(tool, &convert("log", "out"), 2);
    kept(&folder)?;
    ended
}

fn set(tool: &Tool) -> Result<(), String> {
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
    let ended = folder.ends(tool, &convert("sda", "sda.blktrace.1"), 2);
    let kept = fs::read(folder.at("sda.blktrace.1")).is_ok_and(|content| content == event(1));
    unless(kept, || "a file of the set was overwritten".to_owned())?;
    ended
}

fn stdin(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    let log = File::open(folder.at("log")).expect("it is there");
    let mut command = tool.command(folder.path(), &convert("-", "log"));
    let output = command.stdin(log).output().expect("the program was built");
    kept(&folder)?;
    unless(output.status.code() == Some(2), || complaint(&output))
}

fn appended(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    let log = File::options().append(true).open(folder.at("log")).expect("it is there");
    let mut command = tool.command(folder.path(), &convert("log", "-"));
    let child = command.stdout(log).stderr(Stdio::piped()).spawn();
    let output = child.expect("the program was built").wait_with_output().expect("it ends");
    kept(&folder)?;
    unless(output.status.code() == Some(2), || complaint(&output))
}

fn bind_mount(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    fs::write(folder.at("out"), "").expect("the folder is ours");
    let _mounted = Mounted::bind(&folder.at("log"), &folder.at("out"));
    let ended = folder.ends(tool, &convert("log", "out"), 2);
    kept(&folder)?;
    ended
}

fn attached(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    let device = LoopDevice::over(&folder.at("image"), 1);
    let ended = folder.ends(tool, &convert("log", "image"), 3);
    let size = fs::metadata(device.image()).map_or(0, |data| data.len());
    unless(size == 1 << 20, || format!("the image has {size} bytes"))?;
    ended
}

fn written_by_others(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    folder.precious();
    let _writer = File::options().append(true).open(folder.at("precious")).expect("it is ours");
    let ended = folder.ends(tool, &convert("log", "precious"), 3);
    folder.kept()?;
    ended
}

fn over_a_record(tool: &Tool) -> Result<(), String> {
    let folder = with_log();
    let record = folder.finished(tool).join("run.json");
    let before = fs::read(&record).expect("a run keeps its record");
    let ended = folder.ends(tool, &convert("log", "run/run.json"), 2);
    unless(fs::read(&record).is_ok_and(|now| now == before), || "the record is lost".to_owned())?;
    ended
}

fn full(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let _mounted = Mounted::memory("64k", folder.path());
    folder.precious();
    let arguments =
        ["trace", "generate", "precious", "--to", "iolog", "--commands", "100000", "--overwrite"];
    let ended = folder.ends(tool, &arguments, 3);
    folder.kept()?;
    let names = fs::read_dir(folder.path()).expect("it is mounted").count();
    unless(names == 1, || "half a trace is left".to_owned())?;
    ended
}

fn failed(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    fs::write(folder.at("log"), format!("{LOG}2 /d write -1 512\n")).expect("the folder is ours");
    folder.precious();
    let ended = folder.ends(tool, &convert("log", "precious"), 2);
    let there = fs::read(folder.at("precious")).is_ok_and(|content| content == PRECIOUS);
    unless(there, || "the file that was there is gone".to_owned())?;
    ended
}
