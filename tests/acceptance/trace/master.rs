//! A run of the size of JEDEC's master trace: how long it takes, and what its trace is like.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use trimbench_results::Session;
use trimbench_trace::generate::PUBLISHED;

use super::metric;
use crate::acceptance::{Bar, Capture, Claim, Context, Finding, Raw};

pub(super) const CLAIM: Claim = Claim {
    id: "trace.1",
    title: "`replay` of 800 GB of writes, four times, on a drive of 256 GB",
    bar: "a generated trace of the master trace's size at queue depth 1 and 32, with and without \
          TRIM, on an emulated TLC drive, in at most 45 s of wall time on 2 cores and 2 GiB of \
          memory; the trace's statistics beside the published ones: 800 GB within 1 %, at least 37 \
          million writes and at most 2 % more, a quarter of them sequential within 4 %, 13 % of \
          the space trimmed in the end within 4 % of that; in both forms",
    short: Duration::from_secs(75),
    full: Duration::from_secs(75),
    measure,
    read,
};

/// The emulated drive, whose flash is of the commonest kind.
const TARGET: &str = "sim:generic-sata-tlc,capacity=256GB";
const NAME: &str = "master";
/// The most memory that was resident, in KiB.
const MEMORY: &str = "memory";
const SECONDS_MAX: f64 = 45.0;
const GIB_MAX: f64 = 2.0;

fn measure(context: &Context<'_>) -> Result<()> {
    // With the queue depths and passes of the preset.
    let arguments = ["run", "replay", "--preset", "published", "--target", TARGET];
    let mut run = context.trimbench(&arguments)?;
    run.arg("--output").arg(context.folder().join(NAME));
    let memory = context.capture_weighed(NAME, &mut run)?;
    let file = context.folder().join(MEMORY);
    fs::write(&file, format!("{memory}\n")).with_context(|| format!("write {}", file.display()))
}

fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let itself = raw.capture_itself(NAME)?;
    let session = raw.session(&format!("{NAME}/run.json"))?;
    let memory = raw.text(MEMORY)?;
    let kibibytes: f64 = memory.trim().parse().context("read the memory that was resident")?;
    let mut findings = vec![
        Finding::new(
            "four passes, wall time",
            (itself.elapsed_seconds, "s"),
            Bar::AtMost(SECONDS_MAX),
            &itself,
        )
        .with_note(&work(&session)?),
        Finding::new(
            "most memory resident, two passes side by side",
            (kibibytes / f64::from(1 << 20), "GiB"),
            Bar::AtMost(GIB_MAX),
            &itself,
        )
        .from_file(MEMORY),
    ];
    findings.extend(statistics(&session, &itself)?);
    findings.push(gain(&session, &itself)?);
    Ok(findings)
}

/// What all passes did together.
fn work(session: &Session) -> Result<String> {
    let (mut commands, mut bytes) = (0.0, 0.0);
    for pass in session.steps.iter().filter(|step| step.kind == "pass") {
        commands += metric(session, &pass.id, "write_count")?;
        bytes += metric(session, &pass.id, "written_bytes")?;
    }
    Ok(format!("{:.1} million writes of {:.2} TB together", commands / 1e6, bytes / 1e12))
}

/// The generated trace beside what is published of the master trace.
fn statistics(session: &Session, capture: &Capture) -> Result<Vec<Finding>> {
    let found = |key: &str| metric(session, "trace", key);
    let finding = |what: &str, figure, bar, note: &str| {
        Finding::new(&format!("generated trace: {what}"), figure, bar, capture)
            .from_file(&format!("{NAME}/run.json"))
            .with_note(note)
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
fn gain(session: &Session, capture: &Capture) -> Result<Finding> {
    let figure = |key: &str, depth: u32| {
        let id = format!("{key}-qd{depth}-kept");
        let figure = session.figure(&id).with_context(|| format!("no figure `{id}`"))?;
        Ok::<f64, anyhow::Error>(figure.value)
    };
    let iops =
        |depth: u32, trims: &str| metric(session, &format!("qd{depth}-{trims}"), "write_iops");
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
    let finding = Finding::new(what, (figure("gain", 32)?, ""), Bar::AtLeast(1.0), capture);
    Ok(finding.from_file(&format!("{NAME}/run.json")).with_note(&note))
}

#[cfg(test)]
mod tests;
