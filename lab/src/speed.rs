//! Speed: ours beside peers, in turns; and whole runs by the clock.

mod block_target;
mod emulated_ssd;
mod first_run;
mod jobs;
mod readers;
mod recovery;
mod replay;
mod report_page;
mod time_left;
mod turns;

use crate::entry::Subject;

pub(crate) use block_target::work as block_work;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "speed",
    title: "Drive model, block target and trace readers beside programs that do the same, in \
            turns; and the time of whole runs",
    entries: &[
        emulated_ssd::ENTRY,
        block_target::ENTRY,
        recovery::ENTRY,
        replay::ENTRY,
        readers::ENTRY,
        jobs::ENTRY,
        report_page::ENTRY,
        time_left::ENTRY,
        first_run::ENTRY,
    ],
};
