//! Filesystems, modelled and real: what PostMark measures on them, what deletions cost, and where
//! stalls arise.

mod deletions;
mod ext4;
mod policies;
mod postmark;
mod stalls;
mod storm;
mod stutter;
mod tables;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "filesystems",
    title: "What PostMark measures on filesystems, modelled and real; what deletions on them cost, \
            and where stalls arise",
    entries: &[
        postmark::ENTRY,
        tables::ENTRY,
        ext4::ENTRY,
        stutter::ENTRY,
        deletions::ENTRY,
        stalls::ENTRY,
        storm::ENTRY,
        policies::ENTRY,
    ],
};
