//! The scenario of \[S3\] at 1/32 in the manners of `OpenZFS` and FreeBSD. A test has it at 1/512,
//! and what a rate of `zpool trim` costs.

use anyhow::Result;
use tests::pools::{LARGE, SMALL, manners, policies};

use crate::entry::{EMULATED, Entry};
use crate::figure::Figure;
use crate::lab::Lab;

/// Discards compared with a calculation from the rules of the sources.
pub(crate) const ENTRY: Entry = Entry {
    name: "pools",
    title: "The modelled pool discards as OpenZFS and FreeBSD do, in the scenario of [S3] at 1/32",
    needs: &[],
    sources: EMULATED,
    run,
};

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let size = lab.form(SMALL, LARGE);
    let storm = |target: &str, options: &[&str]| lab.run("delete-storm", target, options);
    let found = [manners(size, &storm)?, policies(size, &storm)?].concat();
    Ok(found.into_iter().map(Figure::from).collect())
}
