//! fio's side: one run, read from its JSON.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{BlockRun, Load};
use crate::fio::{number, only_job};
use crate::lab::Lab;

const ARGUMENTS: [&str; 14] = [
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
];

/// Runs fio once, with registered memory and file or without.
pub(super) fn measure(
    lab: &Lab<'_>,
    node: &str,
    Load { queue_depth, seconds, seed }: Load,
    registered: bool,
) -> Result<BlockRun> {
    let mut command = Command::new("fio");
    command.args(ARGUMENTS).arg(format!("--filename={node}"));
    command.arg(format!("--iodepth={queue_depth}")).arg(format!("--runtime={seconds}"));
    command.arg(format!("--randseed={seed}"));
    if registered {
        command.args(["--fixedbufs", "--registerfiles"]);
    }
    let output = lab.call_well(&mut command)?;
    parse(&output.stdout).with_context(|| format!("read what `{}` printed", output.command))
}

/// The only job's figures.
fn parse(printed: &str) -> Result<BlockRun> {
    let job = only_job(printed)?;
    let number = |pointer: &str| number(&job, pointer);
    let count = number("/write/total_ios")?;
    ensure!(count >= 1_000.0, "{count} commands are too few for a p99");
    let cpu_percent = number("/usr_cpu")? + number("/sys_cpu")?;
    // What the percentages are of.
    let run_time_ms = number("/job_runtime")?;
    Ok(BlockRun {
        iops: number("/write/iops")?,
        latency_ns_p50: number("/write/lat_ns/percentile/50.000000")?,
        latency_ns_p99: number("/write/lat_ns/percentile/99.000000")?,
        cpu_ns: cpu_percent / 100.0 * run_time_ms * 1e6 / count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shortened print of fio 3.33.
    const PRINTED: &str = r#"fio: a warning
        { "fio version" : "fio-3.33", "jobs" : [ { "error" : 0, "job_runtime" : 2000,
          "usr_cpu" : 10.0, "sys_cpu" : 30.0,
          "write" : { "iops" : 50000.5, "total_ios" : 100000,
            "lat_ns" : { "percentile" : { "50.000000" : 13000, "99.000000" : 90000 } } } } ] }"#;

    #[test]
    fn what_fio_printed_is_read() {
        let expected = BlockRun {
            iops: 50_000.5,
            latency_ns_p50: 13_000.0,
            latency_ns_p99: 90_000.0,
            // 40 % of 2 s for 100,000 commands.
            cpu_ns: 8_000.0,
        };
        assert_eq!(parse(PRINTED).unwrap(), expected);
    }

    #[test]
    fn a_run_of_fio_that_failed_or_did_little_is_an_error() {
        for (from, to) in [
            (r#""error" : 0"#, r#""error" : 5"#),
            (r#""total_ios" : 100000"#, r#""total_ios" : 999"#),
            (r#""usr_cpu""#, r#""user_cpu""#),
            ("{ \"fio", "\"fio"),
        ] {
            assert!(parse(&PRINTED.replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}
