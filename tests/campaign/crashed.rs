//! One power cut: a run writes its record to a disk that logs its writes; the state of the disk at
//! some point of the log is then mounted and inspected.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::LoopFilesystem;
use crate::write_log::{LoggedDisk, WriteLog, empty_image};
use anyhow::{Context as _, Result, ensure};
use trimbench_core::rng::Rng;
use trimbench_results::RunRecord;

use super::killed::attempt::Resumed;
use super::killed::record::{Acknowledged, Progress};
use super::killed::variant::{CRASHED, Scene, Variant};
use super::killed::{Bench, Line};

#[cfg(test)]
mod tests;

/// The least of an XFS, MiB; the others take it as well.
pub(super) const MEBIBYTES: u64 = 320;

/// What came of the writes since the last flush.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unflushed {
    Lost,
    Kept,
    /// Each unit as it comes.
    Mixed,
}

/// What was written while something ran, with what it acknowledged.
#[derive(Debug)]
pub(super) struct Recording {
    log: std::sync::Arc<WriteLog>,
    /// What the marks stand for.
    acknowledged: Vec<Progress>,
    /// Entries of the log when it began and when it had ended.
    begin: usize,
    end: usize,
}

/// Makes one attempt on a disk with this filesystem.
pub(super) fn cut(bench: &Bench, (filesystem, turn): (&str, usize), rng: &mut Rng) -> Result<Line> {
    let variant = &CRASHED[turn / 3 % CRASHED.len()];
    let scene = Scene::new(variant, bench.input())?;
    let disk = LoggedDisk::new(filesystem, MEBIBYTES);
    let recording = record(disk.log(), |acknowledge| {
        run(bench, (variant, &scene), &disk.path().join("out"), acknowledge)
    })?;
    let whole = std::fs::read(disk.path().join("out/run.json")).context("read the record")?;
    let whole = RunRecord::from_json(&whole).context("read the record")?;
    // Two filesystems of one name are not mounted at a time.
    drop(disk);
    let part = rng.below(10_001);
    let unflushed = [Unflushed::Lost, Unflushed::Kept, Unflushed::Mixed, Unflushed::Mixed];
    let unflushed = unflushed[usize::try_from(rng.below(4)).expect("it is small")];
    let place = recording.place(part);
    let crashed = recording.crash((place, unflushed), scene.folder(), rng);
    let mut line = Line {
        run: variant.name.to_owned(),
        disk: filesystem.to_owned(),
        at: format!("{part} of 10000, {unflushed:?}").to_lowercase(),
        ..Line::default()
    };
    let output = crashed.path().join("out");
    let resumed = Resumed { bench, scene: &scene, output: &output };
    let least = recording.acknowledged(place);
    resumed.check(variant, (&whole, true), least, &mut line)?;
    Ok(line)
}

/// Runs a variant that writes to `output`.
fn run(
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

/// Has `body` write to the disk of this log, and acknowledge what it must never lose.
pub(super) fn record(
    log: &std::sync::Arc<WriteLog>,
    body: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<()>,
) -> Result<Recording> {
    let begin = log.len();
    let mut acknowledged = Vec::new();
    body(&mut |progress| {
        log.mark(acknowledged.len() as u64);
        acknowledged.push(progress);
    })?;
    Ok(Recording { log: std::sync::Arc::clone(log), acknowledged, begin, end: log.len() })
}

impl Recording {
    /// A place of the log, from its beginning (0) to its end (10,000).
    pub(super) fn place(&self, part: u64) -> usize {
        let part = usize::try_from(part).expect("it is small");
        self.begin + (self.end - self.begin) * part / 10_000
    }

    /// What had been acknowledged by then.
    pub(super) fn acknowledged(&self, place: usize) -> Progress {
        let mark = self.log.last_mark(place).and_then(|mark| usize::try_from(mark).ok());
        mark.map_or_else(Progress::default, |mark| self.acknowledged[mark])
    }

    /// The disk as it may be after a power cut at this place, mounted.
    pub(super) fn crash(
        &self,
        (place, unflushed): (usize, Unflushed),
        folder: &Path,
        rng: &mut Rng,
    ) -> LoopFilesystem {
        let (image, path) = empty_image(folder, MEBIBYTES);
        self.log.crash(place, &image, || match unflushed {
            Unflushed::Lost => false,
            Unflushed::Kept => true,
            Unflushed::Mixed => rng.below(2) == 0,
        });
        LoopFilesystem::existing(&path, "defaults")
    }
}
