//! `delete-stall` on real filesystems that are made for it on loop devices. A deletion there costs
//! what it costs on a file in memory, which nothing is compared with; the verdict must be what the
//! intervals say.

use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::program::Run;
use trimbench_results::{Figure as RunFigure, Interval};

use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// What the method says of filesystems on loop devices.
pub(crate) const ENTRY: Entry = Entry {
    name: "deletions",
    title: "How long a deletion stalls a load on real ext4, XFS and btrfs, newly made",
    needs: &[
        Root,
        Loop,
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
        Filesystem("ext4"),
        Filesystem("xfs"),
        Filesystem("btrfs"),
    ],
    sources: REAL,
    run,
};

/// The first of them in the short form, too.
const FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// Of the image that they are made on, in memory and without holes filled: 2 GiB.
const IMAGE_BYTES: u64 = 2 << 30;
/// Few and small deletions, as nothing is learnt from more; of three sizes, as a slope has no
/// interval of fewer.
const OPTIONS: [&str; 7] = [
    "sizes=32MiB,64MiB,128MiB",
    "repetitions=2",
    "patience=1s",
    "span=64MiB",
    "window=500ms",
    "lead=200ms",
    "rest=200ms",
];
/// Deletions and placebos of these.
const TRIALS: f64 = 12.0;
/// In s/GB and in s; what is less prints as 0.000.
const NOTICEABLE: f64 = 0.000_5;
/// The search for the highest rate of deletion: beside [`OPTIONS`], and its limit, ms.
const SEARCH: [&str; 4] = ["p999-limit=20ms", "rate-chunks=16MiB", "rate-max=100MB", "rate=4000"];
const LIMIT: f64 = 20.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let memory = lab.memory_folder()?;
    let mut figures = Vec::new();
    for filesystem in &FILESYSTEMS[..lab.form(1, FILESYSTEMS.len())] {
        let run = on_image(lab, (memory.path(), filesystem), &[])?;
        figures.extend(judged(filesystem, &run)?);
    }
    if !lab.is_short() {
        let run = on_image(lab, (memory.path(), "ext4"), &SEARCH)?;
        let rate = run.value("highest-deletion-rate")?;
        ensure!(rate > 0.0, "no rate keeps {LIMIT} ms on real ext4");
        let response = (run.value("highest-deletion-rate-response")?, "ms");
        let what = "p99.9 at the highest rate of deletion on real ext4 upon a loop device";
        let figure = Figure::new(what, response, Bar::AtMost(LIMIT));
        figures.push(figure.with_note(format!("{rate:.1} MB/s")));
    }
    Ok(figures)
}

/// Runs on a filesystem upon an image that is made for it in a folder.
fn on_image(lab: &Lab<'_>, (folder, filesystem): (&Path, &str), more: &[&str]) -> Result<Run> {
    let image = folder.join("image");
    // Closed before the run: what somebody writes to is not claimed.
    File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES)).context("make an image")?;
    let target = format!("{filesystem}:{}", image.display());
    let options = [&OPTIONS, more].concat();
    let place = folder.join("run");
    let mut command = lab.program()?.run_command("delete-stall", (&target, &options), &place);
    let output = lab.call(command.arg("--destroy").arg(&image))?;
    let run = Run::read(output, &place)?;
    std::fs::remove_dir_all(&place).context("remove the record")?;
    // Its pages are memory.
    std::fs::remove_file(&image).context("remove the image")?;
    Ok(run)
}

/// What a filesystem's run measured, and what it says of noise.
fn judged(filesystem: &str, run: &Run) -> Result<[Figure; 2]> {
    let status = run.output.status;
    ensure!(matches!(status, Some(0 | 4)), "{filesystem} ended with {status:?}");
    let ran = if run.session.finished { run.session.steps.len() } else { 0 };
    let stutter = run.figure("stutter")?;
    let interval = stutter.interval.context("no interval")?;
    let says = stutter.verdict.as_ref().context("no verdict")?.to_string();
    let is_told = u8::from(says.starts_with(verdict(run)?));
    let note =
        format!("{:.2} s/GB ({:.2} to {:.2}): {says}", stutter.value, interval.low, interval.high);
    let figure = |what: &str, value: f64, bar| {
        Figure::new(format!("real {filesystem} on a loop device: {what}"), (value, ""), bar)
    };
    Ok([
        figure("deletions and placebos measured", ran as f64, Bar::Equals(TRIALS)),
        figure("the verdict is what the intervals say", is_told.into(), Bar::Equals(1.0))
            .with_note(note),
    ])
}

/// What the intervals say: a difference by size, or one whatever the size, or none; or that
/// deletions were quicker than placebos.
/// Where other load spoiled placebos, that of the latter may have no interval, and says nothing.
fn verdict(run: &Run) -> Result<&'static str> {
    let shows = |figure: &RunFigure| {
        let excludes = |interval: Interval| !interval.contains(0.0);
        figure.interval.is_some_and(excludes) && figure.value.abs() > NOTICEABLE
    };
    let (slope, each) = (run.figure("stutter")?, run.figure("stutter-per-deletion")?);
    let interval = slope.interval.context("no interval of the slope")?;
    let small = interval.low > -NOTICEABLE && interval.high < NOTICEABLE;
    let is_faster = |figure: &RunFigure| shows(figure) && figure.value < 0.0;
    Ok(if is_faster(slope) || is_faster(each) {
        "invalid"
    } else if shows(slope) {
        "differs"
    } else if shows(each) {
        "stalls"
    } else if small {
        "nothing"
    } else {
        "no slowdown found"
    })
}
