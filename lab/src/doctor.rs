//! What `trimbench doctor` says, against what was planted and what is published.

mod log_pages;
mod stacks;
mod watch;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "doctor",
    title: "The doctor says what is the case",
    entries: &[log_pages::ENTRY, stacks::ENTRY, watch::ENTRY],
};
