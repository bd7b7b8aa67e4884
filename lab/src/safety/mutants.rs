//! Mutants of the code that protects everything that was not named: claim and guard, filesystems
//! that are made and mounted, and what writes files.

use ::tests::Need::{Loop, Program, Root};
use anyhow::Result;

use crate::entry::Entry;
use crate::figure::Figure;
use crate::lab::Lab;
use crate::mutants::MutatedCode;
use crate::results::sources_hash;

/// The measurement.
pub(crate) const ENTRY: Entry = Entry {
    name: "mutants",
    title: "Tests notice changes of the code that protects what was not named",
    needs: &[Root, Loop, Program("unshare")],
    sources: super::GUARDS,
    run,
};

const GUARDS: MutatedCode = MutatedCode {
    modules: super::GUARDS,
    packages: &["trimbench-claim", "trimbench-linux"],
    // Tests of the gate, of filesystems that are made, of attacks, and of the command line.
    wide_tests: &[
        "--test-package=trimbench-claim",
        "--test-package=trimbench-linux",
        "--test-package=tests",
        "--test-package=trimbench",
        "--cargo-arg=--test=safety",
        "--cargo-arg=--test=made",
        "--cargo-arg=--test=hostile",
        "--cargo-arg=--test=cli",
    ],
    tests: &["crates/trimbench-claim/", "crates/trimbench-linux/", "crates/trimbench/", "tests/"],
    // Of the command line: pages and models.
    skipped: &[
        "browser::",
        "compare::",
        "fit::",
        "forecasts::",
        "lists::",
        "pages::",
        "policies::",
        "quiet::",
        "values::",
    ],
    drawn: [8, 150],
    killed: 98.0,
};

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    GUARDS.measure(lab, &sources_hash(lab.repository(), &super::SUBJECT, &ENTRY)?)
}
