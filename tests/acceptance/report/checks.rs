//! In Chromium, every chart is drawn from the data of its record and reacts to the reader; each
//! check detects a page that was broken for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::{drive, fixtures};
use crate::acceptance::runs::UNLOOKED;
use crate::acceptance::{Bar, Context, Finding, Raw};

/// What all methods are run on; for the short form the first two.
const DRIVES: [&str; 3] = ["vendor2", "generic-nvme-tlc", "generic-sata-tlc"];
/// What is looked at as a whole: a drive that writes in place, and one whose TRIMs free what lies
/// beside, too.
const WHOLE: [&str; 2] = ["like-optane-900p", "generic-nvme-dramless,trim-eats-neighbour=4KiB"];
const ON_WHOLE: [&str; 3] = ["trim-integrity", "recovery", "steady-state"];
/// What four drives that differ must be told: each TRIM of the first takes 82 ms, the second's are
/// off the path of reads and writes, the third writes in place, the fourth loses data.
const VERDICTS: [&str; 4] = [
    "vendor2=weekly-fstrim",
    "generic-nvme-tlc=mount-with-discard",
    "like-optane-900p=nothing-to-gain",
    "generic-nvme-dramless=do-not-trim",
];
/// What stands in the raw output for each theme that is broken.
const BROKEN: &str = "broken";
/// Ways to break a page.
const WAYS: f64 = 17.0;

/// A line of `check_report.py`.
#[derive(Debug, Deserialize)]
struct Line {
    theme: String,
    check: String,
    faults: Vec<String>,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let drives = if context.is_short() { &DRIVES[..2] } else { &DRIVES };
    let whole = fixtures::on_drives(context, "whole", &ON_WHOLE, &WHOLE)?;
    let runs = [
        fixtures::on_drives(context, "drives", &[], drives)?,
        whole.clone(),
        fixtures::on_files(context, "files", &["vendor6"])?,
        on_image(context)?,
        in_directory(context)?,
    ];
    // Every table, not one of each kind.
    let every: &[&str] = if context.is_short() { &[] } else { &["--every"] };
    check(context, "checks", &runs, &VERDICTS, every)?;
    // The smaller a page, the sooner it is broken in all ways.
    check(context, BROKEN, &[whole], &VERDICTS[2..], &["--break-each"])
}

/// Runs `check_report.py` on the page of these runs, as `name`.
fn check(
    context: &Context<'_>,
    name: &str,
    runs: &[PathBuf],
    verdicts: &[&str],
    options: &[&str],
) -> Result<()> {
    let (page, capture) = fixtures::page(context, name, runs, context.folder())?;
    ensure!(page.exists(), "`{}` made no page", capture.command);
    let page = page.display().to_string();
    let records: Vec<String> =
        runs.iter().map(|run| run.join("run.json").display().to_string()).collect();
    let mut arguments = vec![page.as_str()];
    arguments.extend(records.iter().map(String::as_str));
    arguments.extend(verdicts.iter().flat_map(|verdict| ["--verdict", verdict]));
    arguments.extend(options);
    drive(context, name, "check_report", &arguments)
}

/// A real target: an image in memory.
fn on_image(context: &Context<'_>) -> Result<PathBuf> {
    let folder = tempfile::tempdir_in("/dev/shm").context("make a folder in memory")?;
    context.alias(folder.path(), "$FOLDER");
    let image = folder.path().join("image");
    File::create(&image).and_then(|file| file.set_len(64 << 20)).context("make an image")?;
    let run = context.folder().join("image");
    let mut command = context.trimbench(&["run", "trim-integrity", "--set", "region=4MiB"])?;
    command.arg("--target").arg(&image).arg("--destroy").arg(&image).arg("--output").arg(&run);
    context.capture("run-image", &mut command).map(|_| run)
}

/// Another: a directory in memory.
fn in_directory(context: &Context<'_>) -> Result<PathBuf> {
    let folder = tempfile::tempdir_in("/dev/shm").context("make a folder in memory")?;
    context.alias(folder.path(), "$FOLDER");
    let run = context.folder().join("directory");
    fs::create_dir_all(folder.path().join("data")).context("make a folder")?;
    let sets = ["--set", "number=50", "--set", "transactions=100", "--set", "repetitions=2"];
    let mut command = context.trimbench(&["run", "postmark"])?;
    command.args(sets).args(UNLOOKED).arg("--target").arg(folder.path().join("data"));
    command.arg("--output").arg(&run);
    context.capture("run-directory", &mut command).map(|_| run)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("checks")?;
    let checks = lines(&raw.text(&capture.output)?)?;
    let mut themes: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for check in &checks {
        themes.entry(&check.theme).or_default().push(check);
    }
    let mut findings = Vec::new();
    for (theme, checks) in &themes {
        let faulty: Vec<&&Line> = checks.iter().filter(|it| !it.faults.is_empty()).collect();
        let what = format!("{theme}: checks that found a fault");
        let finding = Finding::new(&what, (faulty.len() as f64, ""), Bar::Equals(0.0), &capture);
        let first = faulty.first().map(|it| format!("; {}: {}", it.check, it.faults[0]));
        let note = format!("of {}{}", checks.len(), first.unwrap_or_default());
        findings.push(finding.with_note(&note));
    }
    let charts = themes.get("data").map_or(0, Vec::len) as f64;
    findings.push(Finding::new("charts", (charts, ""), Bar::AtLeast(50.0), &capture));
    let capture = raw.capture(BROKEN)?;
    let broken = lines(&raw.text(&capture.output)?)?;
    let found = broken.iter().filter(|it| !it.faults.is_empty());
    let found: BTreeSet<&str> = found.map(|it| it.theme.as_str()).collect();
    let what = "ways to break the page that the check for it found";
    let finding = Finding::new(what, (found.len() as f64, ""), Bar::Equals(WAYS), &capture);
    let lost: Vec<&str> = themes.keys().copied().filter(|theme| !found.contains(theme)).collect();
    findings.push(finding.with_note(&format!("checks that were not broken: {}", lost.join(", "))));
    Ok(findings)
}

fn lines(text: &str) -> Result<Vec<Line>> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().context("read the lines of the checks")
}

#[cfg(test)]
mod tests;
