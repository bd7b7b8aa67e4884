//! The project's claims, and how each is checked.
//!
//! A [`ClaimRow`] has two halves. `measure` runs programs and keeps what they print, untouched, in
//! a folder of raw output. `read` turns raw output into [`Finding`]s: figures with a bar each. No
//! verdict is stored; it is computed from the raw output whenever that is read.
//!
//! All claims stand in one table, [`KEYS`]. Those of one subject form a [`Key`], with a folder of
//! this name here and a page in `docs/evidence/`. Where a claim is checked is its [`Tier`].

mod answer;
mod bench;
mod capture;
mod claim;
mod device;
mod drives;
mod files;
mod fit;
mod foundation;
mod house;
mod kernels;
#[cfg(test)]
pub(crate) mod planted;
mod report;
mod runs;
mod safe;
mod ssd;
mod table;
mod trace;
mod truth;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::Repository;
use crate::steps::Deadline;
pub use capture::{Capture, Context, Raw};
pub use claim::{Bar, ClaimRow, Finding, Form, Tier, short};
pub use drives::reviews::{REVIEWS, Review, Reviewed, reviews};
pub use house::Compared;
pub use safe::{build_before, print_attacks};
pub use table::KEYS;

/// The claims of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name: the first part of its claims' ids.
    pub name: &'static str,
    /// Its subject, for the title of its page.
    pub title: &'static str,
    /// Its claims, in the order of their numbers.
    pub claims: &'static [ClaimRow],
}

/// What a claim may take as an acceptance test: far more than it does, on the slowest machine.
const ACCEPTANCE: Duration = Duration::from_secs(600);

/// Measures a claim in its smallest form with a program of this checkout, and reads the figures.
/// The raw output stays in `folder`, which is emptied first.
pub fn check(
    claim: &ClaimRow,
    (root, program): (&Path, &Path),
    folder: &Path,
) -> Result<Vec<Finding>> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let repository = Repository::at(root);
    let place = (folder, Form::Acceptance);
    let context = Context::new(&repository, claim.id, place, Deadline::after(ACCEPTANCE));
    claim.measured(&context.with_program(program))?;
    (claim.read)(&Raw::new(folder, Form::Acceptance)).context("read the raw output")
}
