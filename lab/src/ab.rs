//! `trimbench run ab` on real filesystems: whether it finds what a mount option costs, and whether
//! the mount is as it was after a kill.

mod found;
mod killed;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "ab",
    title: "The same load with and without `discard`, on filesystems that are remounted in turns",
    entries: &[found::ENTRY, killed::ENTRY],
};

/// What the figures speak of.
const SOURCES: &[&str] = &[
    "crates/trimbench-claim",
    "crates/trimbench-core",
    "crates/trimbench-engine",
    "crates/trimbench-linux",
    "crates/trimbench-methods/src/ab",
    "tests/slow_disk.rs",
];
