//! What is safe: nothing is changed that was not named, nothing that was acknowledged is lost, the
//! tests notice when the code that sees to it is broken, and damaged inputs break no reader.

mod inputs;
mod interrupted;
mod killed;
mod mutants;
mod power_cuts;
mod watched;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "safety",
    title: "Nothing is changed that was not named, and nothing is lost that was acknowledged",
    entries: &[killed::ENTRY, mutants::ENTRY, power_cuts::ENTRY, watched::ENTRY, inputs::ENTRY],
};

/// What protects everything that was not named: claim and guard, filesystems that are made and
/// mounted, the identity of devices, and the module that writes every file.
const GUARDS: &[&str] = &[
    "crates/trimbench-claim/src/claim",
    "crates/trimbench-claim/src/ioctl/identity",
    "crates/trimbench-claim/src/loop_device",
    "crates/trimbench-claim/src/opening",
    "crates/trimbench-claim/src/output",
    "crates/trimbench-claim/src/program",
    "crates/trimbench-linux/src/mkfs",
];
