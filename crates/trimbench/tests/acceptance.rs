//! The project's claims that are right or wrong, each in its smallest form, on the program that was
//! built for the tests; and the README's tables beside a run of today.
//!
//! The claims stand in `tests/acceptance/table.rs`. What they measured stays in the target folder,
//! in `tmp/acceptance`. A test is called as its claim: `cargo test --test acceptance ssd_4`.
//! `TRIMBENCH_PROGRAM` names another build of the program, to see a claim fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock};

use tests::acceptance::{ClaimRow, KEYS, Tier, check};
use tests::requires;

/// Real devices are the machine's: a claim on them is measured alone.
static MACHINE: RwLock<()> = RwLock::new(());

/// A test for each claim of these names, and the names.
macro_rules! claims {
    ($($name:ident)*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

claims! {
    foundation_2
    foundation_4
    device_1
    device_2
    device_4
    device_5
    device_6
    device_7
    ssd_1
    ssd_2
    ssd_3
    ssd_4
    files_1
    files_2
    files_5
    files_6
    files_8
    trace_3
    trace_4
    trace_6
    report_3
    report_4
    report_5
    kernels_1
    kernels_3
    kernels_4
    truth_3
    answer_2
    answer_5
}

fn all() -> impl Iterator<Item = &'static ClaimRow> {
    KEYS.iter().flat_map(|key| key.claims)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

fn program() -> PathBuf {
    let other = std::env::var_os("TRIMBENCH_PROGRAM");
    other.map_or_else(|| env!("CARGO_BIN_EXE_trimbench").into(), PathBuf::from)
}

/// Measures a claim; fails where a figure misses its bar.
fn holds(name: &str) {
    let id = name.replace('_', ".");
    let claim = all().find(|claim| claim.id == id).expect("a claim of this name");
    let Tier::Acceptance(needs) = claim.tier else { panic!("{id} is no acceptance test") };
    if !requires(&id, needs) {
        return;
    }
    let (alone, shared);
    if needs.is_empty() {
        shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        let _ = &shared;
    } else {
        alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        let _ = &alone;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("acceptance").join(&id);
    let findings = check(claim, (&root(), &program()), &folder);
    let findings = findings.unwrap_or_else(|error| panic!("{id}: {error:#}"));
    let failing: Vec<_> = findings.iter().filter(|finding| !finding.holds()).collect();
    assert!(!findings.is_empty() && failing.is_empty(), "{}: {failing:#?}", folder.display());
}

#[test]
fn every_acceptance_test_of_the_table_is_one() {
    let wanted = all().filter(|claim| matches!(claim.tier, Tier::Acceptance(_)));
    let wanted: Vec<_> = wanted.map(|claim| claim.id.replace('.', "_")).collect();
    assert_eq!(wanted, TESTED);
}

#[test]
fn tests_that_check_other_claims_are_there() {
    for claim in all() {
        if let Tier::Tests(place) = claim.tier {
            assert!(!place.contains('/') || root().join(place).exists(), "{}: {place}", claim.id);
        }
    }
}

/// A line without the column of notes, whose numbers depend on what else was run.
fn without_notes(line: &str, notes: usize) -> String {
    line.chars().take(notes).collect::<String>().trim_end().to_owned()
}

#[test]
fn the_tables_of_the_readme_are_those_of_a_run() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let tables = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut run = Command::new(program());
    run.args(["run", "delete-stall", "trim-sweep", "recovery", "--output", "run"]);
    let output = run.current_dir(folder.path()).env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    for table in tables.trim().split("\n\n") {
        let header = table.lines().nth(1).expect("a table has a header");
        let notes = header.chars().count() - "note".len();
        // The title is as wide as the table.
        for line in table.lines().skip(1).chain([table.split(':').next().expect("a title")]) {
            let wanted = without_notes(line, notes);
            let is_there = printed.lines().any(|line| without_notes(line, notes) == wanted);
            let is_title = printed.lines().any(|line| line.starts_with(&wanted));
            assert!(is_there || is_title, "not printed today: {line}");
        }
    }
}
