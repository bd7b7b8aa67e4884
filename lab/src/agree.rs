//! Filesystems of the running kernel on emulated drives: whether the modelled ones do the same, and
//! what is left after power cuts.

mod deletions;
mod drives;
mod postmark;
mod power_cuts;

use crate::entry::Subject;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "agree",
    title: "Real filesystems on emulated drives, beside the modelled ones and under power cuts",
    entries: &[deletions::ENTRY, postmark::ENTRY, power_cuts::ENTRY],
};
