//! The time of whole runs with one job and with two, in turns; and that the record does not tell.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::turns::{in_turns, ratio};
use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(super) const ENTRY: Entry = Entry {
    name: "jobs",
    title: "`trimbench run` with two jobs over one, with and without its report",
    needs: &[],
    sources: EMULATED,
    run,
};

/// Kinds of runs, by their options.
const KINDS: [&[&str]; 4] = [
    &["--no-report", "--jobs", "1"],
    &["--no-report", "--jobs", "2"],
    &["--jobs", "1"],
    &["--jobs", "2"],
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(processors >= 2, "two jobs need two processors");
    let runs = in_turns(KINDS.len(), lab.form(1, 5), |kind| whole(lab, KINDS[kind]))?;
    let seconds = |kind: usize| runs[kind].iter().map(|(time, _)| *time).collect::<Vec<f64>>();
    let [one, two, one_with_report, two_with_report] = [0, 1, 2, 3].map(seconds);
    let (_, sixteen) = whole(lab, &["--no-report", "--jobs", "16"])?;
    let first = &runs[0][0].1;
    let others = runs.iter().flatten().map(|(_, record)| record).chain([&sixteen]);
    let different = others.filter(|record| *record != first).count();
    let report = "two jobs over one, with report";
    Ok(vec![
        ratio("two jobs over one, without report", (&two, &one), "s", Bar::AtMost(0.6))?,
        ratio(report, (&two_with_report, &one_with_report), "s", Bar::AtMost(0.68))?,
        Figure::new(
            "records of 1, 2 and 16 jobs with other bytes than the first",
            (different as f64, ""),
            Bar::Equals(0.0),
        ),
    ])
}

/// A run of all methods on the drives that it takes by itself: its seconds, and its record.
fn whole(lab: &Lab<'_>, options: &[&str]) -> Result<(f64, Vec<u8>)> {
    let place = lab.folder().join("run");
    let mut command = lab.trimbench(&["run"])?;
    let output = lab.call_well(command.args(options).arg("--output").arg(&place))?;
    let record = fs::read(place.join("run.json")).context("read the record")?;
    fs::remove_dir_all(&place).context("remove the run")?;
    Ok((output.seconds, record))
}
