//! What other programs notice while `trimpace once` trims, and how long it takes: on emulated
//! drives that are slow to discard, and on this machine's disk.

mod counters;
mod own_disk;
mod reads;
mod slow_drives;
mod trial;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "pace",
    title: "Reads beside `trimpace once`, beside `fstrim` and beside other ways to pace it",
    entries: &[slow_drives::ENTRY, own_disk::ENTRY],
};
