//! The methods on this machine's own disk, in directories, on loop devices, and on all default
//! targets.

mod defaults;
mod delete_stall;
mod directory;
mod own_disk;
mod placebo;
mod schedule;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "targets",
    title: "Whether the methods find what is there, on emulated drives and on this machine's disk",
    entries: &[
        defaults::ENTRY,
        delete_stall::ENTRY,
        own_disk::ENTRY,
        directory::ENTRY,
        placebo::ENTRY,
        schedule::ENTRY,
    ],
};
