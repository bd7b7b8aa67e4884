//! What Chromium shows of pages: records of several formats and hosts, records that are damaged or
//! incomplete.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::Need::Browser;
use tests::program::BuiltProgram;
use tests::report_page::{Look, look, run_on_drives, write_page};
use tests::{requires, scratch};

/// A record as schema 1 was written.
const FIRST: &str = include_str!("../../../trimbench-results/src/record/golden/schema-1.json");
/// The format of [`of_the_future`].
const FUTURE: u32 = 9;
fn program() -> BuiltProgram {
    BuiltProgram::at(env!("CARGO_BIN_EXE_trimbench"))
}

#[test]
fn records_of_two_hosts_and_three_formats_are_on_one_page() {
    if !requires("looks::records_of_two_hosts_and_three_formats_are_on_one_page", &[Browser]) {
        return;
    }
    let folder = scratch();
    let path = folder.path();
    let today = sound(&path.join("today"));
    let first = written(&path.join("first"), FIRST.as_bytes());
    let host = json!({
        "command": ["trimbench", "run"],
        "started_unix_s": 1_600_000_000.0,
        "ended_unix_s": 1_600_000_060.0,
        "debug_build": false,
        "environment": { "cpu-model": "Another processor", "kernel": "Linux 5.10.0" },
    });
    fs::write(first.join("host.json"), host.to_string()).unwrap();
    let to_come = changed(&today, &path.join("to-come"), of_the_future);
    fs::copy(today.join("host.json"), to_come.join("host.json")).unwrap();
    let page = path.join("page.html");
    write_page(&program(), &page, &[first, today, to_come]).unwrap();
    let look = look(&page, &[]).unwrap();
    for name in ["first:", "today:", "to-come:"] {
        assert!(look.records.contains(name), "{name}: {}", look.records);
    }
    assert_eq!(look.records.matches("Another processor").count(), 1, "{}", look.records);
    assert!(look.verdicts.len() >= 3 && look.charts >= 5, "{look:?}");
    let said = about(&look, "to-come");
    assert!(said.iter().any(|it| it.contains(&format!("format {FUTURE}"))), "{said:?}");
    let ended = about(&look, "first");
    assert_eq!(ended.iter().filter(|it| it.contains("failed: ")).count(), 1, "{ended:?}");
    assert_eq!(about(&look, "today"), [""; 0]);
    assert!(look.complaints.is_empty(), "{look:?}");
}

#[test]
fn damaged_records_are_named_and_the_rest_is_shown() {
    if !requires("looks::damaged_records_are_named_and_the_rest_is_shown", &[Browser]) {
        return;
    }
    let folder = scratch();
    let path = folder.path();
    let sound = sound(&path.join("sound"));
    let page = path.join("alone.html");
    write_page(&program(), &page, std::slice::from_ref(&sound)).unwrap();
    let alone = look(&page, &[]).unwrap();
    let bytes = fs::read(sound.join("run.json")).unwrap();
    fs::create_dir(path.join("missing")).unwrap();
    let flawed = [
        written(&path.join("cut-off"), &bytes[..bytes.len() * 2 / 3]),
        written(&path.join("empty"), b""),
        written(&path.join("no-record"), b"{\"a\": 1}"),
        changed(&sound, &path.join("partial"), |record| {
            record["outcome"] = json!({ "status": "running" });
            let sessions = record["sessions"].as_array_mut().unwrap();
            let last = sessions.last_mut().unwrap();
            last["finished"] = false.into();
            last["figures"] = json!([]);
        }),
        changed(&sound, &path.join("to-come"), of_the_future),
        path.join("missing"),
    ];
    let page = path.join("page.html");
    let report = write_page(&program(), &page, &[&[sound], &flawed[..]].concat()).unwrap();
    report.expect_status(trimbench_core::exit::USAGE).unwrap();
    let look = look(&page, &[]).unwrap();
    for run in &flawed {
        let name = run.file_name().unwrap().to_str().unwrap();
        assert!(!about(&look, name).is_empty(), "no message about {name}: {:?}", look.messages);
    }
    assert_eq!(about(&look, "sound"), [""; 0]);
    assert_eq!(look.verdicts.keys().filter(|it| it.ends_with("sound")).count(), 1, "{look:?}");
    // Those of the sound one, and those of the one to come.
    assert!(look.figures >= 2 * alone.figures, "{} and {}", look.figures, alone.figures);
    assert!(look.complaints.is_empty(), "{look:?}");
}

/// A run without a flaw.
fn sound(folder: &Path) -> PathBuf {
    run_on_drives(&program(), folder, &["idle-trim", "recovery"], &["vendor2"]).unwrap()
}

/// The messages about a record.
fn about<'a>(look: &'a Look, name: &str) -> Vec<&'a str> {
    let messages = look.messages.iter().map(String::as_str);
    messages.filter(|it| it.starts_with(&format!("{name}:"))).collect()
}

/// A copy of a run whose record is changed.
fn changed(from: &Path, to: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    let mut record = serde_json::from_slice(&fs::read(from.join("run.json")).unwrap()).unwrap();
    change(&mut record);
    written(to, record.to_string().as_bytes())
}

/// A run whose record has this content.
fn written(to: &Path, content: &[u8]) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    fs::write(to.join("run.json"), content).unwrap();
    to.to_owned()
}

/// Turns a record into one of a future format, with fields that this version does not know.
fn of_the_future(record: &mut Value) {
    record["schema"] = FUTURE.into();
    record["program"]["version"] = "9.0.0".into();
    record["unheard-of"] = json!({ "deep": [1, 2, { "deeper": null }] });
    for session in record["sessions"].as_array_mut().into_iter().flatten() {
        session["mood"] = "good".into();
    }
}
