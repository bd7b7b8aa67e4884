//! `trimbench trace`: what it prints, what it writes, and what it leaves alone.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::interrupts::{signal, wait_until};
use super::{code, command, stderr, stdout, trimbench};

/// Five commands, one of them a TRIM of more than 4 GiB.
const LOG: &str = "fio version 3 iolog\n0 /d add\n0 /d open\n0 /d write 0 8192\n\
                   1000 /d write 8192 4096\n2000 /d trim 0 4294971392\n3000 /d trim 0 8192\n\
                   4000 /d write 4096 4096\n4000 /d close\n";

/// A folder with this file.
fn folder(name: &str, content: &str) -> TempDir {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    folder
}

fn trace(folder: &Path, arguments: &[&str]) -> std::process::Output {
    trimbench(folder, &[&["trace"], arguments].concat())
}

fn statistics(folder: &Path, arguments: &[&str]) -> Value {
    let arguments = [&["stat"], arguments, &["--output-format", "json"]].concat();
    let output = trace(folder, &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn a_trace_is_described_for_people_and_programs() {
    let folder = folder("log", LOG);
    let output = trace(folder.path(), &["stat", "log"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    let text = stdout(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "readable at 80 columns: {text}");
    let heading = "iolog: 5 commands over 4 ms, up to byte 4294971392 (4.29 GB)";
    assert!(text.starts_with(heading), "{text}");
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let words: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
        words.join(" ")
    };
    assert_eq!(row("write"), "write 3 16.4 KB 5.46 KB 33.3 % 25 %", "{text}");
    assert_eq!(row("double"), "double (was trimmed) 8.19 KB 0.000191 % 1", "{text}");

    let document = statistics(folder.path(), &["log"]);
    assert_eq!(document["kinds"][2]["bytes"], 4_294_979_584_u64);
    assert_eq!(document["trims"]["freed_bytes"], 12_288);
    assert_eq!(document["trims"]["rewritten_bytes"], 4096);
    assert_eq!(document["trims"]["distance_commands"][0]["to"], 0);
    assert_eq!(document["live"]["end_bytes"], 4096);
    let large = statistics(folder.path(), &["log", "--unit", "64KiB"]);
    assert_eq!(large["trims"]["partial_bytes"], 4096 + 8192);
}

#[test]
fn each_format_that_is_written_tells_the_same() {
    let folder = folder("log", LOG);
    let expected = statistics(folder.path(), &["log"]);
    for (name, format) in [("a", "trimbench"), ("b", "blkparse"), ("c", "iolog")] {
        let output = trace(folder.path(), &["convert", "log", name, "--to", format]);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output), format!("5 commands, iolog to {format}\n"));
        let mut found = statistics(folder.path(), &[name]);
        assert_eq!(found["format"], format);
        for key in ["format", "ignored"] {
            found[key] = expected[key].clone();
        }
        assert_eq!(found, expected, "{format}");
        // The same through pipes, with the account beside it.
        let shell = format!("exec \"$0\" trace convert - - --to {format} < log > piped");
        let program = env!("CARGO_BIN_EXE_trimbench");
        let mut shell_command = std::process::Command::new("sh");
        shell_command.args(["-c", &shell, program]).current_dir(folder.path());
        let mut piped = shell_command.stderr(Stdio::null()).spawn().unwrap();
        assert!(piped.wait().unwrap().success());
        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes("piped"), bytes(name), "{format}");
    }
}

#[test]
fn what_is_there_is_not_written_over() {
    let folder = folder("log", LOG);
    std::fs::write(folder.path().join("out"), "mine").unwrap();
    std::os::unix::fs::symlink("log", folder.path().join("link")).unwrap();
    let convert = |out: &str, more: &[&str]| {
        let arguments = [&["convert", "log", out, "--to", "blkparse"], more].concat();
        let output = trace(folder.path(), &arguments);
        (code(&output), stderr(&output))
    };
    let content = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (code, text) = convert("out", &[]);
    assert_eq!((code, content("out").as_str()), (Some(2), "mine"));
    assert!(text.starts_with("error: `out` is there already\n\nhint: "), "{text}");
    for itself in ["log", "link"] {
        let (code, text) = convert(itself, &["--overwrite"]);
        assert_eq!((code, content("log").as_str()), (Some(2), LOG), "{text}");
        assert!(text.contains("is the trace itself"), "{text}");
    }
    let (code, text) = convert("/dev/null", &["--overwrite"]);
    assert!(code == Some(2) && text.contains("is no regular file"), "{text}");
    assert_eq!(convert("out", &["--overwrite"]).0, Some(0));
    assert!(content("out").contains("Q   D 0 + 8388616"), "{}", content("out"));
}

#[test]
fn what_was_begun_is_removed_after_an_error() {
    let folder = folder("log", &format!("{LOG}5000 /d write -1 512\n5001 /d write 1 512\n"));
    let convert = |more: &[&str]| {
        let arguments = [&["convert", "log", "out", "--to", "iolog"], more].concat();
        trace(folder.path(), &arguments)
    };
    let out = folder.path().join("out");
    let output = convert(&[]);
    let text = stderr(&output);
    assert_eq!((code(&output), out.exists()), (Some(2), false), "{text}");
    let place =
        "error: log, line 10: `5000 /d write -1 512`; expected numbers that are not negative";
    assert!(text.starts_with(place), "{text}");
    assert!(text.contains("hint: `--lenient` skips what is wrong, and counts it"), "{text}");
    let output = convert(&["--lenient"]);
    assert_eq!((code(&output), out.exists()), (Some(0), true), "{}", stderr(&output));
    assert_eq!(stderr(&output), "skipped: 1 x negative number\n");
    let output = trace(folder.path(), &["convert", "out", "text", "--to", "blkparse"]);
    assert!(stderr(&output).contains("record 6 (512 B at byte 1) is not whole sectors"));
    assert!(!folder.path().join("text").exists());
}

#[test]
fn a_set_is_named_by_its_beginning_and_a_trace_of_nothing_is_an_error() {
    let folder = folder("sda.blktrace.0", "");
    let event = |time: u64| {
        let mut event = 0x6561_7407_u32.to_le_bytes().to_vec();
        event.resize(48, 0);
        event[8..16].copy_from_slice(&time.to_le_bytes());
        event[24..28].copy_from_slice(&512_u32.to_le_bytes());
        event[28..32].copy_from_slice(&(1_u32 | 2 << 16).to_le_bytes());
        event
    };
    for (processor, times) in [(1, [5, 9]), (10, [6, 7]), (2, [1, 2])] {
        let events = times.map(event).concat();
        std::fs::write(folder.path().join(format!("sda.blktrace.{processor}")), events).unwrap();
    }
    let found = statistics(folder.path(), &["sda"]);
    assert_eq!((&found["records"], &found["duration_ns"]), (&6.into(), &8.into()));
    let output = trace(folder.path(), &["stat", "sda", "--event", "issue"]);
    let text = stderr(&output);
    assert_eq!(code(&output), Some(2));
    assert_eq!(text, "error: the trace has no command: 6 events of other kinds\n");
    let output = trace(folder.path(), &["stat", "nothing"]);
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).starts_with("error: cannot read `nothing`: No such file"));
    let output = trace(folder.path(), &["stat", "."]);
    assert!(stderr(&output).starts_with("error: `.` is a directory"));
    let output = trace(folder.path(), &["stat", "sda.blktrace.0"]);
    assert!(stderr(&output).starts_with("error: sda.blktrace.0: it is empty"));
}

/// A conversion that reads from this end of a pipe, and has begun to write.
fn begun(folder: &Path) -> Child {
    let arguments = ["trace", "convert", "-", "out", "--to", "blkparse"];
    let mut command = command(folder, &arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn what_was_begun_is_removed_after_ctrl_c() {
    let folder = tempdir().unwrap();
    let out = folder.path().join("out");
    let mut child = begun(folder.path());
    let mut pipe = child.stdin.take().unwrap();
    // It reads on as long as there is something to read.
    let endless = std::thread::spawn(move || while pipe.write_all(b"Write 0 8\n").is_ok() {});
    wait_until(&mut child, || out.metadata().is_ok_and(|it| it.len() > 0));
    signal(&child, "-INT");
    assert_eq!((child.wait().unwrap().code(), out.exists()), (Some(130), false));
    endless.join().unwrap();
}

#[test]
fn what_was_begun_is_removed_when_ctrl_c_insists() {
    let folder = tempdir().unwrap();
    let out = folder.path().join("out");
    let mut child = begun(folder.path());
    // Enough for the format to be found, and then silence.
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&b"Write 0 8\n".repeat(30_000)).unwrap();
    wait_until(&mut child, || out.exists());
    signal(&child, "-INT");
    signal(&child, "-TERM");
    while child.try_wait().unwrap().is_none() {
        signal(&child, "-INT");
    }
    assert_eq!((child.wait().unwrap().code(), out.exists()), (Some(130), false));
}

#[test]
fn a_damaged_file_of_ours_is_an_error_like_others() {
    let folder = folder("log", LOG);
    let output = trace(folder.path(), &["convert", "log", "ours", "--to", "trimbench"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let whole = std::fs::read(folder.path().join("ours")).unwrap();
    let mut surprised = 0;
    // Where Parquet says what stands where: a decoder believes it, and may panic.
    for at in (whole.len() * 3 / 5..whole.len() * 9 / 10).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(folder.path().join("damaged"), damaged).unwrap();
        let output = trace(folder.path(), &["stat", "damaged"]);
        let text = stderr(&output);
        surprised += usize::from(text.contains("where its decoder did not expect it"));
        assert!(matches!(code(&output), Some(0 | 2)) && !text.contains("panicked"), "{at}: {text}");
        assert!(text.is_empty() || text.starts_with("error: damaged"), "{at}: {text}");
    }
    assert!(surprised > 0, "no damage surprised the decoder");
}
