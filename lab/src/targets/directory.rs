//! A directory on the machine's disk: measured, reported, and left as it was.
//!
//! That interrupted and killed runs leave nothing behind is a test (`directories`).

use std::fs;

use anyhow::{Context as _, Result};

use super::discarded_share;
use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "directory",
    title: "A directory on the machine's disk is measured, with an interval and a picture, and \
            left as it was",
    needs: &[],
    sources: REAL,
    run,
};

const FULL: &[&str] = &["sizes=256MiB,512MiB,1GiB,2GiB,4GiB"];
const SHORT: &[&str] = &[
    "sizes=64MiB,128MiB,256MiB,384MiB,512MiB",
    "span=256MiB",
    // Five sizes once each are the fewest deletions that give an interval.
    "repetitions=1",
    "patience=0s",
    "lead=200ms",
    "rest=0s",
];
/// Cells of a picture's line: a bar beside a figure is shorter.
const PICTURE_CELLS: usize = 20;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let directory = lab.root_folder()?;
    let target = directory.path().to_str().context("a name in ASCII")?;
    let run = lab.run("delete-stall", target, lab.form(SHORT, FULL))?;
    let stutter = run.figure("stutter")?;
    let interval = stutter.interval.context("the stutter has no interval")?;
    let verdict = stutter.verdict.as_ref().context("the stutter has no verdict")?;
    let told = format!(
        "{:.4} s/GB, {:.0} % interval {:.4} to {:.4}: {verdict}",
        stutter.value,
        interval.level * 100.0,
        interval.low,
        interval.high
    );
    let shares = run.steps("delete").map(discarded_share).collect::<Result<Vec<f64>>>()?;
    let deletions = Bar::Equals(shares.len() as f64);
    let complete = shares.iter().filter(|share| **share >= 1.0).count() as f64;
    let left = fs::read_dir(directory.path()).context("list the directory")?.count() as f64;
    let figure = |what: &str, value: f64, bar| Figure::new(what, (value, ""), bar);
    Ok(vec![
        figure("deletions", shares.len() as f64, Bar::AtLeast(5.0)),
        figure("deletions behind the stutter's interval", stutter.n as f64, deletions)
            .with_note(told),
        figure("deletions whose discards were all seen within the window", complete, deletions),
        figure("pictures of a deletion", pictures(&run.output.stdout), Bar::AtLeast(1.0)),
        figure("entries left in the directory", left, Bar::Equals(0.0)),
    ])
}

/// Lines of a picture, where one says when the file was deleted.
fn pictures(printed: &str) -> f64 {
    let is_mark = |line: &str| line.trim_start().starts_with('▲') && line.contains("deleted at");
    let cells = |line: &str| line.chars().filter(|cell| ('▁'..='█').contains(cell)).count();
    let lines = printed.lines().filter(|line| cells(line) >= PICTURE_CELLS).count();
    if printed.lines().any(is_mark) { lines as f64 } else { 0.0 }
}
