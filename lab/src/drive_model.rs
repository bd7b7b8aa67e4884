//! The emulated SSD beside theory and published figures, in more forms than tests have time for.

mod memory;
mod replay_windows;
mod soak;
mod write_amplification;

use crate::entry::Subject;

pub(crate) use soak::again;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "drive_model",
    title: "The emulated SSD beside theory and published figures",
    entries: &[write_amplification::ENTRY, memory::ENTRY, soak::ENTRY, replay_windows::ENTRY],
};
