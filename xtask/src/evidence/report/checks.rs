//! Every chart is drawn with the data of its record and answers, in Chromium; and each check finds
//! the page broken that was broken for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::{drive, fixtures};
use crate::evidence::{Bar, Claim, Context, Finding, Raw};

pub(super) const CLAIM: Claim = Claim {
    id: "report.1",
    title: "Every chart is drawn with its data and answers; the page is quiet, fits and is \
            accessible",
    bar: "records of emulated drives, modelled filesystems, an image and a directory: no check in \
          Chromium finds a fault; and of a page that is broken on purpose, in 17 ways, the check \
          for it finds every one",
    short: Duration::from_secs(130),
    full: Duration::from_secs(600),
    measure,
    read,
};

/// The drives: the default ones.
const DRIVES: [&str; 4] = ["generic-sata-tlc", "vendor2", "generic-nvme-tlc", "like-optane-900p"];
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

fn measure(context: &Context<'_>) -> Result<()> {
    let mut runs = vec![
        fixtures::on_drives(context, "drives", &[], &DRIVES)?,
        fixtures::on_files(context, "files", &["vendor6"])?,
    ];
    runs.push(on_image(context)?);
    runs.push(in_directory(context)?);
    let (page, capture) = fixtures::page(context, "page", &runs, context.folder())?;
    ensure!(page.exists(), "`{}` made no page", capture.command);
    let page = page.display().to_string();
    let records: Vec<String> =
        runs.iter().map(|run| run.join("run.json").display().to_string()).collect();
    let mut arguments = vec![page.as_str()];
    arguments.extend(records.iter().map(String::as_str));
    let verdict = ["--verdict", "vendor2=weekly-fstrim"];
    drive(context, "checks", "check_report", &[&arguments[..], &verdict, &["--every"]].concat())?;
    drive(context, BROKEN, "check_report", &[&arguments[..], &verdict, &["--break-each"]].concat())
}

/// A real target: an image in memory.
fn on_image(context: &Context<'_>) -> Result<std::path::PathBuf> {
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
fn in_directory(context: &Context<'_>) -> Result<std::path::PathBuf> {
    let folder = tempfile::tempdir_in("/dev/shm").context("make a folder in memory")?;
    context.alias(folder.path(), "$FOLDER");
    let run = context.folder().join("directory");
    fs::create_dir_all(folder.path().join("data")).context("make a folder")?;
    let sets = ["--set", "number=50", "--set", "transactions=100", "--set", "repetitions=2"];
    let mut command = context.trimbench(&["run", "postmark"])?;
    command.args(sets).arg("--target").arg(folder.path().join("data"));
    command.arg("--output").arg(&run);
    context.capture("run-directory", &mut command).map(|_| run)
}

fn read(raw: &Raw) -> Result<Vec<Finding>> {
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
    findings.push(Finding::new("charts", (charts, ""), Bar::AtLeast(60.0), &capture));
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
