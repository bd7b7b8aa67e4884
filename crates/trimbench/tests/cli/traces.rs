//! `trimbench trace`: what it prints, what it writes, and what it leaves alone.

use std::io::{Read as _, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use tests::Need::{Loop, Root, Tracing};
use tests::{LoopDevice, requires, run};

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
    assert!(text.starts_with("error: `out` already exists\n\nhint: "), "{text}");
    for (out, reason) in [("log", "is the trace itself"), ("link", "is a symbolic link, and")] {
        let (code, text) = convert(out, &["--overwrite"]);
        assert_eq!((code, content("log").as_str()), (Some(2), LOG), "{text}");
        assert!(text.contains(reason), "{text}");
    }
    let (code, text) = convert("/dev/null", &[]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = convert(".", &["--overwrite"]);
    assert!(code == Some(2) && text.contains("names no file"), "{text}");
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
    assert!(text.contains("hint: `--lenient` skips errors, and counts them"), "{text}");
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
    assert!(stderr(&output).starts_with("error: cannot read `nothing`: ENOENT"));
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

/// The bytes of what was begun, which has a name of its own until it is whole.
fn draft(folder: &Path) -> Option<u64> {
    let entry = std::fs::read_dir(folder).unwrap().next()?.unwrap();
    let name = entry.file_name().into_string().unwrap();
    assert!(name.starts_with(".out.") && name.ends_with(".partial"), "{name}");
    Some(entry.metadata().unwrap().len())
}

#[test]
fn what_was_begun_is_removed_after_ctrl_c() {
    let folder = tempdir().unwrap();
    let mut child = begun(folder.path());
    let mut pipe = child.stdin.take().unwrap();
    // It reads on as long as there is something to read.
    let endless = std::thread::spawn(move || while pipe.write_all(b"Write 0 8\n").is_ok() {});
    wait_until(&mut child, || draft(folder.path()).is_some_and(|bytes| bytes > 0));
    signal(&child, "-INT");
    assert_eq!((child.wait().unwrap().code(), draft(folder.path())), (Some(130), None));
    endless.join().unwrap();
}

#[test]
fn what_was_begun_is_removed_when_ctrl_c_insists() {
    let folder = tempdir().unwrap();
    let mut child = begun(folder.path());
    // Enough for the format to be found, and then silence.
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&b"Write 0 8\n".repeat(30_000)).unwrap();
    wait_until(&mut child, || draft(folder.path()).is_some());
    signal(&child, "-INT");
    signal(&child, "-TERM");
    while child.try_wait().unwrap().is_none() {
        signal(&child, "-INT");
    }
    assert_eq!((child.wait().unwrap().code(), draft(folder.path())), (Some(130), None));
}

#[test]
fn what_is_no_device_cannot_be_recorded() {
    let folder = folder("log", LOG);
    let output = trace(folder.path(), &["record", "log", "out", "--to", "trimbench"]);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("cannot record `log`: there is no block device below"), "{said}");
    assert!(said.contains("hint: name a block device"), "{said}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_recording_ends_with_its_time_or_with_ctrl_c_and_is_whole_both_times() {
    let test = "a_recording_ends_with_its_time_or_with_ctrl_c_and_is_whole_both_times";
    if !requires(test, &[Root, Loop, Tracing]) {
        return;
    }
    let folder = tempdir().unwrap();
    let device = LoopDevice::new(16);
    let node = device.node();
    let recording = |arguments: &[&str]| -> Child {
        let arguments = [&["trace", "record", node], arguments].concat();
        let mut recording = command(folder.path(), &arguments);
        let mut recording =
            recording.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // It says so when it has begun.
        let mut said = [0];
        recording.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
        recording
    };
    let ended = recording(&["timed", "--to", "trimbench", "--time", "300ms"]);
    run("blkdiscard", &["--offset", "1048576", "--length", "2097152", node]);
    let output = ended.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    // Who looks at new devices may read from it.
    assert!(
        stdout(&output).ends_with(&format!(" commands, {node} to trimbench\n")),
        "{}",
        stdout(&output)
    );
    let timed = statistics(folder.path(), &["timed"]);
    assert_eq!(timed["kinds"][2]["bytes"], 2 << 20, "{timed:#}");

    let endless = recording(&["endless", "--to", "iolog", "--event", "issue"]);
    run("blkdiscard", &["--offset", "0", "--length", "4096", node]);
    signal(&endless, "-INT");
    let output = endless.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let endless = statistics(folder.path(), &["endless"]);
    assert_eq!(endless["kinds"][2]["bytes"], 4096, "{endless:#}");
}

#[test]
fn a_made_trace_is_what_was_asked_for_and_the_same_each_time() {
    let folder = tempdir().unwrap();
    let arguments = ["generate", "made", "--to", "trimbench", "--capacity", "64MiB"];
    for (name, seed) in [("made", "1"), ("again", "1"), ("other", "2")] {
        let mut arguments = arguments.to_vec();
        arguments[1] = name;
        let output = trace(folder.path(), &[&arguments[..], &["--seed", seed]].concat());
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("made"), read("again"));
    assert_ne!(read("made"), read("other"));
    let document = statistics(folder.path(), &["made"]);
    let written = document["kinds"][1]["bytes"].as_u64().unwrap();
    assert!(written.abs_diff(64 * 25 * (1 << 20) / 8) < 1 << 18, "{written}");
    assert_eq!(document["kinds"][0]["commands"], 0);

    let mix = ["generate", "mix", "--to", "iolog", "--capacity", "64MiB", "--commands", "1000"];
    let output = trace(folder.path(), &[&mix[..], &["--reads", "100%", "--size", "8KiB"]].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let document = statistics(folder.path(), &["mix"]);
    assert_eq!(document["kinds"][0]["bytes"], 1_000 * 8_192);
    for (wrong, expected) in [
        (&["--capacity", "1MiB"][..], "give at least 16MiB"),
        (&["--length", "0%"], "give 1% to 100%"),
        (&["--reads", "1%"], "--commands"),
        (&["--commands", "9", "--size", "5000B"], "is not a multiple of 4KiB"),
    ] {
        let output = trace(folder.path(), &[&["generate", "x", "--to", "iolog"], wrong].concat());
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(!folder.path().join("x").exists(), "nothing is begun");
    }
}

/// Replays a trace file on a small drive and returns the output.
fn replay(folder: &Path, file: &str, set: &[&str]) -> std::process::Output {
    replay_with(folder, file, set, &[])
}

/// The same with more arguments.
fn replay_with(folder: &Path, file: &str, set: &[&str], more: &[&str]) -> std::process::Output {
    let trace = format!("trace={file}");
    let mut arguments = vec!["run", "replay", "--target", "sim:generic-sata-tlc,capacity=128MiB"];
    arguments.extend(more);
    for set in [&[trace.as_str(), "window=100"], set].concat() {
        arguments.extend(["--set", set]);
    }
    trimbench(folder, &arguments)
}

#[test]
fn a_trace_file_is_replayed_as_the_generated_one_is() {
    let folder = tempdir().unwrap();
    let made = ["generate", "made", "--to", "trimbench", "--capacity", "128MiB", "--length", "20%"];
    assert_eq!(code(&trace(folder.path(), &made)), Some(0));
    let table = |output: std::process::Output| {
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        let start = text.find("figure").expect("a table of figures");
        text[start..text.find("Caveats").expect("caveats")].to_owned()
    };
    let from_file = table(replay(folder.path(), "made", &["length=20%"]));
    assert_eq!(from_file, table(replay(folder.path(), "generated", &["length=20%"])));
}

#[test]
fn a_dry_run_says_what_the_trace_writes_or_why_it_cannot_be_replayed() {
    let folder = folder("log", LOG);
    let dry = |file: &str, set: &[&str]| {
        let output = replay_with(folder.path(), file, set, &["--dry-run"]);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    // Four fills of 128 MiB and four times 16 KiB.
    let text = dry("log", &["scaling=truncate"]);
    assert!(text.contains("writes       at most about 537 MB, 4.0 times the drive"), "{text}");
    assert!(text.contains("destroys     nothing"), "{text}");
    let text = dry("log", &[]);
    assert!(text.contains("refused      the trace cannot be replayed here: command 3"), "{text}");
    assert!(!text.contains("writes"), "{text}");
    let text = dry("missing", &[]);
    assert!(text.contains("refused      the trace cannot be read: missing: ENOENT"), "{text}");
}

#[test]
fn a_trace_that_cannot_be_replayed_is_refused_with_what_to_do() {
    let folder = folder("log", LOG);
    for (file, set, expected) in [
        ("missing", &[][..], "missing: ENOENT"),
        (".", &[], "it is no regular file"),
        ("log", &[], "command 3 (4294971392 bytes at byte 0)"),
        ("log", &["scaling=nearest"], "is not one of refuse, modulo, linear, truncate"),
    ] {
        let output = replay(folder.path(), file, set);
        assert_ne!(code(&output), Some(0), "{file}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let output = replay(folder.path(), "log", &["scaling=truncate"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("trace-altered"), "{}", stdout(&output));
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
