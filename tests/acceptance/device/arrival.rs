//! Every method on a loop device: its discards free blocks of the image below.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use trimbench_core::exit;

use super::METHODS;
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};
use crate::process::output;

/// Size of the image.
const FULL_MEBIBYTES: u64 = 3072;
const SHORT_MEBIBYTES: u64 = 512;
/// Shares of the image's size that are allocated: when full, and when everything was discarded.
const WRITTEN_MIN: f64 = 0.98;
const DISCARDED_MAX: f64 = 0.01;
/// Options that leave the procedure as it is and its samples fewer.
const FULL: [(&str, &[&str]); 6] = [
    // A rate that a virtual machine keeps: the claim is of discards, not of latencies.
    ("delete-stall", &["sizes=128MiB,256MiB,512MiB", "span=256MiB", "rate=100", "patience=0s"]),
    ("trim-sweep", &[]),
    ("trim-integrity", &[]),
    ("steady-state", &[]),
    // It fills the device last, and so leaves it full.
    ("recovery", &[]),
    ("idle-trim", &[]),
];
const SHORT: [(&str, &[&str]); 6] = [
    (
        "delete-stall",
        &[
            "sizes=16MiB,32MiB,64MiB",
            "span=32MiB",
            "rate=100",
            "repetitions=1",
            "patience=0s",
            "window=1s",
            "rest=0s",
            "lead=100ms",
        ],
    ),
    (
        "trim-sweep",
        &[
            "sizes=4KiB,64KiB,1MiB",
            "reference=1MiB",
            "commands=40",
            "row-bytes-max=40MiB",
            "rest=0s",
            "load-time=200ms",
            "load-span=32MiB",
        ],
    ),
    ("trim-integrity", &["region=8MiB", "guard=64KiB"]),
    ("steady-state", &["precondition=100%", "round-share=5%"]),
    ("recovery", &["torture=10%", "rest=0s"]),
    ("idle-trim", &["repetitions=1", "rest=0s"]),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let (mebibytes, runs) =
        if context.is_short() { (SHORT_MEBIBYTES, SHORT) } else { (FULL_MEBIBYTES, FULL) };
    let device = context.loop_device(Path::new("/var/tmp"), mebibytes)?;
    for (method, options) in runs {
        let mut command = context.run_into(method, method, (device.node(), options))?;
        context.capture(method, command.arg("--destroy").arg(device.image()))?;
        // What the loop device was told to free is freed once the filesystem's log says so.
        output(Command::new("sync").arg("--file-system").arg(device.image()))?;
        let mut stat = Command::new("stat");
        stat.args(["--format", "%b %s"]).arg(device.image());
        context.capture_well(&format!("after-{method}"), &mut stat)?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for method in METHODS {
        findings.push(completed(raw, method)?);
    }
    let (full, stat) = allocated(raw, "recovery")?;
    let what = "share of the image that is allocated after writing all of it (`recovery`)";
    findings.push(Finding::new(what, (full, ""), Bar::AtLeast(WRITTEN_MIN), &stat));
    let (empty, stat) = allocated(raw, "idle-trim")?;
    let what = "share of the image that is allocated after TRIM of all of it (`idle-trim`)";
    findings.push(Finding::new(what, (empty, ""), Bar::AtMost(DISCARDED_MAX), &stat));
    findings.extend(not_measurable(raw)?);
    Ok(findings)
}

/// The exit code of a method, with what it says of itself.
fn completed(raw: &Raw, method: &str) -> Result<Finding> {
    let run = raw.capture_itself(method)?;
    let code = run.status.context("a signal ended the run")?;
    // Load of others makes a run invalid. In CI, where there may be some, that is no fault.
    let is_busy = raw.form() == Form::Acceptance && code == i32::from(exit::INVALID);
    let code = if is_busy { 0 } else { code };
    let session = raw.run(method)?.session;
    let of_steps = session.steps.iter().flat_map(|step| &step.caveats);
    let of_figures = session.figures.iter().flat_map(|figure| &figure.caveats);
    let mut caveats: Vec<&str> =
        session.caveats.iter().chain(of_steps).chain(of_figures).map(String::as_str).collect();
    caveats.sort_unstable();
    caveats.dedup();
    let note = format!("{} steps; caveats: {}", session.steps.len(), caveats.join(", "));
    let what = format!("exit code of {method} on a loop device");
    Ok(Finding::new(&what, (code.into(), ""), Bar::Equals(0.0), &run).with_note(&note))
}

/// Which share of the image was allocated after a method: `stat` prints blocks of 512 bytes, and
/// the size in bytes.
fn allocated(raw: &Raw, method: &str) -> Result<(f64, Capture)> {
    let stat = raw.capture(&format!("after-{method}"))?;
    stat.expect_status(0)?;
    let printed = raw.text(&stat.output)?;
    let numbers = printed.split_whitespace().map(str::parse::<f64>);
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>().context("read what stat printed")?;
    let [blocks, size] = numbers[..] else { anyhow::bail!("stat printed `{}`", printed.trim()) };
    Ok((blocks * 512.0 / size, stat))
}

/// What `recovery` says of a drive whose fresh state is a trimmed one.
fn not_measurable(raw: &Raw) -> Result<[Finding; 2]> {
    let run = raw.run("recovery")?;
    let figures = run.session.figures.iter();
    let ratios = figures.filter(|figure| figure.id == "trimmed-of-fresh").count() as f64;
    let report = raw.text(&run.capture.output)?;
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words.matches("not measurable against fresh: purged by TRIM").count() as f64;
    let what = "ratios of trimmed to fresh that `recovery` gives where TRIM is the only purge";
    let why = "times that its report says why";
    Ok([
        run.finding(what, (ratios, ""), Bar::Equals(0.0)),
        Finding::new(why, (said, ""), Bar::AtLeast(1.0), &run.capture),
    ])
}

#[cfg(test)]
mod tests;
