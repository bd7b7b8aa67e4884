//! The estimate of what is left, at 25, 50 and 75 % of runs: emulated drives, and a real directory
//! before an emulated drive, each with one job and with two.
//!
//! The program prints its estimate twice a second (`--progress json`). The truth is what passed
//! from then to the program's end, the page of the report included.

use std::fs;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use tests::program::Output;

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "time_left",
    title: "The estimated time left over the true one, at 25, 50 and 75 % of a run",
    needs: &[],
    sources: &[
        "crates/trimbench",
        "crates/trimbench-app",
        "crates/trimbench-engine",
        "crates/trimbench-methods",
    ],
    run,
};

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

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let here = lab.folder().join("here");
    fs::create_dir_all(&here).context("make the directory to measure in")?;
    let mut figures = Vec::new();
    for kind in ["emulated", "real"] {
        for jobs in ["1", "2"] {
            let mut command = lab.trimbench(&["run", "--progress", "json", "--jobs", jobs])?;
            if kind == "real" {
                command.arg("delete-stall").arg("-t").arg(&here).args(["-t", "sim:vendor2"]);
                command.args(if lab.is_short() { &SHORT[..] } else { &[] });
            }
            command.arg("-o").arg(lab.folder().join(format!("{kind}-{jobs}")));
            figures.extend(of_run(&lab.call(&mut command)?, &format!("{kind}, --jobs {jobs}"))?);
        }
    }
    Ok(figures)
}

/// The estimate over the truth at each share of a run.
fn of_run(output: &Output, run: &str) -> Result<Vec<Figure>> {
    let lines = output.stderr.lines().filter_map(|line| serde_json::from_str(line).ok());
    let lines: Vec<Progress> = lines.filter(|it: &Progress| it.event == "progress").collect();
    let at = |share: f64| {
        let distance = |line: &&Progress| (line.elapsed_s - share * output.seconds).abs();
        let line = lines.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let line = line.with_context(|| format!("`{}` printed no progress", output.command))?;
        let truth = output.seconds - line.elapsed_s;
        let what = format!("estimated over true time left at {:.0} %, {run}", share * 100.0);
        let bar = Bar::Near { value: 1.0, share: MISS_MAX };
        let note = format!("{:.1} s estimated, {truth:.1} s true", line.left_s);
        Ok(Figure::new(what, (line.left_s / truth, ""), bar).with_note(note))
    };
    SHARES.into_iter().map(at).collect()
}
