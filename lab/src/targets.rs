//! The methods on this machine's own disk, in directories, on loop devices, and on all default
//! targets.

mod defaults;
mod delete_stall;
mod directory;
mod own_disk;
mod placebo;
mod schedule;

use anyhow::{Context as _, Result};
use trimbench_results::{DeletionDiscardsStep, DeletionStep, Step};

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

/// The share of a deletion's bytes that were discarded when its window closed.
fn discarded_share(step: &Step) -> Result<f64> {
    let (deleted, discards): (DeletionStep, DeletionDiscardsStep) = (step.read()?, step.read()?);
    let discarded = discards.discarded_bytes_window.context("no discards were counted")?;
    Ok(discarded.0 as f64 / deleted.size_bytes.0 as f64)
}
