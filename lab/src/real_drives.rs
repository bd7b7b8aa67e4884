//! What of the published figures of real drives the emulated ones of their names reproduce, and
//! what of public reviews those that stand for classes.
//!
//! The figures are tables in `docs/drives`: a line of names, then a row a line, the drive first.
//! The ledger (`documents::ledger`) is written from the parts of these entries' figures.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use tests::program::Run;
use trimbench_engine::{RoundStep, WearStep};

use crate::entry::Subject;
use crate::lab::Lab;

pub(crate) mod courses;
pub(crate) mod discards;
pub(crate) mod rates;
pub(crate) mod reviews;
pub(crate) mod zones;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "real_drives",
    title: "Emulated drives beside the published figures of real ones",
    entries: &[courses::ENTRY, rates::ENTRY, discards::ENTRY, zones::ENTRY, reviews::ENTRY],
};

/// The profiles that bear the names of real drives.
pub(crate) const NAMED: [&str; 4] =
    ["kioxia-cm7-r-3840", "micron-7450-max-800", "solidigm-p5520-1920", "wd-dc-960"];
/// The drive of the short forms.
const SHORT: &str = "micron-7450-max-800";

/// What the figures of all entries speak of.
const SOURCES: &[&str] = &[
    "crates/trimbench-core",
    "crates/trimbench-ssd",
    "crates/trimbench-engine",
    "crates/trimbench-methods",
    "crates/trimbench-results",
    "docs/drives/courses.csv",
    "docs/drives/latency.csv",
    "docs/drives/reviews.toml",
    "docs/drives/trim.csv",
    "docs/drives/zones.csv",
    "lab/src/real_drives.rs",
    "profiles",
];

/// A round of `steady-state`.
#[derive(Clone, Copy, Debug)]
struct DriveRound {
    iops: f64,
    /// Where the drive counts what it writes.
    wear: Option<WearStep>,
}

/// A table of the repository.
fn table(lab: &Lab<'_>, path: &str) -> Result<String> {
    fs::read_to_string(lab.path(path)).with_context(|| format!("read {path}"))
}

/// All rows of a table.
fn rows<T>(table: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    table.lines().skip(1).map(read).collect()
}

/// The rows of the drives that a form runs, in their order.
fn rows_of_form<T>(lab: &Lab<'_>, path: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let is_wanted = |line: &&str| !lab.is_short() || line.split(',').next() == Some(SHORT);
    table(lab, path)?.lines().skip(1).filter(is_wanted).map(read).collect()
}

fn number(text: &str) -> Result<f64> {
    text.parse().with_context(|| format!("`{text}` is no number"))
}

/// A number of a row that some rows lack.
fn optional_number(text: &str) -> Result<Option<f64>> {
    (!text.is_empty()).then(|| number(text)).transpose()
}

/// Numbers with spaces between them.
fn numbers(text: &str) -> Result<Vec<f64>> {
    text.split(' ').map(number).collect()
}

/// A run of a method that need not find a steady state, with a seed: what its steps say is what
/// counts.
fn run(
    lab: &Lab<'_>,
    method: &str,
    (target, options): (&str, &[String]),
    seed: u64,
) -> Result<Run> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let folder = lab.memory_folder()?;
    let place = folder.path().join("run");
    let mut command = lab.program()?.run_command(method, (target, &options), &place);
    let output = lab.call(command.args(["--seed", &seed.to_string()]))?;
    ensure!(matches!(output.status, Some(0 | 4)), "`{}`: {}", output.command, output.complaint());
    Run::read(output, &place)
}

/// The rounds of a run of `steady-state`, of which there must be so many.
fn rounds(
    lab: &Lab<'_>,
    on: (&str, &[String]),
    seed: u64,
    count: usize,
) -> Result<Vec<DriveRound>> {
    let session = run(lab, "steady-state", on, seed)?.session;
    let rounds = session.steps.iter().filter_map(|step| {
        let iops = step.read::<RoundStep>().ok()?.iops?;
        Some(DriveRound { iops, wear: step.read().ok() })
    });
    let rounds: Vec<DriveRound> = rounds.collect();
    ensure!(rounds.len() == count, "{}: {} rounds, not {count}", on.0, rounds.len());
    Ok(rounds)
}
