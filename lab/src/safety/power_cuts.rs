//! A power cut: a run writes its record to a disk that logs its writes; the state of the disk at
//! some point of the log is then mounted and inspected, and the run gone on with.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use tests::write_log::{LoggedDisk, Unflushed};
use trimbench_core::rng::Rng;
use trimbench_results::RunRecord;

use super::interrupted::record::{Acknowledged, Progress};
use super::interrupted::variant::{CRASHED, Scene, Variant};
use super::interrupted::{self, Bench, Outcome, Resumed};
use crate::attempts::Attempts;
use crate::entry::Entry;
use crate::figure::Figure;
use crate::lab::Lab;

/// The measurement.
pub(crate) const ENTRY: Entry = Entry {
    name: "power_cuts",
    title: "After power cuts records are whole, as new as was said, and runs go on from them",
    needs: &[
        Root,
        Loop,
        Fuse,
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
        Filesystem("xfs"),
        Filesystem("btrfs"),
    ],
    sources: interrupted::SOURCES,
    run,
};

/// Power cuts of each filesystem in the short form and in full.
const CUTS: [u64; 2] = [4, 67];
/// Filesystems that lose power.
const FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let bench = Bench::new(lab)?;
    let (each, deadline) = (lab.form(CUTS[0], CUTS[1]), lab.deadline());
    let mut figures = Vec::new();
    let mut all = Vec::new();
    for filesystem in FILESYSTEMS {
        let attempts = Attempts { name: filesystem, count: each, workers: 2, deadline };
        let cuts = attempts.make(|_, number| {
            let turn = usize::try_from(number).context("it is small")?;
            let variant = &CRASHED[turn % CRASHED.len()];
            cut(&bench, (filesystem, variant), &mut attempts.random(number))
        })?;
        figures.push(interrupted::count(&format!("power cuts of {filesystem}"), &cuts, each));
        all.extend(cuts);
    }
    let what = "power cuts after which something was lost, wrong or left behind";
    figures.push(interrupted::wrong(what, all.iter()));
    Ok(figures)
}

/// Makes one attempt on a disk with this filesystem.
fn cut(bench: &Bench, (filesystem, variant): (&str, &Variant), rng: &mut Rng) -> Result<Outcome> {
    let scene = Scene::new(variant, bench.input())?;
    let disk = LoggedDisk::new(filesystem);
    let out = disk.path().join("out");
    let recording =
        disk.record(|acknowledge| write(bench, (variant, &scene), &out, acknowledge))?;
    let whole = std::fs::read(out.join("run.json")).context("read the record")?;
    let whole = RunRecord::from_json(&whole).context("read the record")?;
    drop(disk);
    let part = rng.below(10_001);
    let unflushed = match rng.below(4) {
        0 => Unflushed::Lost,
        1 => Unflushed::Kept,
        _ => Unflushed::Mixed,
    };
    let place = recording.place(part);
    let crashed = recording.crash((place, unflushed), scene.folder(), rng);
    let what = format!("{} on {filesystem} at {part} of 10000, {unflushed:?}", variant.name);
    let mut outcome = Outcome { what, ..Outcome::default() };
    let resumed = Resumed { bench, scene: &scene, output: &crashed.path().join("out") };
    resumed.check(variant, (&whole, true), recording.acknowledged(place), &mut outcome)?;
    Ok(outcome)
}

/// Runs a variant that writes to `output`.
fn write(
    bench: &Bench,
    (variant, scene): (&Variant, &Scene),
    output: &Path,
    acknowledge: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut acknowledged = Acknowledged::nothing(variant.makes.promise());
    let mut command = bench.command(&scene.begin(variant, output), scene.folder());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let printed = BufReader::new(child.stdout.take().expect("it is piped"));
    for line in printed.lines() {
        let line = line.context("read what the program prints")?;
        if let Some(progress) = acknowledged.by(&line) {
            acknowledge(progress);
        }
    }
    let status = child.wait().context("wait for the program")?;
    ensure!(matches!(status.code(), Some(0 | 4)), "{} {status}", variant.name);
    Ok(())
}
