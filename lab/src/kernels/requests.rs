//! The discards of deletions, trims and unmounts: the running kernel's on a slow loop device, and
//! the model's on a model of it, whose discards take the time that the kernel's took.

use anyhow::Result;
use tests::discards::{DISCARD_CASES, DiscardCase, compare};

use super::BESIDE_KERNEL;
use crate::entry::{Entry, MODELS};
use crate::figure::Figure;
use crate::lab::Lab;

/// The model over the kernel, in each case.
pub(crate) const ENTRY: Entry = Entry {
    name: "requests",
    title: "The modelled filesystems and block layer discard as the running kernel does",
    needs: BESIDE_KERNEL,
    sources: MODELS,
    run,
};

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    // A test has both limits, a plug, and discards within `rm`.
    let in_form = |case: &&DiscardCase| !lab.is_short() || !case.throttled;
    let mut figures = Vec::new();
    for case in DISCARD_CASES.iter().filter(in_form) {
        figures.extend(compare(case)?.into_iter().map(Figure::from));
    }
    Ok(figures)
}
