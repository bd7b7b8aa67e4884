//! A clean clone builds and runs at once; its first run orders four drives correctly.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use trimbench_results::RunRecord;

use super::checkout::{Clone, cloned};
use crate::acceptance::runs::figure;
use crate::acceptance::{Bar, Context, Finding, Raw};

/// The record of the first run.
const RECORD: &str = "run.json";
/// What prints as 0.000 s/GB (S1).
const PRINTS_AS_NOTHING: f64 = 0.000_5;

/// Clones the commit, builds it with build products of its own, and measures the four drives that a
/// run takes which names none. How long all methods take on them is another claim (`device.1`).
/// Packages are fetched before the clock starts: the network is not ours to measure.
pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let clone = Clone::make(context)?;
    context.capture_well("fetch", &mut clone.command("cargo", &["fetch", "--locked"]))?;
    let build = ["build", "--release", "--locked"];
    context.capture_well("build", &mut clone.command("cargo", &build))?;
    let run = ["run", "--release", "--", "run", "delete-stall"];
    context.capture_well("run", &mut clone.command("cargo", &run))?;
    let record = only_entry(&clone.root().join("trimbench-runs"))?.join("run.json");
    fs::copy(&record, context.folder().join(RECORD)).context("keep the record of the first run")?;
    Ok(())
}

/// The one entry of a folder.
fn only_entry(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let entries: Vec<_> = entries.collect::<Result<_, _>>().context("list the runs")?;
    ensure!(entries.len() == 1, "{} holds {} runs, not 1", folder.display(), entries.len());
    Ok(entries[0].path())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let note = cloned(raw)?;
    let time = |what: &str, name: &str, most: f64| -> Result<Finding> {
        let capture = raw.capture_itself(name)?;
        capture.expect_status(0)?;
        let figure = (capture.elapsed_seconds, "s");
        Ok(Finding::new(what, figure, Bar::AtMost(most), &capture).with_note(&note))
    };
    let mut findings = vec![
        time("first release build of a clean clone", "build", 180.0)?,
        time("`trimbench run delete-stall`", "run", 20.0)?,
    ];
    findings.extend(drives(raw, &raw.record(RECORD)?)?);
    Ok(findings)
}

/// Whether the drives are in the order that the sources give.
fn drives(raw: &Raw, record: &RunRecord) -> Result<[Finding; 2]> {
    let mut stutters = Vec::new();
    for session in &record.sessions {
        stutters.push((session.target.name.as_str(), figure(session, "stutter")?.value));
    }
    ensure!(stutters.len() == 4, "{} drives were measured, not 4", stutters.len());
    let of = |wanted: &str| {
        let found = stutters.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, stutter)| *stutter).with_context(|| format!("no drive `{wanted}`"))
    };
    let (xpoint, vendor2) = (of("like-optane-900p")?, of("vendor2")?);
    let others = stutters.iter().filter(|(name, _)| *name != "vendor2");
    let second = others.map(|(_, stutter)| *stutter).fold(f64::MIN, f64::max);
    ensure!(second > 0.0, "no other drive stutters at all: a ratio says nothing");
    let list: Vec<String> =
        stutters.iter().map(|(name, stutter)| format!("{name} {stutter:.4} s/GB")).collect();
    let capture = raw.capture("run")?;
    let finding = |what: &str, figure, bar| {
        Finding::new(what, figure, bar, &capture).from_file(RECORD).with_note(&list.join(", "))
    };
    Ok([
        finding(
            "stutter of like-optane-900p, without its sign",
            (xpoint.abs(), "s/GB"),
            Bar::AtMost(PRINTS_AS_NOTHING),
        ),
        finding(
            "stutter of vendor2 over the second worst",
            (vendor2 / second, ""),
            Bar::AtLeast(2.0),
        ),
    ])
}

#[cfg(test)]
mod tests;
