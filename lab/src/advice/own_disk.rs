//! The README's command on the disk of this machine: with nobody beside it, and beside somebody who
//! writes.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests::program::record;
use tests::writer::OtherWriter;
use trimbench_core::exit;

use super::{Side, alike};
use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "own_disk",
    title: "The README's command on this machine's disk gives one answer when it is calm, and none \
            beside another load",
    needs: &[],
    sources: REAL,
    run,
};

/// The README's, without its target.
const COMMAND: [&str; 5] = ["run", "--set", "sizes=64MiB,256MiB,512MiB", "--set", "patience=3s"];
/// Runs of the full form; shares of them, %.
const RUNS: usize = 10;
const ALIKE: f64 = 80.0;
const WITHOUT_ANSWER: f64 = 20.0;
/// What somebody else writes to the disk, MiB, again and again.
const WRITTEN: u64 = 1024;
const NO_ANSWER: &str = "unknown";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let runs = lab.form(1, RUNS);
    let all = |busy| (0..runs).map(|_| answer(lab, busy)).collect::<Result<Vec<String>>>();
    let (calm, busy) = (all(false)?, all(true)?);
    let given: Vec<&str> = calm.iter().map(String::as_str).filter(|it| *it != NO_ANSWER).collect();
    let of = |side| given.iter().filter(|action| Side::of(action) == side).count();
    let share = |count: usize| 100.0 * count as f64 / runs as f64;
    let recommended = busy.iter().filter(|action| *action != NO_ANSWER).count();
    let note = calm.join(", ");
    Ok(vec![
        Figure::new("calm: runs with one answer", (share(alike(&given)), "%"), Bar::AtLeast(ALIKE))
            .with_note(&note),
        Figure::new(
            "calm: runs that contradict others",
            (of(Side::Online).min(of(Side::Offline)) as f64, ""),
            Bar::Equals(0.0),
        ),
        Figure::new(
            "calm: runs without an answer",
            (share(runs - given.len()), "%"),
            Bar::AtMost(WITHOUT_ANSWER),
        ),
        Figure::new(
            "beside a writer: runs with an answer",
            (recommended as f64, ""),
            Bar::Equals(0.0),
        )
        .with_note(busy.join(", ")),
    ])
}

/// The id of the answer of a run in a new directory; of one that was refused, that there is none.
fn answer(lab: &Lab<'_>, is_busy: bool) -> Result<String> {
    let (place, others) = (lab.root_folder()?, lab.root_folder()?);
    let kept = lab.memory_folder()?;
    let output = kept.path().join("run");
    let writer = is_busy.then(|| OtherWriter::start(&others.path().join("file"), WRITTEN));
    let writer = writer.transpose().context("write to this machine's disk")?;
    let mut command = lab.trimbench(&COMMAND)?;
    command.arg("--target").arg(place.path()).arg("--output").arg(&output);
    if is_busy {
        command.args(["--quiet-wait", "10s"]);
    }
    let status = lab.call(&mut command)?.status;
    drop(writer);
    let ends = [exit::DONE, exit::INVALID, exit::TARGET].map(i32::from);
    ensure!(status.is_some_and(|it| ends.contains(&it)), "the run ended with {status:?}");
    // A run that was refused at once keeps no record.
    if output.exists() { advised(&output) } else { Ok(NO_ANSWER.to_owned()) }
}

fn advised(run: &Path) -> Result<String> {
    let record = record(run)?;
    let card = record.advice.first();
    Ok(card.map_or_else(|| NO_ANSWER.to_owned(), |card| card.action.clone()))
}
