//! A run of the size of JEDEC's master trace: its wall time, and the properties of the trace.

use std::fs;

use anyhow::{Context as _, Result};
use trimbench_trace::generate::PUBLISHED;

use crate::acceptance::runs::{Run, metric};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// The emulated drive, whose flash is of the commonest kind.
const TARGET: &str = "sim:generic-sata-tlc,capacity=256GB";
const NAME: &str = "master";
/// The most memory that was resident, in KiB.
const MEMORY: &str = "memory";
const SECONDS_MAX: f64 = 45.0;
const GIB_MAX: f64 = 2.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    // With the queue depths and passes of the preset.
    let mut run = context.run_into(NAME, "replay", (TARGET, &[]))?;
    let memory = context.capture_weighed(NAME, run.args(["--preset", "published"]))?;
    let file = context.folder().join(MEMORY);
    fs::write(&file, format!("{memory}\n")).with_context(|| format!("write {}", file.display()))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let itself = raw.capture_itself(NAME)?;
    let run = raw.run(NAME)?;
    let memory = raw.text(MEMORY)?;
    let kibibytes: f64 = memory.trim().parse().context("read the memory that was resident")?;
    let mut findings = vec![
        Finding::new(
            "four passes, wall time",
            (itself.elapsed_seconds, "s"),
            Bar::AtMost(SECONDS_MAX),
            &itself,
        )
        .with_note(&work(&run)?),
        Finding::new(
            "most memory resident, two passes side by side",
            (kibibytes / f64::from(1 << 20), "GiB"),
            Bar::AtMost(GIB_MAX),
            &itself,
        )
        .from_file(MEMORY),
    ];
    findings.extend(statistics(&run)?);
    findings.push(gain(&run)?);
    Ok(findings)
}

/// What all passes did together.
fn work(run: &Run) -> Result<String> {
    let (mut commands, mut bytes) = (0.0, 0.0);
    for pass in run.steps("pass") {
        commands += metric(pass, "write_count")?;
        bytes += metric(pass, "written_bytes")?;
    }
    Ok(format!("{:.1} million writes of {:.2} TB together", commands / 1e6, bytes / 1e12))
}

/// The generated trace, compared with the published figures of the master trace.
fn statistics(run: &Run) -> Result<Vec<Finding>> {
    let found = |key: &str| run.metric("trace", key);
    let finding = |what: &str, figure, bar, note: &str| {
        run.finding(&format!("generated trace: {what}"), figure, bar).with_note(note)
    };
    let near = |value: f64, share: f64| Bar::Near { value, share };
    let writes = PUBLISHED.writes as f64;
    let published = |key: &str| format!("published: {key}");
    Ok(vec![
        finding(
            "bytes written",
            (found("write_bytes")? / 1e9, "GB"),
            near(PUBLISHED.written.0 as f64 / 1e9, 0.01),
            &published("close to 800 GB"),
        ),
        finding(
            "write commands",
            (found("write_count")? / 1e6, "million"),
            Bar::Within(writes / 1e6, writes * 1.02 / 1e6),
            &published("over 37 million"),
        ),
        finding(
            "share of sequential writes",
            (found("sequential_share")?, ""),
            near(PUBLISHED.sequential.fraction(), 0.04),
            &published("75 % random, 25 % sequential"),
        ),
        finding(
            "share of the space trimmed in the end",
            (found("trimmed_share")?, ""),
            near(PUBLISHED.trimmed.fraction(), 0.04),
            &published("13 % of the space"),
        ),
        finding(
            "reads",
            (found("read_count")?, ""),
            Bar::Equals(0.0),
            &published("writes, flushes and TRIMs only"),
        ),
    ])
}

/// Averages and windows, with TRIM over without: reported, and above 1 in the deep queue. With one
/// command outstanding a drive whose TRIMs hold it up may lose by them.
fn gain(run: &Run) -> Result<Finding> {
    let figure = |key: &str, depth: u32| run.value(&format!("{key}-qd{depth}-kept"));
    let iops = |depth: u32, trims: &str| run.metric(&format!("qd{depth}-{trims}"), "write_iops");
    let of_depth = |depth: u32| {
        Ok::<String, anyhow::Error>(format!(
            "queue depth {depth}: {:.0} and {:.0} IOPS, a ratio of {:.3}, in windows of 100,000 \
             commands from {:.2} to {:.2}",
            iops(depth, "kept")?,
            iops(depth, "stripped")?,
            figure("gain", depth)?,
            figure("gain-min", depth)?,
            figure("gain-max", depth)?
        ))
    };
    let note = format!("{}; {}", of_depth(32)?, of_depth(1)?);
    let what = "write IOPS with TRIM over those without, queue depth 32";
    Ok(run.finding(what, (figure("gain", 32)?, ""), Bar::AtLeast(1.0)).with_note(&note))
}

#[cfg(test)]
mod tests;
