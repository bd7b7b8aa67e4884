use std::fs;

use super::super::{Finding, Raw};
use super::read_clean_clone;

/// Raw output as `measure_clean_clone` leaves it.
fn planted(build_seconds: f64, run_seconds: f64, run_status: i32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = |name: &str, seconds: f64, status: i32| {
        format!(
            "{{\"name\":\"{name}\",\"command\":\"{name} it\",\"status\":{status},\
             \"elapsed_seconds\":{seconds},\"output\":\"{name}.stdout\",\
             \"errors\":\"{name}.stderr\"}}\n"
        )
    };
    let lines = [
        line("commit", 0.01, 0),
        line("build", build_seconds, 0),
        line("run", run_seconds, run_status),
    ];
    fs::write(folder.path().join("captures.ndjson"), lines.concat()).unwrap();
    fs::write(folder.path().join("commit.stdout"), "0123456789abcdef\n").unwrap();
    folder
}

fn verdicts(build_seconds: f64, run_seconds: f64) -> Vec<bool> {
    let folder = planted(build_seconds, run_seconds, 0);
    let findings = read_clean_clone(&Raw::new(folder.path())).unwrap();
    findings.iter().map(Finding::holds).collect()
}

#[test]
fn both_times_are_judged_by_themselves() {
    assert_eq!(verdicts(179.9, 19.9), [true, true]);
    assert_eq!(verdicts(180.1, 19.9), [false, true]);
    assert_eq!(verdicts(90.0, 20.1), [true, false]);
}

#[test]
fn the_figures_are_those_of_the_raw_output_and_say_which_commit() {
    let folder = planted(90.25, 8.5, 0);
    let findings = read_clean_clone(&Raw::new(folder.path())).unwrap();
    let figures: Vec<String> = findings.iter().map(|finding| finding.figure.to_string()).collect();
    assert_eq!(figures, ["90.25", "8.5"]);
    assert_eq!(findings[0].command, "build it");
    assert_eq!(findings[0].raw, "captures.ndjson");
    assert_eq!(findings[0].note, "a clone of commit 0123456789ab");
}

#[test]
fn a_run_that_failed_is_no_figure_however_quick() {
    let folder = planted(90.0, 0.1, 101);
    let error = read_clean_clone(&Raw::new(folder.path())).unwrap_err().to_string();
    assert!(error.contains("101"), "{error}");
}

#[test]
fn raw_output_that_is_gone_is_an_error() {
    let folder = planted(90.0, 8.0, 0);
    fs::remove_file(folder.path().join("captures.ndjson")).unwrap();
    assert!(read_clean_clone(&Raw::new(folder.path())).is_err());
}
