//! What other programs notice while `trimpace once` trims, and how long it takes: on emulated
//! drives that are slow to discard, and on this machine's disk; its law in virtual time; and what
//! protects it.

mod counters;
mod curve;
mod full_filesystem;
mod guest;
mod idle;
mod killed;
mod mutants;
mod own_disk;
mod reads;
mod service;
mod slow_drives;
mod trial;
mod virtual_time;

pub(crate) use curve::ENTRY as CURVE;
pub(crate) use guest::{PART as GUEST_PART, part as guest_part};

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "pace",
    title: "Reads beside `trimpace once`, beside `fstrim` and beside other ways to pace it",
    entries: &[
        slow_drives::ENTRY,
        curve::ENTRY,
        guest::ENTRY,
        idle::ENTRY,
        own_disk::ENTRY,
        virtual_time::ENTRY,
        killed::ENTRY,
        service::ENTRY,
        mutants::ENTRY,
    ],
};
