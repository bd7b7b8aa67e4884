//! The estimate of what is left, at 25, 50 and 75 % of runs: emulated drives, and a real directory
//! before an emulated drive, each with one job and with two.
//!
//! The program prints its estimate twice a second (`--progress json`). The truth is what passed
//! from then to the program's end, the page of the report included.

#[cfg(test)]
mod tests;

use std::fs;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

const JOBS: [&str; 2] = ["1", "2"];
const KINDS: [&str; 2] = ["emulated", "real"];
/// Shares of a run's time at which the estimate is compared.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];
/// By how much of the truth an estimate may miss it.
const MISS_MAX: f64 = 0.3;
/// A session of half a minute in a directory.
const SHORT: [&str; 6] =
    ["--set", "sizes=16MiB,64MiB,128MiB", "--set", "repetitions=1", "--set", "window=2s"];

/// A line of progress.
#[derive(Debug, Deserialize)]
struct Progress {
    event: String,
    elapsed_s: f64,
    left_s: f64,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for kind in KINDS {
        for jobs in JOBS {
            let name = format!("{kind}-{jobs}");
            let output = context.folder().join(format!("run-{name}"));
            let mut command = context.trimbench(&["run", "--progress", "json", "--jobs", jobs])?;
            if kind == "real" {
                let here = context.folder().join("here");
                fs::create_dir_all(&here).context("make the directory to measure in")?;
                command.arg("delete-stall").arg("-t").arg(here).args(["-t", "sim:vendor2"]);
                if context.is_short() {
                    command.args(SHORT);
                }
            }
            context.capture(&name, command.arg("-o").arg(output))?;
        }
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for kind in KINDS {
        for jobs in JOBS {
            let capture = raw.capture(&format!("{kind}-{jobs}"))?;
            findings.extend(of_run(raw, &capture, &format!("{kind}, --jobs {jobs}"))?);
        }
    }
    Ok(findings)
}

/// The estimate over the truth at each share of a run.
fn of_run(raw: &Raw, capture: &Capture, run: &str) -> Result<Vec<Finding>> {
    let text = raw.text(&capture.errors)?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Progress>(line).ok());
    let lines: Vec<Progress> = lines.filter(|line| line.event == "progress").collect();
    let whole = capture.elapsed_seconds;
    let at = |share: f64| {
        let distance = |line: &&Progress| (line.elapsed_s - share * whole).abs();
        let line = lines.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let line = line.with_context(|| format!("no progress in {}", capture.errors))?;
        let truth = whole - line.elapsed_s;
        let what = format!("estimated over true time left at {:.0} %, {run}", share * 100.0);
        let bar = Bar::Near { value: 1.0, share: MISS_MAX };
        let note = format!("{:.1} s estimated, {truth:.1} s true", line.left_s);
        let finding = Finding::new(&what, (line.left_s / truth, ""), bar, capture);
        Ok(finding.from_file(&capture.errors).with_note(&note))
    };
    SHARES.into_iter().map(at).collect()
}
