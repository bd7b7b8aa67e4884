//! The modelled ext4 compared with the running kernel's: the same operations, and the requests that
//! each sends to its device.
//!
//! The kernel's discards and bytes are its own counters of a loop device (diskstats), which count
//! each request that the device completed. The process that plays them is held to one processor.

use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use rustix::thread::{CpuSet, sched_setaffinity};
use tests::Need::{Filesystem, Linux, Loop, Program, Root};
use tests::operations::{self, Log, OperationCounts};

use crate::entry::{Entry, MODELS};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The model over the kernel.
pub(crate) const ENTRY: Entry = Entry {
    name: "ext4",
    title: "The modelled ext4 sends its device the same requests as the kernel's ext4",
    needs: &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4"), Linux(6, 17)],
    sources: MODELS,
    run,
};

const RUNS: usize = 5;
/// Files that are deleted immediately before an unmount.
const AT_UNMOUNT: usize = 300;
const SEED: u64 = 1;
/// What is compared.
type OfCounts = fn(&OperationCounts) -> f64;
/// And how far off the model may be.
const COMPARED: [(&str, OfCounts, f64); 3] = [
    ("discards", |counts| counts.discards as f64, 0.15),
    ("bytes discarded", |counts| counts.discarded.0 as f64, 0.10),
    ("bytes written", |counts| counts.written.0 as f64, 0.10),
];
/// The log whose second half frees what lies between free space.
const OVER_TRIM: &str = "alternating";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let memory = lab.memory_folder()?;
    let logs: Vec<Log> = operations::logs(SEED).into_iter().take(lab.form(2, usize::MAX)).collect();
    // On one processor, as are the threads and programs that it starts: ext4 keeps chunks for small
    // files for each.
    let on_one = || -> Result<Vec<Figure>> {
        let mut first = CpuSet::new();
        first.set(0);
        sched_setaffinity(None, &first).context("keep to one processor")?;
        let mut figures: Vec<Figure> =
            logs.iter().flat_map(|log| compared(log, memory.path())).collect();
        figures.extend(unmounted(memory.path()));
        Ok(figures)
    };
    let played = thread::scope(|scope| scope.spawn(on_one).join());
    played.map_err(|_| anyhow!("the operations could not be played"))?
}

/// What the model and the kernel send for a log.
fn compared(log: &Log, folder: &Path) -> Vec<Figure> {
    let model = operations::modelled(log);
    let kernel: Vec<OperationCounts> = (0..RUNS).map(|_| operations::real(log, folder)).collect();
    let of_kernel = |of: OfCounts| sorted(kernel.iter().map(of));
    let mut figures = Vec::new();
    for (what, of, share) in COMPARED {
        let (model, kernel) = (of(&model), of_kernel(of));
        let what = format!("{what}, model over kernel, {}", log.name);
        let note = format!("model {model:.0}; kernel, {RUNS} runs: {}", spread(&kernel));
        let bar = Bar::Near { value: 1.0, share };
        figures.push(Figure::new(what, (model / median(&kernel), ""), bar).with_note(note));
    }
    if log.name == OVER_TRIM {
        let of = COMPARED[1].1;
        for (who, discarded) in [("model", of(&model)), ("kernel", median(&of_kernel(of)))] {
            let what = format!("bytes discarded over bytes freed, {who}, {OVER_TRIM}");
            let over = discarded / log.freed().0 as f64;
            figures.push(Figure::new(what, (over, ""), Bar::AtLeast(2.0)));
        }
    }
    figures
}

/// How many discards an unmount drops. How many the worker does before depends on how fast the
/// device is, and so the two are not compared.
fn unmounted(folder: &Path) -> [Figure; 2] {
    let kernel = (0..RUNS).map(|_| operations::real_at_unmount(AT_UNMOUNT, folder) as f64);
    let (kernel, model) = (sorted(kernel), operations::modelled_at_unmount(AT_UNMOUNT) as f64);
    let spread = spread(&kernel);
    let note = format!("of {AT_UNMOUNT} files; {spread} were discarded in the kernel's runs");
    [("model", model, String::new()), ("kernel", median(&kernel), note)].map(
        |(who, discarded, note)| {
            let what = format!("discards dropped, deletions before a sync and an unmount, {who}");
            let dropped = (AT_UNMOUNT as f64 - discarded, "");
            Figure::new(what, dropped, Bar::AtLeast(1.0)).with_note(note)
        },
    )
}

fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

fn median(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

fn spread(sorted: &[f64]) -> String {
    format!("{:.0} to {:.0}", sorted[0], sorted[sorted.len() - 1])
}
