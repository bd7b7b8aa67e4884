//! Mutants of what decides the pace of `trimpace` and what a call covers: planners, cutter, and the
//! laws.

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
    title: "Tests notice changes of the planners, the cutter and the governor",
    needs: &[
        Root,
        Loop,
        Program("unshare"),
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
    ],
    sources: MODULES,
    run,
};

const MODULES: &[&str] = &[
    "crates/trimpace/src/planner",
    "crates/trimpace/src/cutter",
    "crates/trimbench-policy/src/pacing",
];
const PACE: MutatedCode = MutatedCode {
    modules: MODULES,
    packages: &["trimpace", "trimbench-policy"],
    wide_tests: &[
        "--test-package=trimpace",
        "--test-package=trimbench-policy",
        "--cargo-arg=--test=once",
        "--cargo-arg=--test=planners",
    ],
    tests: &["crates/trimpace/", "crates/trimbench-policy/"],
    // Of trimbench-policy: the trim policies.
    skipped: &["catalogue::", "policies::", "queue::", "trimmer::"],
    drawn: [8, 200],
    killed: 95.0,
};

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    PACE.measure(lab, &sources_hash(lab.repository(), &super::SUBJECT, &ENTRY)?)
}
