//! The block target beside fio on one loop device, and fio beside itself.
//!
//! 4 KiB writes at random, past the page cache, by `io_uring` with registered memory and file, at
//! queue depths 1 and 32. Four sides take turns: ours, fio, fio again (the control: what its ratio
//! to fio differs from 1 is noise of the machine), and fio as most use it, without
//! `--fixedbufs --registerfiles` (information only).
//!
//! What is compared, and how each side counts it:
//! - IOPS: commands completed over the time measured.
//! - p50 and p99 of the latency from before the submission to the completion: fio's `lat_ns`, and
//!   what [`trimbench_engine::Sample::latency`] is. fio's `clat_ns` begins only when the kernel
//!   has taken the command, which leaves out what the kernel does at once. Both sides' histograms
//!   are finer than 1 %.
//! - CPU time a command: user and system time of the measuring process, from the first command to
//!   the last. fio: `usr_cpu` and `sys_cpu`, which are rusage of the job's process over the run
//!   time. Ours: `CLOCK_PROCESS_CPUTIME_ID` of a child that does nothing else, over the same part.
//!   The set-up is in neither, nor are the kernel's own threads: the loop device's worker.
//!
//! Program, worker of the loop device and all share one processor, see `processor`; the image is
//! in memory, so that no disk and no write-back is in the figures.
//!
//! Both run in a session of their own, for where the kernel shares the processors among sessions
//! (autogroups) a side without one gets less beside other work.
//!
//! Both write random data, and both change a few bytes of each block before it is written: fio by
//! its default `scramble_buffers` (about 16 bytes in every 512), ours by a stamp of 8 bytes in
//! every 4 KiB. Both draw offsets with repetition (`--norandommap`).

mod fio;
mod ours;
mod processor;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use tests::Need;
use trimbench_core::rng::Rng;

use super::turns::{in_turns, interval, ratio};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) use ours::work;

pub(super) const ENTRY: Entry = Entry {
    name: "block_target",
    title: "Random writes of 4 KiB on a loop device: ours over fio's, with fio beside itself as \
            the control",
    needs: &[Need::Root, Need::Loop, Need::Program("fio")],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-claim",
        "crates/trimbench-engine",
        "crates/trimbench-linux",
    ],
    run,
};

/// MiB of the image.
const SIZE: u64 = 1_024;

/// The sides.
const OURS: usize = 0;
const FIO: usize = 1;
const CONTROL: usize = 2;
const PLAIN: usize = 3;
const SIDES: usize = 4;

/// What one run of one side said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BlockRun {
    /// Commands completed a second.
    iops: f64,
    /// From before the submission to the completion, in ns.
    latency_ns_p50: f64,
    /// The same.
    latency_ns_p99: f64,
    /// User and system time of the process, in ns a command.
    cpu_ns: f64,
}

/// One measurement to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    queue_depth: u32,
    seconds: u64,
    seed: u32,
}

/// A figure that is compared: its name, its unit, and what ours over fio's must be.
type Compared = (&'static str, &'static str, fn(&BlockRun) -> f64, Bar);

const COMPARED: [Compared; 4] = [
    ("IOPS", "thousand/s", |run| run.iops / 1e3, Bar::AtLeast(0.95)),
    ("p50", "us", |run| run.latency_ns_p50 / 1e3, Bar::AtMost(1.1)),
    ("p99", "us", |run| run.latency_ns_p99 / 1e3, Bar::AtMost(1.1)),
    ("CPU time a command", "us", |run| run.cpu_ns / 1e3, Bar::AtMost(1.05)),
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    // Built on all processors.
    lab.program()?;
    let device = lab.loop_device(Path::new("/dev/shm"), SIZE)?;
    write_once(device.node())?;
    let _processor = processor::OneProcessor::take()?;
    let mut rng = Rng::new(1).split("seeds");
    let mut figures = Vec::new();
    for queue_depth in [1, 32] {
        // The first of each side reads programs from the disk and does not count.
        let runs = in_turns(SIDES, 1 + lab.form(3, 16), |side| {
            let seed = u32::try_from(rng.bits() >> 33)?;
            let load = Load { queue_depth, seconds: lab.form(1, 2), seed };
            let run = match side {
                OURS => ours::measure(lab, device.node(), load)?,
                _ => fio::measure(lab, device.node(), load, side != PLAIN)?,
            };
            ensure!(run.iops > 0.0 && run.cpu_ns > 0.0, "side {side} measured nothing: {run:?}");
            Ok(run)
        })?;
        for compared in COMPARED {
            figures.push(compare(queue_depth, &runs, compared)?);
        }
    }
    Ok(figures)
}

/// Ours over fio's, with the control and plain fio in the note.
fn compare(
    queue_depth: u32,
    runs: &[Vec<BlockRun>],
    (name, unit, of, bar): Compared,
) -> Result<Figure> {
    let values = |side: usize| runs[side][1..].iter().map(of).collect::<Vec<f64>>();
    let [ours, fio, control, plain] = [OURS, FIO, CONTROL, PLAIN].map(values);
    let control_ratio = ratio("", (&control, &fio), unit, bar)?.value;
    let control_interval = interval(&control, &fio).unwrap_or_default();
    let plain_ratio = ratio("", (&ours, &plain), unit, bar)?.value;
    let what = format!("{name} at queue depth {queue_depth}, ours over fio's");
    let figure = ratio(what, (&ours, &fio), unit, bar)?;
    let note = format!(
        "{}; fio over fio {control_ratio:.3}, {control_interval}; ours over plain fio \
         {plain_ratio:.3}",
        figure.note
    );
    Ok(figure.with_note(note))
}

/// Writes all of it: pages that were never written take longer the first time.
fn write_once(node: &str) -> Result<()> {
    let mut file =
        File::options().write(true).open(node).with_context(|| format!("open {node}"))?;
    let block = vec![0x5a; 1 << 20];
    for _ in 0..SIZE {
        file.write_all(&block).context("write the image once")?;
    }
    file.sync_all().context("write the image once")
}
