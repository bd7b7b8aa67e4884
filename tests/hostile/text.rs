//! Names that are not UTF-8, terminal escape sequences, shell metacharacters, spreadsheet formulas.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use trimbench_core::text::is_hidden;

use super::{Attack, Tool, attack, complaint, unless};
use crate::{LoopDevice, Need, scratch};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("output_directory_of_any_bytes_panics", &[], output_of_any_bytes),
    attack(
        "mount_point_of_any_bytes_stops_every_run",
        &[Need::Root, Need::Program("unshare")],
        mount_of_any_bytes,
    ),
    attack("image_of_any_bytes_cannot_be_named_or_resumed", &[], image_of_any_bytes),
    attack(
        "loop_device_over_an_image_of_any_bytes_has_no_name",
        &[Need::Root, Need::Loop],
        loop_of_any_bytes,
    ),
    attack("trace_of_any_bytes_cannot_be_replayed", &[], trace_of_any_bytes),
    attack("record_speaks_to_the_terminal", &[], record_to_terminal),
    attack("flaw_of_a_record_speaks_to_the_terminal", &[], flaw_to_terminal),
    attack("file_name_in_an_error_speaks_to_the_terminal", &[], file_name_to_terminal),
    attack("argument_speaks_to_the_terminal", &[], argument_to_terminal),
    attack("line_break_in_a_name_forges_a_hint", &[], forged_hint),
    attack("line_break_in_a_name_forges_a_line_of_the_plan", &[], forged_line),
    attack("hint_to_destroy_runs_a_command", &[], hint_to_destroy),
    attack("hint_to_resume_names_another_directory", &[], hint_to_resume),
    attack("title_is_a_formula_in_the_tables", &[], formula),
];

/// A name with a byte that no UTF-8 has, and how records write it.
const RAW: &[u8] = b"raw\xff";
const RAW_TEXT: &str = r"raw\xff'";
/// Ends a line, speaks to the terminal in C0 and C1, and turns the direction of writing.
const TAINT: &str = "\u{1b}]0;taken\u{7}\u{9b}31m\u{202e}";
/// A session that takes a tenth of a second.
const QUICK: [&str; 7] =
    ["run", "trim-integrity", "--no-report", "--set", "region=4MiB", "--set", "guard=512KiB"];
/// An emulated drive for it.
const DRIVE: &str = "sim:vendor2,capacity=1GiB";

fn quick(more: &[&OsStr]) -> Vec<OsString> {
    QUICK.iter().map(OsStr::new).chain(more.iter().copied()).map(OsStr::to_owned).collect()
}

fn of(text: &str) -> &OsStr {
    OsStr::new(text)
}

/// A folder, by its whole name.
fn folder() -> (TempDir, PathBuf) {
    let folder = scratch();
    let path = fs::canonicalize(folder.path()).expect("it is there");
    (folder, path)
}

/// An image of 64 MiB of this name.
fn image(folder: &Path, name: &[u8]) -> PathBuf {
    let path = folder.join(OsStr::from_bytes(name));
    let file = fs::File::create_new(&path).expect("the folder is ours");
    file.set_len(64 << 20).expect("sparse files take no room");
    path
}

fn record(folder: &Path, run: &OsStr) -> Result<Value, String> {
    let bytes = fs::read(folder.join(run).join("run.json"));
    let bytes = bytes.map_err(|error| format!("there is no record: {error}"))?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// A finished run of an emulated drive in `run`, its record changed.
fn changed_record(tool: &Tool, folder: &Path, change: impl FnOnce(&mut Value)) {
    let output = tool.run(folder, &quick(&[of("--target"), of(DRIVE), of("--output"), of("run")]));
    assert!(output.status.success(), "{}", complaint(&output));
    let mut json = record(folder, of("run")).expect("the run was kept");
    change(&mut json);
    let bytes = serde_json::to_vec_pretty(&json).expect("it was JSON");
    fs::write(folder.join("run/run.json"), bytes).expect("the folder is ours");
}

/// Nothing but characters that are shown, and ends of lines.
fn is_shown(output: &Output) -> Result<(), String> {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        let found = text.lines().find(|line| line.contains(is_hidden));
        unless(found.is_none(), || format!("{stream} has {found:?}"))?;
    }
    Ok(())
}

fn ended(output: &Output, code: i32) -> Result<(), String> {
    unless(output.status.code() == Some(code), || complaint(output))
}

fn output_of_any_bytes(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let run = OsStr::from_bytes(RAW);
    let output = tool.run(&folder, &quick(&[of("--target"), of(DRIVE), of("--output"), run]));
    ended(&output, 0)?;
    record(&folder, run)?;
    let host = fs::read(folder.join(run).join("host.json")).map_err(|error| error.to_string())?;
    let host: Value = serde_json::from_slice(&host).map_err(|error| error.to_string())?;
    let words = host["command"].as_array().cloned().unwrap_or_default();
    let behind = words.iter().skip_while(|word| **word != "--output").nth(1);
    let named = behind == Some(&json!(format!("$'{RAW_TEXT}")));
    unless(named, || format!("the command is {words:?}"))
}

fn mount_of_any_bytes(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let point = folder.join(OsStr::from_bytes(RAW));
    fs::create_dir(&point).expect("the folder is ours");
    let image = image(&folder, b"image");
    // In a mount namespace of its own: other programs of this machine may not bear such a name.
    let script = "mount -t tmpfs none \"$0\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
    command.arg(&point).arg(tool.path());
    let path = image.as_os_str();
    command.args(quick(&[of("--target"), path, of("--destroy"), path, of("--output"), of("run")]));
    let output = command.current_dir(&folder).output().expect("unshare is there");
    unless(matches!(output.status.code(), Some(0 | 4)), || complaint(&output))
}

fn image_of_any_bytes(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = image(&folder, RAW);
    let (path, run) = (image.as_os_str(), of("run"));
    let output = tool.run(&folder, &quick(&[of("--target"), path]));
    ended(&output, 3)?;
    let named = [of("--target"), path, of("--destroy"), path, of("--output"), run];
    let output = tool.run(&folder, &quick(&named));
    unless(matches!(output.status.code(), Some(0 | 4)), || complaint(&output))?;
    let written = record(&folder, run)?;
    let name = format!("$'{}/{RAW_TEXT}", folder.display());
    let session = &written["sessions"][0];
    for text in [&session["plan"]["target"], &session["target"]["identity"]["path"]] {
        unless(*text == json!(name), || format!("the record calls it {text}"))?;
    }
    let resume = [of("run"), of("--resume"), run, of("--destroy"), path, of("--no-report")];
    let output = tool.run(&folder, &resume);
    unless(matches!(output.status.code(), Some(0 | 4)), || complaint(&output))
}

fn loop_of_any_bytes(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    // A name in ASCII for losetup, which another takes the place of.
    let image = image(&folder, b"image");
    let device = LoopDevice::on(&image);
    let raw = folder.join(OsStr::from_bytes(RAW));
    fs::rename(&image, &raw).expect("the folder is ours");
    let (node, run) = (of(device.node()), of("run"));
    let named = [of("--target"), node, of("--destroy"), raw.as_os_str(), of("--output"), run];
    let output = tool.run(&folder, &quick(&named));
    unless(matches!(output.status.code(), Some(0 | 4)), || complaint(&output))?;
    let backing =
        record(&folder, run)?["sessions"][0]["target"]["identity"]["backing-file"].clone();
    let name = format!("$'{}/{RAW_TEXT}", folder.display());
    unless(backing == json!(name), || format!("the record calls it {backing}"))
}

fn trace_of_any_bytes(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let name = OsStr::from_bytes(RAW);
    let trace = "fio version 2 iolog\nx add\nx open\nx write 0 4096\nx trim 0 4096\nx close\n";
    fs::write(folder.join(name), trace).expect("the folder is ours");
    let mut set = OsString::from("trace=");
    set.push(name);
    let dry = ["run", "replay", "--target", "sim:vendor2", "--dry-run", "--set"].map(OsStr::new);
    let output = tool.run(&folder, &[&dry[..], &[&set]].concat());
    ended(&output, 0)?;
    let text = String::from_utf8_lossy(&output.stdout);
    unless(!text.contains("refused"), || text.into_owned())
}

fn record_to_terminal(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    changed_record(tool, &folder, |json| {
        let session = &mut json["sessions"][0];
        for text in ["method", "target"] {
            session["plan"][text] = json!(format!("{text}{TAINT}"));
        }
        session["target"]["name"] = json!(format!("name{TAINT}"));
        session["figures"][0]["title"] = json!(format!("title{TAINT}"));
        session["figures"][0]["verdict"] = json!(format!("verdict{TAINT}"));
        session["caveats"] = json!([format!("caveat{TAINT}")]);
    });
    let output = tool.run(&folder, &["report", "run"]);
    ended(&output, 0)?;
    is_shown(&output)?;
    // What a program reads is as it was.
    let output = tool.run(&folder, &["report", "run", "--output-format", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let name = &json["sessions"][0]["target"]["name"];
    unless(*name == json!(format!("name{TAINT}")), || format!("JSON has {name}"))
}

fn flaw_to_terminal(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    changed_record(tool, &folder, |json| {
        json["plan"][0]["target"] = json!(format!("target{TAINT}"));
        json["sessions"][0]["plan"]["target"] = json!(format!("target{TAINT}"));
        json["sessions"][0]["figures"][0]["value"] = json!("none");
    });
    let output = tool.run(&folder, &["report", "run"]);
    ended(&output, 2)?;
    is_shown(&output)
}

fn file_name_to_terminal(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let output = tool.run(&folder, &["report", &format!("nothing{TAINT}")]);
    ended(&output, 2)?;
    is_shown(&output)
}

/// `trimbench compare *`, where someone else chose the names.
fn argument_to_terminal(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let output = tool.run(&folder, &["compare", "a", "b", &format!("c{TAINT}")]);
    ended(&output, 2)?;
    is_shown(&output)
}

fn forged_hint(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let name = "nothing\n\nhint: run `trimbench run --destroy /dev/sda`\n";
    let output = tool.run(&folder, &["report", name]);
    ended(&output, 2)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let forged = errors.lines().find(|line| line.starts_with("hint: run"));
    unless(forged.is_none(), || format!("it advises {forged:?}"))
}

fn forged_line(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = image(&folder, format!("image\n  destroys     nothing{TAINT}").as_bytes());
    let output = tool.run(&folder, &quick(&[of("--dry-run"), of("--target"), image.as_os_str()]));
    ended(&output, 0)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let forged = text.lines().find(|line| line.starts_with("  destroys     nothing"));
    unless(forged.is_none(), || format!("the plan says {forged:?}"))?;
    is_shown(&output)
}

/// The words of the first command in a hint from `after` on, as bash reads them.
fn words(folder: &Path, output: &Output, after: &str) -> Result<Vec<u8>, String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let (_, rest) = errors.split_once(after).ok_or_else(|| complaint(output))?;
    let line = rest.lines().next().unwrap_or_default();
    let (command, _) = line.rsplit_once('`').ok_or_else(|| complaint(output))?;
    let script = format!("printf '%s\\0' {command}");
    let said = Command::new("bash").args(["-c", &script]).current_dir(folder).output();
    Ok(said.expect("bash is there").stdout)
}

fn hint_to_destroy(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = image(&folder, "a 'b' $(touch taken); touch taken".as_bytes());
    let output = tool.run(&folder, &quick(&[of("--target"), image.as_os_str()]));
    ended(&output, 3)?;
    let read = words(&folder, &output, "--destroy ")?;
    unless(!folder.join("taken").exists(), || "the hint ran a command".to_owned())?;
    let expected = [image.as_os_str().as_bytes(), b"\0"].concat();
    unless(read == expected, || format!("bash reads {:?}", String::from_utf8_lossy(&read)))
}

fn hint_to_resume(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let drive = format!("{DRIVE},vanish-from=500ms");
    for (run, reached) in [("two words", "two words"), ("-o", "./-o")] {
        let output = format!("--output={run}");
        let output = tool.run(&folder, &quick(&[of("--target"), of(&drive), of(&output)]));
        ended(&output, 3)?;
        let read = words(&folder, &output, "--resume ")?;
        let read = String::from_utf8_lossy(&read).into_owned();
        unless(read == format!("{reached}\0"), || format!("bash reads {read:?}"))?;
    }
    Ok(())
}

fn formula(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let formula = "=HYPERLINK(\"http://localhost\")";
    changed_record(tool, &folder, |json| {
        json["sessions"][0]["figures"][0]["title"] = json!(formula);
        json["sessions"][0]["figures"][0]["value"] = json!(-1.5);
        json["sessions"][0]["figures"][0]["unit"] = json!("@unit");
    });
    let output = tool.run(&folder, &["report", "run", "--csv", "tables"]);
    ended(&output, 0)?;
    let table = fs::read_to_string(folder.join("tables/figures.csv"));
    let table = table.map_err(|error| error.to_string())?;
    let cells = "\"'=HYPERLINK(\"\"http://localhost\"\")\",-1.5,'@unit,";
    unless(table.contains(cells), || table.lines().nth(1).unwrap_or_default().to_owned())
}
