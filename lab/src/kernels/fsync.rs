//! The fsync of a new file beside a mass deletion, on a slow loop device whose requests take about
//! 2 ms each: the running kernel's, and the model's with the times that the kernel's requests took.

use anyhow::Result;
use tests::discards::{FSYNC_CASES, FsyncCase, compare_fsync};

use super::BESIDE_KERNEL;
use crate::entry::{Entry, MODELS};
use crate::figure::Figure;
use crate::lab::Lab;

/// The model over the kernel, in each case.
pub(crate) const ENTRY: Entry = Entry {
    name: "fsync",
    title: "An fsync beside a mass deletion takes as long as in the running kernel",
    needs: BESIDE_KERNEL,
    sources: MODELS,
    run,
};

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let in_form = |case: &&FsyncCase| !lab.is_short() || case.name.contains("long");
    let cases = FSYNC_CASES.iter().filter(in_form);
    cases.map(|case| compare_fsync(case).map(Figure::from)).collect()
}
