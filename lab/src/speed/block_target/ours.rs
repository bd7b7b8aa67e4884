//! Our side: the block target as the methods drive it, through `Runner` and a histogram, in a
//! process of its own.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use rustix::fs::OFlags;
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Bytes, Data, Instant, Interrupt, Nanos, Ppm, Status, Target as _,
};
use trimbench_engine::runner::Single;
use trimbench_engine::workload::{ClosedLoop, RandomAccess};
use trimbench_engine::{DeviceArea, Runner, Sample};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget};
use trimbench_results::{LatencyHistogram, Quantile};

use super::{BlockRun, Load};
use crate::lab::Lab;
use crate::speed::turns::cpu_time;

/// Bytes of a command.
const SIZE: Bytes = Bytes(4_096);

/// Runs a child that measures once.
pub(super) fn measure(
    lab: &Lab<'_>,
    node: &str,
    Load { queue_depth, seconds, seed }: Load,
) -> Result<BlockRun> {
    // The leader of a group of processes cannot begin a session: here that is `timeout`.
    let mut command = Command::new("timeout");
    command.arg("60").arg(std::env::current_exe().context("find this program")?);
    let numbers = [u64::from(queue_depth), seconds, u64::from(seed)];
    command.args(["part", "block-work", node]).args(numbers.map(|number| number.to_string()));
    let output = lab.call_well(&mut command)?;
    serde_json::from_str(&output.stdout).context("read what the child printed")
}

/// The child: measures so many seconds of writes on the device `node`, which it destroys, and
/// prints the [`BlockRun`].
pub(crate) fn work(node: &str, queue_depth: u32, seconds: u64, seed: u64) -> Result<()> {
    // As fio's jobs do: a session is what the kernel's autogroups share the processors among.
    rustix::process::setsid().context("begin a session")?;
    let flags = OFlags::DIRECT | OFlags::EXCL | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).context("open flags fit")?;
    let file = File::options().read(true).write(true).custom_flags(flags).open(node);
    let file = file.with_context(|| format!("open {node}"))?;
    let medium = BlockMedium::of(file.into())?;
    if medium.loop_backing_file().is_none() {
        bail!("{node} is no loop device");
    }
    let area = DeviceArea {
        start: Bytes(0),
        length: medium.capacity(),
        logical_block: medium.logical_block(),
        data: Data::Random,
    };
    let mut target = BlockTarget::new(medium, BlockOptions { seed, ..BlockOptions::default() })?;
    let access = RandomAccess::new(area, SIZE, Ppm(0), Rng::new(seed));
    let mut runner = Runner::new(Interrupt::default());
    // Memory is prepared with the first commands.
    let mut first = Single(ClosedLoop::new(access.clone(), queue_depth, queue_depth.into()));
    runner.prepare(&mut target, &mut first)?;

    let mut latencies = LatencyHistogram::new();
    let mut failed = 0_u64;
    let mut observer = |sample: &Sample<BlockCommand>| {
        latencies.record(sample.latency());
        failed += u64::from(sample.status != Status::Done);
    };
    let mut writes = Single(ClosedLoop::new(access, queue_depth, u64::MAX));
    let (started, cpu_before) = (target.now(), cpu_time());
    let deadline = started + Nanos::from_secs(seconds);
    runner.run_until(&mut target, &mut writes, &mut observer, deadline)?;
    let (span, cpu) = (target.now().since(started), cpu_time().saturating_sub(cpu_before));
    // What is still under way belongs to nothing.
    runner.run_until(&mut target, &mut Single(Nothing), &mut |_: &_| {}, Instant::NEVER)?;
    if failed > 0 {
        bail!("{failed} commands failed");
    }
    let count = latencies.count() as f64;
    let percentile = |quantile| latencies.percentile(quantile).map(|latency| latency.0 as f64);
    let run = BlockRun {
        iops: count / span.seconds(),
        latency_ns_p50: percentile(Quantile::P50).context("too few commands")?,
        latency_ns_p99: percentile(Quantile::P99).context("too few commands")?,
        cpu_ns: cpu.0 as f64 / count,
    };
    println!("{}", serde_json::to_string(&run)?);
    Ok(())
}

/// A workload that issues nothing.
struct Nothing;

impl trimbench_core::Workload for Nothing {
    type Command = BlockCommand;

    fn next(&mut self, _: Instant) -> trimbench_core::Next<BlockCommand> {
        trimbench_core::Next::Done
    }

    fn completed(&mut self, _: &BlockCommand, _: Instant) {}
}
