//! Files that `report` must not replace: records, special files, files of others.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat};

use super::runs::{Folder, PRECIOUS, is_zero};
use super::{Attack, Tool, attack, complaint, unless};
use crate::{LoopDevice, Need};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("no_page_replaces_a_record", &[], |tool| {
        over_a_record(tool, ["--html", "run/run.json"], |_| Ok(()))
    }),
    attack("no_page_replaces_the_host_file", &[], |tool| {
        over_a_record(tool, ["--html", "run/host.json"], |_| Ok(()))
    }),
    attack("no_context_replaces_a_record", &[], |tool| {
        over_a_record(tool, ["--context", "run/run.json"], |_| Ok(()))
    }),
    attack("no_page_replaces_a_record_by_a_hard_link", &[], |tool| {
        over_a_record(tool, ["--html", "page.html"], |folder| {
            fs::hard_link(folder.join("run/run.json"), folder.join("page.html"))
        })
    }),
    attack("no_page_replaces_a_symbolic_link_to_a_record", &[], |tool| {
        over_a_record(tool, ["--html", "page.html"], |folder| {
            symlink("run/run.json", folder.join("page.html"))
        })
    }),
    attack("no_page_replaces_another_s_file", &[], |tool| {
        over_a_file(tool, ["--html", "precious"], "precious")
    }),
    attack("no_context_replaces_another_s_file", &[], |tool| {
        over_a_file(tool, ["--context", "precious"], "precious")
    }),
    attack("no_table_replaces_another_s_file", &[], |tool| {
        over_a_file(tool, ["--csv", "."], "steps.csv")
    }),
    attack("no_figure_replaces_another_s_file", &[], |tool| {
        over_a_file(tool, ["--figures", "."], "delete-stall-headline.svg")
    }),
    attack("a_resumed_run_replaces_no_page_of_others", &[], resumed_over_a_page),
    attack("a_character_device_stays_one", &[Need::Root], character_device),
    attack("a_block_device_stays_one", &[Need::Root, Need::Loop], block_device),
    attack("a_pipe_stays_one_and_gets_what_is_written", &[], pipe),
    attack("a_link_to_stdout_stays_one_and_stdout_gets_what_is_written", &[], stdout),
    attack("no_figure_is_written_outside_its_directory", &[], outside),
];

fn over_a_record(
    tool: &Tool,
    [option, file]: [&str; 2],
    plant: fn(&Path) -> std::io::Result<()>,
) -> Result<(), String> {
    let folder = Folder::new();
    folder.finished(tool);
    plant(folder.path()).expect("the folder is ours");
    let state = || {
        let (record, host) = (folder.at("run/run.json"), folder.at("run/host.json"));
        let inode = fs::symlink_metadata(folder.at(file)).map(|data| data.ino()).ok();
        (fs::read(record).ok(), fs::read(host).ok(), inode)
    };
    let before = state();
    let ended = folder.ends(tool, &["report", "run", option, file], 2);
    unless(state() == before, || format!("{file} was replaced"))?;
    ended
}

fn over_a_file(tool: &Tool, [option, place]: [&str; 2], file: &str) -> Result<(), String> {
    let folder = Folder::new();
    folder.finished(tool);
    fs::write(folder.at(file), PRECIOUS).expect("the folder is ours");
    let names = || fs::read_dir(folder.path()).expect("the folder is ours").count();
    let before = names();
    let ended = folder.ends(tool, &["report", "run", option, place], 2);
    let kept = fs::read(folder.at(file)).is_ok_and(|content| content == PRECIOUS);
    unless(kept, || format!("{file} was replaced"))?;
    unless(names() == before, || "something was written although it was refused".to_owned())?;
    ended
}

fn resumed_over_a_page(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.finished(tool);
    fs::write(run.join("report.html"), PRECIOUS).expect("the folder is ours");
    let output = tool.run(folder.path(), &["run", "--resume", "run"]);
    let kept = fs::read(run.join("report.html")).is_ok_and(|content| content == PRECIOUS);
    unless(kept, || "the page was replaced".to_owned())?;
    unless(output.status.code() == Some(2), || complaint(&output))
}

fn node(path: &Path, kind: FileType, number: u64) {
    mknodat(CWD, path, kind, Mode::from_raw_mode(0o600), number).expect("the folder takes nodes");
}

fn character_device(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    folder.finished(tool);
    node(&folder.at("null"), FileType::CharacterDevice, makedev(1, 3));
    let ended = folder.ends(tool, &["report", "run", "--html", "null"], 0);
    let data = fs::symlink_metadata(folder.at("null")).expect("a name stays");
    unless(data.file_type().is_char_device(), || "the node was replaced".to_owned())?;
    ended
}

fn block_device(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let device = LoopDevice::new(1);
    folder.finished(tool);
    let number = fs::metadata(device.node()).expect("it is there").rdev();
    node(&folder.at("disk"), FileType::BlockDevice, number);
    let ended = folder.ends(tool, &["report", "run", "--html", "disk"], 2);
    let data = fs::symlink_metadata(folder.at("disk")).expect("a name stays");
    unless(data.file_type().is_block_device(), || "the node was replaced".to_owned())?;
    unless(is_zero(device.node()), || "the page lies on the device".to_owned())?;
    ended
}

fn pipe(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    folder.finished(tool);
    node(&folder.at("pipe"), FileType::Fifo, 0);
    // Open at both ends, so that nobody waits; the context has room in a pipe.
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let reader = rustix::fs::open(folder.at("pipe"), flags, Mode::empty());
    let mut reader = File::from(reader.expect("the pipe is ours"));
    let ended = folder.ends(tool, &["report", "run", "--context", "pipe"], 0);
    let data = fs::symlink_metadata(folder.at("pipe")).expect("a name stays");
    unless(data.file_type().is_fifo(), || "the pipe was replaced".to_owned())?;
    let mut text = [0; 16];
    let got = reader.read(&mut text).unwrap_or(0);
    unless(got == 16 && text[0] == b'{', || "nothing came through the pipe".to_owned())?;
    ended
}

fn stdout(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    folder.finished(tool);
    symlink("/proc/self/fd/1", folder.at("out")).expect("the folder is ours");
    let output = tool.run(folder.path(), &["report", "run", "--html", "out"]);
    unless(folder.at("out").is_symlink(), || "the link was replaced".to_owned())?;
    unless(output.status.success(), || complaint(&output))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let whole = text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>");
    unless(whole, || "stdout has something else than the page".to_owned())
}

/// A record whose method is called so that its charts' files would lie elsewhere.
fn outside(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.finished(tool);
    let text = fs::read_to_string(run.join("run.json")).expect("a run keeps its record");
    let evil = text.replace("\"delete-stall\"", "\"../evil\"");
    assert_ne!(text, evil, "the record names its method");
    fs::write(run.join("run.json"), evil).expect("the folder is ours");
    let ended = folder.ends(tool, &["report", "run", "--figures", "figures"], 0);
    let names = fs::read_dir(folder.path()).expect("the folder is ours").count();
    unless(names == 2, || "files lie beside the directory".to_owned())?;
    ended
}
