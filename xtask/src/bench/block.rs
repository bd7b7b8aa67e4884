//! Benchmark `block`: the block target beside fio on one loop device, and fio beside itself.
//!
//! 4 KiB writes at random, past the page cache, by `io_uring` with registered memory and file, at
//! queue depths 1 and 32. In every repetition each of four sides runs once, in random order: ours,
//! fio, fio again (the control: what its ratio to fio differs from 1 is noise of the machine), and
//! fio as most use it, without `--fixedbufs --registerfiles` (information only).
//!
//! What is compared, and how each side counts it:
//! - IOPS: commands completed over the time measured.
//! - p50 and p99 of the latency from before the submission to the completion: fio's `lat_ns`, and
//!   what [`trimbench_engine::Sample::latency`] is. fio's `clat_ns` begins only when the kernel
//!   has taken the command, which leaves out what the kernel does at once; it is shown beside.
//!   Both sides' histograms are finer than 1 %.
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

mod compare;
mod device;
mod fio;
mod ours;
mod processor;

use std::time::Duration;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;

use super::{Bench, BenchContext, Measured};
use crate::setup;

pub use ours::work;

pub(super) const BENCH: Bench = Bench { name: "block", peer: "fio", run };

/// Interleaved measurements of each side, at least, unless it must be quick.
const FEWEST: usize = 12;
/// Queue depths that are compared.
const QUEUE_DEPTHS: [u32; 2] = [1, 32];
/// Length of each measurement.
const LENGTH: Duration = Duration::from_secs(2);
/// The same, where it must be quick.
const LENGTH_SMALL: Duration = Duration::from_secs(1);

/// What one run of one side said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRun {
    /// Commands completed a second.
    pub iops: f64,
    /// From before the submission to the completion, in ns.
    pub latency_ns_p50: f64,
    /// The same.
    pub latency_ns_p99: f64,
    /// From the end of the submission to the completion, in ns; fio only.
    pub completion_ns_p50: Option<f64>,
    /// The same.
    pub completion_ns_p99: Option<f64>,
    /// User and system time of the process, in ns a command.
    pub cpu_ns: f64,
}

/// Who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Ours,
    Fio,
    /// fio again.
    Control,
    /// fio with its defaults.
    Plain,
}

impl Who {
    const ALL: [Self; 4] = [Self::Ours, Self::Fio, Self::Control, Self::Plain];
}

/// One measurement to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    queue_depth: u32,
    length: Duration,
    seed: u32,
}

/// All runs of one queue depth, by side.
#[derive(Clone, Debug, Default)]
struct Runs {
    runs: [Vec<BlockRun>; 4],
    commands: [String; 4],
}

fn run(context: &BenchContext<'_>) -> Result<Measured> {
    for (wanted, is_there) in [
        ("fio; `cargo xtask setup --for bench` installs it", setup::is_there("fio")),
        ("losetup", setup::is_there("losetup")),
        ("root, for a loop device", rustix::process::geteuid().is_root()),
        ("a loop device", std::path::Path::new("/dev/loop-control").exists()),
        (processor::WORKERS, std::path::Path::new(processor::WORKERS).exists()),
    ] {
        if !is_there {
            return Ok(Measured::Skipped(format!("it needs {wanted}")));
        }
    }
    let wanted = |depth: &u32| context.case.is_none_or(|case| prefix(*depth).contains(case));
    let depths: Vec<u32> = QUEUE_DEPTHS.into_iter().filter(wanted).collect();
    if depths.is_empty() {
        return Ok(Measured::Cases(Vec::new()));
    }
    let (repetitions, length) = if context.small {
        (context.repetitions, LENGTH_SMALL)
    } else {
        (context.repetitions.max(FEWEST), LENGTH)
    };
    let device = device::LoopDevice::new()?;
    let processor = processor::OneProcessor::take()?;
    let mut rng = Rng::new(1).split("bench-block");
    let mut all = Vec::new();
    for queue_depth in depths {
        let mut runs = Runs::default();
        // The first of each side reads programs from the disk and is not kept.
        for repetition in 0..=repetitions {
            for who in shuffled(&mut rng) {
                let seed = u32::try_from(rng.bits() >> 33)?;
                let load = Load { queue_depth, length, seed };
                let (run, command) = measure(who, &device, load, context)?;
                if !(run.iops > 0.0 && run.cpu_ns > 0.0) {
                    bail!("{who:?} measured nothing: {run:?}");
                }
                if repetition > 0 {
                    runs.runs[who as usize].push(run);
                    let number = processor.number();
                    runs.commands[who as usize] = format!("taskset -c {number} {command}");
                }
            }
        }
        all.extend(compare::cases(&prefix(queue_depth), &runs, &mut rng));
    }
    Ok(Measured::Cases(all))
}

fn prefix(queue_depth: u32) -> String {
    format!("QD {queue_depth}")
}

fn shuffled(rng: &mut Rng) -> [Who; 4] {
    let mut order = Who::ALL;
    for last in (1..order.len()).rev() {
        order.swap(last, index(rng.below(last as u64 + 1)));
    }
    order
}

fn measure(
    who: Who,
    device: &device::LoopDevice,
    load: Load,
    context: &BenchContext<'_>,
) -> Result<(BlockRun, String)> {
    match who {
        Who::Ours => ours::measure(device.node(), load, context.limit),
        Who::Fio | Who::Control => fio::measure(device.node(), load, true, context.limit),
        Who::Plain => fio::measure(device.node(), load, false, context.limit),
    }
}

#[cfg(test)]
mod tests;
