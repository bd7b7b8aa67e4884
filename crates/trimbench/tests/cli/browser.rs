//! The HTML report in Chromium: one page of records of emulated and real targets, looked at once.
//!
//! `tests/browser/check_report.py` compares what the page draws and answers with the records, and
//! prints a line for each check. The tests here are the themes of these lines.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use serde::Deserialize;
use tests::Need::Browser;
use tests::{browser_python, methods_on_drives, requires, scratch};

use super::policies::RUN;
use super::{code, stderr, trimbench};

/// The program that drives Chromium.
const CHECKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/check_report.py");
/// Two drives, on which every method for drives runs.
const ON_DRIVES: [&str; 10] = [
    "--target",
    "sim:generic-nvme-tlc",
    "--target",
    "sim:vendor2",
    "--capacity",
    "1GiB",
    "--set",
    "sizes=16MiB,32MiB,64MiB",
    "--set",
    "span=256MiB",
];
/// What is measured on files, on a filesystem whose page cache is small enough that they reach the
/// drive.
const ON_FILES: [&str; 7] = [
    "run",
    "postmark",
    "delete-storm",
    "--target",
    "ext4,memory=16MiB:sim:vendor2,capacity=2GiB",
    "--set",
    "file-size=64MiB",
];
/// Three policies, as briefly as in `policies.rs`.
const POLICIES: [&str; 4] = [
    "--target",
    "ext4,journal=8MiB:sim:vendor2,capacity=512MiB",
    "--set",
    "policies=none,ext4,paced",
];
/// A directory, in real time.
const IN_DIRECTORY: [&str; 12] = [
    "run",
    "postmark",
    "--target",
    ".",
    "--set",
    "number=50",
    "--set",
    "transactions=100",
    "--set",
    "repetitions=2",
    "--set",
    "seed=7",
];
/// Two drives with a fault: one that takes TRIMs and does nothing, one that loses what lies beside.
const FAULTY: [&str; 9] = [
    "run",
    "trim-integrity",
    "recovery",
    "--capacity",
    "512MiB",
    "--target",
    "sim:ignores-trim.toml",
    "--target",
    "sim:generic-nvme-dramless,trim-eats-neighbour=4KiB",
];
/// Four drives that differ, and what each differs in: TRIMs off the path of reads and writes; 82 ms
/// each, whatever its size; none that frees anything; some that free too much.
const VERDICTS: [&str; 4] = [
    "generic-nvme-tlc=mount-with-discard",
    "vendor2, files=weekly-fstrim",
    "ignores-trim=trim-does-not-reach",
    "generic-nvme-dramless=do-not-trim",
];

/// A line of the checker.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    theme: String,
    check: String,
    faults: Vec<String>,
}

static CHECKS: LazyLock<Vec<Line>> = LazyLock::new(look);

/// Makes the records and their page, and looks at it.
fn look() -> Vec<Line> {
    let folder = scratch();
    let path = folder.path();
    std::fs::write(path.join("ignores-trim.toml"), ignores_trim()).unwrap();
    let image = path.join("disk");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let image = image.to_str().unwrap();
    let drives = [&["run"], &methods_on_drives()[..], &ON_DRIVES].concat();
    let policies = [&RUN[..], &POLICIES].concat();
    let on_image =
        ["run", "trim-integrity", "--set", "region=4MiB", "--target", image, "--destroy", image];
    let runs: [(&str, &[&str]); 6] = [
        ("drives", &drives),
        ("faulty", &FAULTY),
        ("files", &ON_FILES),
        ("policies", &policies),
        ("directory", &IN_DIRECTORY),
        ("image", &on_image),
    ];
    for (name, arguments) in runs {
        let output = trimbench(path, &[arguments, &["--output", name]].concat());
        assert!(matches!(code(&output), Some(0 | 1 | 4)), "{name}: {}", stderr(&output));
    }
    let names = runs.map(|(name, _)| name);
    let page = [&["report"], &names[..], &["--html", "page.html"]].concat();
    let output = trimbench(path, &page);
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    check(path, &names)
}

/// The profile of a drive that takes TRIMs and frees nothing.
fn ignores_trim() -> String {
    let profile = include_str!("../../../../profiles/generic-sata-tlc.toml");
    let changed = profile
        .replace("name = \"generic-sata-tlc\"", "name = \"ignores-trim\"")
        .replace("mode = { value = \"blocking\"", "mode = { value = \"ignored\"");
    assert_eq!(changed.matches("ignore").count(), profile.matches("ignore").count() + 2);
    changed
}

fn check(folder: &Path, runs: &[&str]) -> Vec<Line> {
    let mut command = Command::new(browser_python().expect("it was required"));
    command.arg("-B").arg(CHECKER).arg("page.html").current_dir(folder);
    command.args(runs.iter().map(|run| format!("{run}/run.json")));
    command.args(VERDICTS.iter().flat_map(|verdict| ["--verdict", verdict]));
    let output = command.output().expect("the interpreter is there");
    let lines = String::from_utf8_lossy(&output.stdout);
    let checks = lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(output.status.success(), "{}\n{lines}", String::from_utf8_lossy(&output.stderr));
    checks
}

/// Every check of these themes found no fault, and each theme was checked.
fn holds(test: &str, themes: &[&str]) {
    if !requires(&format!("browser::{test}"), &[Browser]) {
        return;
    }
    let of_theme = |check: &&Line| themes.contains(&check.theme.as_str());
    let checks: Vec<&Line> = CHECKS.iter().filter(of_theme).collect();
    let checked: BTreeSet<&str> = checks.iter().map(|check| check.theme.as_str()).collect();
    assert_eq!(checked.len(), themes.len(), "of {themes:?} only {checked:?} were checked");
    let faulty: Vec<String> = checks
        .iter()
        .filter(|check| !check.faults.is_empty())
        .map(|check| format!("{}, {}: {:#?}", check.theme, check.check, check.faults))
        .collect();
    assert!(faulty.is_empty(), "{}", faulty.join("\n"));
}

#[test]
fn every_chart_is_drawn_with_the_data_of_the_records() {
    let test = "every_chart_is_drawn_with_the_data_of_the_records";
    holds(test, &["charts", "record", "data", "pixels"]);
}

#[test]
fn charts_answer_mouse_wheel_and_legend() {
    holds("charts_answer_mouse_wheel_and_legend", &["hover", "zoom", "legend"]);
}

#[test]
fn tables_sort_by_number_and_filter() {
    holds("tables_sort_by_number_and_filter", &["sorting", "filter"]);
}

#[test]
fn downloads_have_the_numbers_of_the_records() {
    holds("downloads_have_the_numbers_of_the_records", &["downloads"]);
}

#[test]
fn four_drives_that_differ_get_the_right_verdicts() {
    holds("four_drives_that_differ_get_the_right_verdicts", &["verdict"]);
}

#[test]
fn the_page_complains_of_nothing_and_asks_the_network_for_nothing() {
    let test = "the_page_complains_of_nothing_and_asks_the_network_for_nothing";
    holds(test, &["complaints", "network"]);
}

#[test]
fn the_page_fits_a_telephone_and_is_accessible_in_light_and_dark() {
    let test = "the_page_fits_a_telephone_and_is_accessible_in_light_and_dark";
    holds(test, &["width", "axe", "theme"]);
}

#[test]
fn without_javascript_and_on_paper_charts_and_tables_are_there() {
    let test = "without_javascript_and_on_paper_charts_and_tables_are_there";
    holds(test, &["without-javascript", "print"]);
}
