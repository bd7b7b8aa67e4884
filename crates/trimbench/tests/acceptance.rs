//! The project's claims that are right or wrong, each in its smallest form, on the program that was
//! built for the tests; the README's table beside a run of today is `answer.1`.
//!
//! The claims stand in `tests/acceptance/table.rs`. What they measured stays in the target folder,
//! in `tmp/acceptance`. A test is called as its claim: `cargo test --test acceptance ssd_4`.
//! `TRIMBENCH_PROGRAM` names another build of the program, to see a claim fail.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use tests::acceptance::{ClaimRow, KEYS, Tier, check};
use tests::{Need, requires};

/// Real devices are the machine's: a claim on them is measured alone. A browser has no clock that
/// counts.
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
    truth_7
    answer_1
    answer_2
    answer_5
    drives_6
    fit_3
    fit_4
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
    if needs.iter().all(|need| matches!(need, Need::Browser)) {
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
