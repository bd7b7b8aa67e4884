//! The noise of `delete-stall` itself on the machine's disk, where nothing is deleted; and the
//! discards that btrfs sends minutes after a deletion.
//!
//! That those of the other filesystems are waited for is a test (`directories`).

use anyhow::{Context as _, Result, ensure};
use tests::LoopFilesystem;
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::program::{Run, record};
use trimbench_core::exit;
use trimbench_results::{RunRecord, Step};
use xtask::process::Signal;

use super::discarded_share;
use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "placebo",
    title: "No deletion, no stutter, in runs on the machine's disk; and a deletion waits for the \
            discards of btrfs, which come after minutes",
    needs: &[Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")],
    sources: REAL,
    run,
};

/// Runs, and how many intervals must cover 0. At a level of 95 % more than two of 20 miss in 7.5 %
/// of all series at most. The short form has time for one run only, whose interval misses in one of
/// 60 (five points reach the level of 98.3 %).
const RUNS: [(u64, f64); 2] = [(1, 1.0), (20, 18.0)];
/// The fewest trials that give an interval: five sizes, once each. What is written is deleted after
/// the windows only.
const PLACEBO_ONLY: [&str; 7] = [
    "placebo-only=yes",
    "sizes=16MiB,32MiB,48MiB,64MiB,80MiB",
    "repetitions=1",
    "patience=2s",
    "span=256MiB",
    "lead=300ms",
    "rest=200ms",
];
/// `discard=async` waits two minutes by itself before it discards, and there the load only reads:
/// each write to a file of btrfs frees the piece that it replaces, too small ever to be discarded,
/// and the end of the discards is when none are pending.
const ASYNC: &str = "discard=async";
const IMAGE_MEBIBYTES: u64 = 2048;
const ONE_DELETION: [&str; 7] = [
    "sizes=256MiB",
    "repetitions=1",
    "patience=0s",
    "span=64MiB",
    "lead=200ms",
    "rest=0s",
    "read-share=100%",
];
/// With this seed the deletion comes before the placebos, which are not waited for.
const DELETION_FIRST_SEED: &str = "1";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (runs, least) = lab.form(RUNS[0], RUNS[1]);
    let (mut covering, mut told) = (0_u32, Vec::new());
    for seed in 1..=runs {
        let run = placebo(lab, seed)?;
        let interval = run.figure("stutter")?.interval.context("a stutter without interval")?;
        covering += u32::from(interval.contains(0.0));
        told.push(format!("{:.4} to {:.4}", interval.low, interval.high));
    }
    let what = "placebo-only runs whose interval of the stutter covers 0";
    let covered = Figure::new(what, (covering.into(), ""), Bar::AtLeast(least))
        .with_note(format!("of {runs} runs; s/GB: {}", told.join(", ")));
    let mut figures = vec![covered];
    if !lab.is_short() {
        let what = format!("discarded within the window over freed, btrfs with `{ASYNC}`");
        figures.push(Figure::new(what, (discarded_late(lab)?, ""), Bar::AtLeast(1.0)));
    }
    Ok(figures)
}

/// A run that deletes nothing, in a directory of its own on the root filesystem.
fn placebo(lab: &Lab<'_>, seed: u64) -> Result<Run> {
    let (directory, memory) = (lab.root_folder()?, lab.memory_folder()?);
    let target = directory.path().to_str().context("a name in ASCII")?;
    let place = memory.path().join("run");
    let on = (target, &PLACEBO_ONLY[..]);
    let mut command = lab.program()?.run_command("delete-stall", on, &place);
    let output = lab.call_well(command.args(["--seed", &seed.to_string()]))?;
    let run = Run::read(output, &place)?;
    ensure!(run.steps("delete").next().is_none(), "a placebo-only run deleted something");
    Ok(run)
}

/// Deletes a file on a btrfs of our own, and ends the run once that is recorded: the share of the
/// freed bytes that were discarded before the window closed.
fn discarded_late(lab: &Lab<'_>) -> Result<f64> {
    let made = LoopFilesystem::new("btrfs", IMAGE_MEBIBYTES, ASYNC);
    let place = lab.folder().join("async");
    let target = made.path().to_str().context("a name in ASCII")?;
    let program = lab.program()?;
    let mut command = program.run_command("delete-stall", (target, &ONE_DELETION), &place);
    command.args(["--seed", DELETION_FIRST_SEED]);
    let is_deleted = || record(&place).is_ok_and(|record| deletion(&record).is_some());
    let output = program.call_signalled(&mut command, Signal::INT, is_deleted)?;
    output.expect_status(exit::INTERRUPTED)?;
    let record = record(&place)?;
    discarded_share(deletion(&record).context("nothing was deleted")?)
}

/// The first step that deleted something.
fn deletion(record: &RunRecord) -> Option<&Step> {
    let mut steps = record.sessions.iter().flat_map(|session| &session.steps);
    steps.find(|step| step.kind == "delete")
}
