//! Names that are not UTF-8, terminal escape sequences, shell metacharacters, spreadsheet formulas.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tests::LoopDevice;
use tests::Need::{Loop, Program, Root};
use tests::machine::apart_from_mounts;
use trimbench_core::text::is_hidden;

use super::{DRIVE, PROGRAM, complaint, ended, folder, measured, quick, trimbench};

/// A name with a byte that no UTF-8 has, and how records write it.
const RAW: &[u8] = b"raw\xff";
const RAW_TEXT: &str = r"raw\xff'";
/// Ends a line, speaks to the terminal in C0 and C1, and turns the direction of writing.
const TAINT: &str = "\u{1b}]0;taken\u{7}\u{9b}31m\u{202e}";

fn of(text: &str) -> &OsStr {
    OsStr::new(text)
}

/// An image of 64 MiB of this name.
fn image(folder: &Path, name: &[u8]) -> PathBuf {
    let path = folder.join(OsStr::from_bytes(name));
    let file = fs::File::create_new(&path).expect("the folder is ours");
    file.set_len(64 << 20).expect("sparse files take no room");
    path
}

/// JSON that the program wrote.
fn read(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("it is JSON")
}

/// A finished run of an emulated drive in `run`, its record changed.
fn changed_record(folder: &Path, change: impl FnOnce(&mut Value)) {
    let output = trimbench(folder, &quick(&[of("--target"), of(DRIVE), of("--output"), of("run")]));
    ended(&output, 0);
    let mut json = read(&folder.join("run/run.json"));
    change(&mut json);
    let bytes = serde_json::to_vec_pretty(&json).expect("it was JSON");
    fs::write(folder.join("run/run.json"), bytes).expect("the folder is ours");
}

/// Nothing but characters that are shown, and ends of lines.
fn is_shown(output: &Output) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        let found = text.lines().find(|line| line.contains(is_hidden));
        assert!(found.is_none(), "{stream} has {found:?}");
    }
}

/// The words of the first command in a hint from `after` on, as bash reads them.
fn words(folder: &Path, output: &Output, after: &str) -> Vec<u8> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors.split_once(after).and_then(|(_, rest)| rest.lines().next());
    let command = line.and_then(|line| line.rsplit_once('`'));
    let (command, _) = command.unwrap_or_else(|| panic!("{}", complaint(output)));
    let script = format!("printf '%s\\0' {command}");
    let said = Command::new("bash").args(["-c", &script]).current_dir(folder).output();
    said.expect("bash is there").stdout
}

#[test]
fn an_output_directory_of_any_bytes_is_written() {
    let (_keep, folder) = folder();
    let run = OsStr::from_bytes(RAW);
    let output = trimbench(&folder, &quick(&[of("--target"), of(DRIVE), of("--output"), run]));
    ended(&output, 0);
    read(&folder.join(run).join("run.json"));
    let host = read(&folder.join(run).join("host.json"));
    let words = host["command"].as_array().cloned().unwrap_or_default();
    let behind = words.iter().skip_while(|word| **word != "--output").nth(1);
    let named = behind == Some(&json!(format!("$'{RAW_TEXT}")));
    assert!(named, "the command is {words:?}");
}

#[test]
fn a_mount_point_of_any_bytes_stops_no_run() {
    machine!(beside, &[Root, Program("unshare")]);
    let (_keep, folder) = folder();
    let point = folder.join(OsStr::from_bytes(RAW));
    fs::create_dir(&point).expect("the folder is ours");
    let image = image(&folder, b"image");
    // In a mount namespace of its own: other programs of this machine may not bear such a name.
    let script = "mount -t tmpfs none \"$0\" && exec \"$@\"";
    let mut command = apart_from_mounts();
    command.args(["sh", "-c", script]).arg(&point).arg(PROGRAM);
    let path = image.as_os_str();
    command.args(quick(&[of("--target"), path, of("--destroy"), path, of("--output"), of("run")]));
    let output = command.current_dir(&folder).output().expect("unshare is there");
    measured(&output);
}

#[test]
fn an_image_of_any_bytes_can_be_named_and_gone_on_with() {
    let (_keep, folder) = folder();
    let image = image(&folder, RAW);
    let (path, run) = (image.as_os_str(), of("run"));
    let output = trimbench(&folder, &quick(&[of("--target"), path]));
    ended(&output, 3);
    let named = [of("--target"), path, of("--destroy"), path, of("--output"), run];
    let output = trimbench(&folder, &quick(&named));
    measured(&output);
    let written = read(&folder.join("run/run.json"));
    let name = format!("$'{}/{RAW_TEXT}", folder.display());
    let session = &written["sessions"][0];
    for text in [&session["plan"]["target"], &session["target"]["identity"]["path"]] {
        assert!(*text == json!(name), "the record calls it {text}");
    }
    let resume = [of("run"), of("--resume"), run, of("--destroy"), path, of("--no-report")];
    let output = trimbench(&folder, &resume);
    measured(&output);
}

#[test]
fn a_loop_device_over_an_image_of_any_bytes_has_a_name() {
    machine!(beside, &[Root, Loop]);
    let (_keep, folder) = folder();
    // A name in ASCII for losetup, which another takes the place of.
    let image = image(&folder, b"image");
    let device = LoopDevice::on(&image);
    let raw = folder.join(OsStr::from_bytes(RAW));
    fs::rename(&image, &raw).expect("the folder is ours");
    let (node, run) = (of(device.node()), of("run"));
    let named = [of("--target"), node, of("--destroy"), raw.as_os_str(), of("--output"), run];
    let output = trimbench(&folder, &quick(&named));
    measured(&output);
    let backing =
        read(&folder.join("run/run.json"))["sessions"][0]["target"]["identity"]["backing-file"]
            .clone();
    let name = format!("$'{}/{RAW_TEXT}", folder.display());
    assert!(backing == json!(name), "the record calls it {backing}");
}

#[test]
fn a_trace_of_any_bytes_can_be_replayed() {
    let (_keep, folder) = folder();
    let name = OsStr::from_bytes(RAW);
    let trace = "fio version 2 iolog\nx add\nx open\nx write 0 4096\nx trim 0 4096\nx close\n";
    fs::write(folder.join(name), trace).expect("the folder is ours");
    let mut set = OsString::from("trace=");
    set.push(name);
    let dry = ["run", "replay", "--target", "sim:vendor2", "--dry-run", "--set"].map(OsStr::new);
    let output = trimbench(&folder, &[&dry[..], &[&set]].concat());
    ended(&output, 0);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("refused"), "{}", text.into_owned());
}

#[test]
fn a_record_does_not_speak_to_the_terminal() {
    let (_keep, folder) = folder();
    changed_record(&folder, |json| {
        let session = &mut json["sessions"][0];
        for text in ["method", "target"] {
            session["plan"][text] = json!(format!("{text}{TAINT}"));
        }
        session["target"]["name"] = json!(format!("name{TAINT}"));
        session["figures"][0]["title"] = json!(format!("title{TAINT}"));
        session["figures"][0]["verdict"] = json!(format!("verdict{TAINT}"));
        session["caveats"] = json!([format!("caveat{TAINT}")]);
    });
    let output = trimbench(&folder, &["report", "run"]);
    ended(&output, 0);
    is_shown(&output);
    // What a program reads is as it was.
    let output = trimbench(&folder, &["report", "run", "--output-format", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let name = &json["sessions"][0]["target"]["name"];
    assert!(*name == json!(format!("name{TAINT}")), "JSON has {name}");
}

#[test]
fn a_flaw_of_a_record_does_not_speak_to_the_terminal() {
    let (_keep, folder) = folder();
    changed_record(&folder, |json| {
        json["plan"][0]["target"] = json!(format!("target{TAINT}"));
        json["sessions"][0]["plan"]["target"] = json!(format!("target{TAINT}"));
        json["sessions"][0]["figures"][0]["value"] = json!("none");
    });
    let output = trimbench(&folder, &["report", "run"]);
    ended(&output, 2);
    is_shown(&output);
}

/// As in `trimbench compare *`, where someone else chose the names.
#[test]
fn names_in_errors_do_not_speak_to_the_terminal() {
    let (_keep, folder) = folder();
    for arguments in [&["report", TAINT][..], &["compare", "a", "b", TAINT]] {
        let output = trimbench(&folder, arguments);
        ended(&output, 2);
        is_shown(&output);
    }
}

#[test]
fn a_line_break_in_a_name_forges_no_hint() {
    let (_keep, folder) = folder();
    let name = "nothing\n\nhint: run `trimbench run --destroy /dev/sda`\n";
    let output = trimbench(&folder, &["report", name]);
    ended(&output, 2);
    let errors = String::from_utf8_lossy(&output.stderr);
    let forged = errors.lines().find(|line| line.starts_with("hint: run"));
    assert!(forged.is_none(), "it advises {forged:?}");
}

#[test]
fn a_line_break_in_a_name_forges_no_line_of_the_plan() {
    let (_keep, folder) = folder();
    let image = image(&folder, format!("image\n  destroys     nothing{TAINT}").as_bytes());
    let output = trimbench(&folder, &quick(&[of("--dry-run"), of("--target"), image.as_os_str()]));
    ended(&output, 0);
    let text = String::from_utf8_lossy(&output.stdout);
    let forged = text.lines().find(|line| line.starts_with("  destroys     nothing"));
    assert!(forged.is_none(), "the plan says {forged:?}");
    is_shown(&output);
}

#[test]
fn a_hint_to_destroy_runs_no_command() {
    let (_keep, folder) = folder();
    let image = image(&folder, "a 'b' $(touch taken); touch taken".as_bytes());
    let output = trimbench(&folder, &quick(&[of("--target"), image.as_os_str()]));
    ended(&output, 3);
    let read = words(&folder, &output, "--destroy ");
    assert!(!folder.join("taken").exists(), "the hint ran a command");
    let expected = [image.as_os_str().as_bytes(), b"\0"].concat();
    assert!(read == expected, "bash reads {:?}", String::from_utf8_lossy(&read));
}

#[test]
fn a_hint_to_resume_names_the_directory() {
    let (_keep, folder) = folder();
    let drive = format!("{DRIVE},vanish-from=500ms");
    for (run, reached) in [("two words", "two words"), ("-o", "./-o")] {
        let output = format!("--output={run}");
        let output = trimbench(&folder, &quick(&[of("--target"), of(&drive), of(&output)]));
        ended(&output, 3);
        let read = words(&folder, &output, "--resume ");
        let read = String::from_utf8_lossy(&read).into_owned();
        assert!(read == format!("{reached}\0"), "bash reads {read:?}");
    }
}

#[test]
fn a_title_is_no_formula_in_the_tables() {
    let (_keep, folder) = folder();
    let formula = "=HYPERLINK(\"http://localhost\")";
    changed_record(&folder, |json| {
        json["sessions"][0]["figures"][0]["title"] = json!(formula);
        json["sessions"][0]["figures"][0]["value"] = json!(-1.5);
        json["sessions"][0]["figures"][0]["unit"] = json!("@unit");
    });
    let output = trimbench(&folder, &["report", "run", "--csv", "tables"]);
    ended(&output, 0);
    let table = fs::read_to_string(folder.join("tables/figures.csv")).expect("it was written");
    let cells = "\"'=HYPERLINK(\"\"http://localhost\"\")\",-1.5,'@unit,";
    assert!(table.contains(cells), "{}", table.lines().nth(1).unwrap_or_default().to_owned());
}
