//! fio's side: one run, read from its JSON.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{BlockRun, Load};
use crate::process;

/// Runs fio once, with registered memory and file or without.
pub(super) fn measure(
    node: &str,
    load: Load,
    registered: bool,
    limit: Duration,
) -> Result<(BlockRun, String)> {
    let mut command = Command::new("timeout");
    command.arg(limit.as_secs().to_string()).arg("fio").args(arguments(node, load, registered));
    let shown = format!("fio {}", arguments("LOOP", load, registered).join(" "));
    let printed = process::output(&mut command)?;
    let run = parse(&printed).with_context(|| format!("read what `{shown}` printed"))?;
    Ok((run, shown))
}

fn arguments(node: &str, load: Load, registered: bool) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--name=bench",
        "--rw=randwrite",
        "--bs=4k",
        "--direct=1",
        "--ioengine=io_uring",
        "--norandommap",
        "--randrepeat=0",
        "--refill_buffers=0",
        "--time_based",
        "--group_reporting",
        "--clat_percentiles=1",
        "--lat_percentiles=1",
        "--percentile_list=50:99",
        "--output-format=json",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--filename={node}"));
    arguments.push(format!("--iodepth={}", load.queue_depth));
    arguments.push(format!("--runtime={}", load.length.as_secs()));
    arguments.push(format!("--randseed={}", load.seed));
    if registered {
        arguments.extend(["--fixedbufs", "--registerfiles"].map(str::to_owned));
    }
    arguments
}

/// The only job's figures.
pub(super) fn parse(printed: &str) -> Result<BlockRun> {
    // Warnings come before the object.
    let start = printed.find('{').context("no JSON")?;
    let document: Value = serde_json::from_str(&printed[start..]).context("not JSON")?;
    let job = &document["jobs"][0];
    let number = |pointer: &str| {
        job.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no `{pointer}`"))
    };
    if number("/error")? != 0.0 {
        bail!("the job failed");
    }
    let count = number("/write/total_ios")?;
    if count < 1_000.0 {
        bail!("{count} commands are too few for a p99");
    }
    let cpu_percent = number("/usr_cpu")? + number("/sys_cpu")?;
    // What the percentages are of.
    let run_time_ms = number("/job_runtime")?;
    Ok(BlockRun {
        iops: number("/write/iops")?,
        latency_ns_p50: number("/write/lat_ns/percentile/50.000000")?,
        latency_ns_p99: number("/write/lat_ns/percentile/99.000000")?,
        completion_ns_p50: Some(number("/write/clat_ns/percentile/50.000000")?),
        completion_ns_p99: Some(number("/write/clat_ns/percentile/99.000000")?),
        cpu_ns: cpu_percent / 100.0 * run_time_ms * 1e6 / count,
    })
}
