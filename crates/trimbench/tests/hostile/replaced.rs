//! Files that `report` must not replace: records, special files, files of others.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat};

use tests::LoopDevice;
use tests::Need::{Loop, Root};

use super::runs::{Folder, PRECIOUS, is_zero};
use super::{ended, trimbench};

fn node(path: &Path, kind: FileType, number: u64) {
    mknodat(CWD, path, kind, Mode::from_raw_mode(0o600), number).expect("the folder takes nodes");
}

#[test]
fn nothing_of_a_report_replaces_a_record() {
    for (option, file) in [
        ("--html", "run/run.json"),
        ("--html", "run/host.json"),
        ("--context", "run/run.json"),
        ("--html", "hard.html"),
        ("--html", "symbolic.html"),
    ] {
        let folder = Folder::new();
        folder.finished();
        let linked = match file {
            "hard.html" => fs::hard_link(folder.at("run/run.json"), folder.at(file)),
            "symbolic.html" => symlink("run/run.json", folder.at(file)),
            _ => Ok(()),
        };
        linked.expect("the folder is ours");
        let state = || {
            let (record, host) = (folder.at("run/run.json"), folder.at("run/host.json"));
            let inode = fs::symlink_metadata(folder.at(file)).map(|data| data.ino()).ok();
            (fs::read(record).ok(), fs::read(host).ok(), inode)
        };
        let before = state();
        folder.ends(&["report", "run", option, file], 2);
        assert!(state() == before, "{file} was replaced");
    }
}

#[test]
fn nothing_of_a_report_replaces_another_s_file() {
    for (option, place, file) in [
        ("--html", "precious", "precious"),
        ("--context", "precious", "precious"),
        ("--csv", ".", "steps.csv"),
        ("--figures", ".", "delete-stall-headline.svg"),
    ] {
        let folder = Folder::new();
        folder.finished();
        fs::write(folder.at(file), PRECIOUS).expect("the folder is ours");
        let names = || fs::read_dir(folder.path()).expect("the folder is ours").count();
        let before = names();
        folder.ends(&["report", "run", option, place], 2);
        let kept = fs::read(folder.at(file)).is_ok_and(|content| content == PRECIOUS);
        assert!(kept, "{file} was replaced");
        assert!(names() == before, "something was written although it was refused");
    }
}

#[test]
fn a_resumed_run_replaces_no_page_of_others() {
    let folder = Folder::new();
    let run = folder.finished();
    fs::write(run.join("report.html"), PRECIOUS).expect("the folder is ours");
    let output = trimbench(folder.path(), &["run", "--resume", "run"]);
    let kept = fs::read(run.join("report.html")).is_ok_and(|content| content == PRECIOUS);
    assert!(kept, "the page was replaced");
    ended(&output, 2);
}

#[test]
fn a_character_device_stays_one() {
    machine!(beside, &[Root]);
    let folder = Folder::new();
    folder.finished();
    node(&folder.at("null"), FileType::CharacterDevice, makedev(1, 3));
    folder.ends(&["report", "run", "--html", "null"], 0);
    let data = fs::symlink_metadata(folder.at("null")).expect("a name stays");
    assert!(data.file_type().is_char_device(), "the node was replaced");
}

#[test]
fn a_block_device_stays_one() {
    machine!(beside, &[Root, Loop]);
    let folder = Folder::new();
    let device = LoopDevice::new(1);
    folder.finished();
    let number = fs::metadata(device.node()).expect("it is there").rdev();
    node(&folder.at("disk"), FileType::BlockDevice, number);
    folder.ends(&["report", "run", "--html", "disk"], 2);
    let data = fs::symlink_metadata(folder.at("disk")).expect("a name stays");
    assert!(data.file_type().is_block_device(), "the node was replaced");
    assert!(is_zero(device.node()), "the page lies on the device");
}

#[test]
fn a_pipe_stays_one_and_gets_what_is_written() {
    let folder = Folder::new();
    folder.finished();
    node(&folder.at("pipe"), FileType::Fifo, 0);
    // Open at both ends, so that nobody waits; the context has room in a pipe.
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let reader = rustix::fs::open(folder.at("pipe"), flags, Mode::empty());
    let mut reader = File::from(reader.expect("the pipe is ours"));
    folder.ends(&["report", "run", "--context", "pipe"], 0);
    let data = fs::symlink_metadata(folder.at("pipe")).expect("a name stays");
    assert!(data.file_type().is_fifo(), "the pipe was replaced");
    let mut text = [0; 16];
    let got = reader.read(&mut text).unwrap_or(0);
    assert!(got == 16 && text[0] == b'{', "nothing came through the pipe");
}

#[test]
fn a_link_to_stdout_stays_one_and_stdout_gets_what_is_written() {
    let folder = Folder::new();
    folder.finished();
    symlink("/proc/self/fd/1", folder.at("out")).expect("the folder is ours");
    let output = trimbench(folder.path(), &["report", "run", "--html", "out"]);
    assert!(folder.at("out").is_symlink(), "the link was replaced");
    ended(&output, 0);
    let text = String::from_utf8_lossy(&output.stdout);
    let whole = text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>");
    assert!(whole, "stdout has something else than the page");
}

/// A record whose method is called so that its charts' files would lie elsewhere.
#[test]
fn no_figure_is_written_outside_its_directory() {
    let folder = Folder::new();
    let run = folder.finished();
    let text = fs::read_to_string(run.join("run.json")).expect("a run keeps its record");
    let evil = text.replace("\"delete-stall\"", "\"../evil\"");
    assert_ne!(text, evil, "the record names its method");
    fs::write(run.join("run.json"), evil).expect("the folder is ours");
    folder.ends(&["report", "run", "--figures", "figures"], 0);
    let names = fs::read_dir(folder.path()).expect("the folder is ours").count();
    assert!(names == 2, "files lie beside the directory");
}
