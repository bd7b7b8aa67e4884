//! `trimbench compare`: what became worse, and by which exit code that is said.

use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use trimbench_results::{Interval, RunRecord};

use super::{code, record, small, stderr, stdout, trimbench};

/// A run `before`, and a copy `after` of it that was changed.
fn two_runs(change: impl Fn(&mut RunRecord)) -> TempDir {
    let folder = tempdir().unwrap();
    let arguments = small(&["--target", "sim:like-rc100", "--output", "before"]);
    let run = trimbench(folder.path(), &arguments);
    assert_eq!(code(&run), Some(0), "{}", stderr(&run));
    keep(folder.path(), "after", change);
    folder
}

/// A changed copy of the run `before`.
fn keep(folder: &Path, name: &str, change: impl Fn(&mut RunRecord)) {
    let mut copy = record(folder, "before");
    change(&mut copy);
    std::fs::create_dir(folder.join(name)).unwrap();
    std::fs::write(folder.join(name).join("run.json"), copy.to_json()).unwrap();
}

/// The headline, and all that is said of its certainty, times a factor.
fn headline_times(record: &mut RunRecord, factor: f64) {
    let figure = &mut record.sessions[0].figures[0];
    assert!(figure.headline && figure.id == "stutter");
    figure.value *= factor;
    let interval = figure.interval.unwrap();
    figure.interval = Interval::new(interval.low * factor, interval.high * factor, interval.level);
}

#[test]
fn a_regression_is_the_first_row_and_decides_the_exit_code() {
    let folder = two_runs(|record| headline_times(record, 2.5));
    let compared = |arguments: &[&str]| {
        trimbench(folder.path(), &[&["compare", "before", "after"], arguments].concat())
    };
    let output = compared(&[]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "readable at 80 columns: {text}");
    assert!(text.starts_with("1 session compared, "), "a summary is first: {text}");
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.is_empty()).skip(3).collect();
    let words = rows[0..3].join(" ");
    assert!(words.contains("delete-stall on") && words.contains("+150"), "{text}");
    assert!(words.contains("worse"), "{text}");
    assert!(text.contains("the same"), "{text}");

    for (limit, expected) in [("149", 1), ("151", 0), ("stutter=149", 1), ("overdue=0", 0)] {
        let output = compared(&["--limit", limit]);
        assert_eq!(code(&output), Some(expected), "{limit}: {}", stderr(&output));
        let word = if expected == 0 { "holds" } else { "FAILS" };
        assert!(stderr(&output).contains(word), "{limit}: {}", stderr(&output));
        assert_eq!(stdout(&output), text);
    }
    let output = compared(&["--limit", "151", "--limit", "stutter=149"]);
    assert_eq!(code(&output), Some(1), "one that fails is enough: {}", stderr(&output));
}

#[test]
fn a_run_compared_with_itself_is_the_same() {
    let folder = two_runs(|_| ());
    let output = trimbench(folder.path(), &["compare", "before", "after", "--limit", "0"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("the same"), "{}", stdout(&output));
    assert!(!stdout(&output).contains("worse"), "{}", stdout(&output));
}

#[test]
fn what_cannot_be_compared_is_said_and_fails_a_limit() {
    let folder = two_runs(|record| {
        record.sessions[0].plan.options.insert("rate".to_owned(), "7".to_owned());
    });
    let output = trimbench(folder.path(), &["compare", "before", "after"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("not comparable: delete-stall on like-rc100: `rate`: "));
    let output = trimbench(folder.path(), &["compare", "before", "after", "--limit", "5"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    keep(folder.path(), "nothing", |record| record.sessions.clear());
    let output = trimbench(folder.path(), &["compare", "before", "nothing"]);
    assert!(stdout(&output).contains("only before: on like-rc100 delete-stall"));
}

#[test]
fn programs_get_the_comparison_as_json() {
    let folder = two_runs(|record| headline_times(record, 0.5));
    let json = |format: &str| {
        let arguments = ["compare", "before", "after", "--limit=5", "--output-format", format];
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let document: Value = serde_json::from_str(&json("json")).unwrap();
    let change = &document["comparison"]["pairs"][0]["changes"][0];
    assert_eq!(change["id"], "stutter");
    assert_eq!(change["effect"], "better");
    assert_eq!(change["ratio"], 0.5);
    assert_eq!(change["direction"], "lower");
    assert_eq!(document["limits"][0]["worse_percent"], -50.0);
    let lines: Vec<Value> =
        json("ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    let figures = document["comparison"]["pairs"][0]["changes"].as_array().unwrap().len();
    assert_eq!((count("change"), count("limit")), (figures, 1));
}

#[test]
fn what_is_no_run_or_no_limit_is_refused() {
    let folder = two_runs(|_| ());
    std::fs::create_dir(folder.path().join("cut")).unwrap();
    let whole = std::fs::read(folder.path().join("before/run.json")).unwrap();
    std::fs::write(folder.path().join("cut/run.json"), &whole[..whole.len() / 2]).unwrap();
    for (arguments, expected) in [
        (["before", "nowhere", "--limit=5"], "cannot read `nowhere/run.json`"),
        (["cut", "before", "--limit=5"], "cut off"),
        (["before", "after", "--limit=fast"], "is no limit on a change"),
        (["before", "after", "--limit=stuter=5"], "did you mean `stutter`?"),
    ] {
        let output = trimbench(folder.path(), &[&["compare"][..], &arguments].concat());
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}
