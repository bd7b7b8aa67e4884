//! Time of whole runs: with one and two jobs, and of the program before the issue.
//!
//! The kinds of runs take turns, round after round, so that what else the machine does falls on all
//! of them alike; medians are compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use trimbench_results::statistics::median;

use super::records::base;
use crate::acceptance::{Bar, Context, Finding, Raw};
use crate::earlier;

/// Rounds, in both forms.
const ROUNDS: [usize; 2] = [1, 5];
/// A kind of run: its name among the captures, and its options.
type Kind = (&'static str, &'static [&'static str]);

const BEFORE: Kind = ("before", &["--no-report"]);
const ONE_JOB: Kind = ("one-job", &["--no-report", "--jobs", "1"]);
const TWO_JOBS: Kind = ("two-jobs", &["--no-report", "--jobs", "2"]);
const ONE_JOB_REPORT: Kind = ("one-job-report", &["--jobs", "1"]);
const TWO_JOBS_REPORT: Kind = ("two-jobs-report", &["--jobs", "2"]);
const SIXTEEN_JOBS: Kind = ("sixteen-jobs", &["--no-report", "--jobs", "16"]);

/// The time of one kind in times of another, at most.
const RATIOS: [(&str, Kind, Kind, f64); 3] = [
    ("two jobs over one job, without report", TWO_JOBS, ONE_JOB, 0.60),
    ("two jobs over one job, with report", TWO_JOBS_REPORT, ONE_JOB_REPORT, 0.68),
    ("one job over the program before, without report", ONE_JOB, BEFORE, 0.80),
];
/// Whose records must be the same.
const SAME: [Kind; 3] = [ONE_JOB, TWO_JOBS, SIXTEEN_JOBS];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(processors >= 2, "two jobs need two processors");
    let repository = context.repository();
    let before = earlier::build(repository, &base(repository)?, Some(context.deadline()))?;
    for round in 0..ROUNDS[usize::from(!context.is_short())] {
        for kind in [BEFORE, ONE_JOB, TWO_JOBS, ONE_JOB_REPORT, TWO_JOBS_REPORT] {
            let program = (kind == BEFORE).then_some(before.as_path());
            run(context, kind, &numbered(kind, round), program)?;
        }
    }
    run(context, SIXTEEN_JOBS, &numbered(SIXTEEN_JOBS, 0), None)
}

fn numbered(kind: Kind, round: usize) -> String {
    format!("{}-{round}", kind.0)
}

/// A run of all methods on the drives that it takes by itself, of which the record is kept.
fn run(
    context: &Context<'_>,
    (_, options): Kind,
    name: &str,
    program: Option<&Path>,
) -> Result<()> {
    let output = context.folder().join("run");
    let program = program.map_or_else(|| context.binary(), Ok)?;
    let mut command = Command::new(program);
    command.arg("run").current_dir(context.repository().root());
    context.capture_well(name, command.args(options).arg("--output").arg(&output))?;
    let kept = context.folder().join(format!("{name}.json"));
    fs::rename(output.join("run.json"), kept).context("keep the record")?;
    fs::remove_dir_all(&output).context("remove the rest of the run")
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (what, kind, of, most) in RATIOS {
        let (times, base) = (times(raw, kind)?, times(raw, of)?);
        let middle = |times: &[f64]| median(times).context("nothing was timed");
        let (time, base_time) = (middle(&times)?, middle(&base)?);
        let note = format!("{time:.1} s over {base_time:.1} s, medians of {}", times.len());
        let capture = raw.capture_itself(&numbered(kind, 0))?;
        let ratio = (time / base_time, "");
        findings.push(Finding::new(what, ratio, Bar::AtMost(most), &capture).with_note(&note));
    }
    let records = SAME.map(|kind| raw.bytes(&format!("{}.json", numbered(kind, 0))));
    let [first, others @ ..] = records;
    let first = first?;
    let mut different = 0.0;
    for other in others {
        different += f64::from(u8::from(other? != first));
    }
    let capture = raw.capture(&numbered(SIXTEEN_JOBS, 0))?;
    let what = "records of 2 and 16 jobs with other bytes than that of one";
    findings.push(Finding::new(what, (different, ""), Bar::Equals(0.0), &capture));
    Ok(findings)
}

/// Seconds of each run of a kind.
fn times(raw: &Raw, kind: Kind) -> Result<Vec<f64>> {
    let rounds = ROUNDS[usize::from(!raw.is_short())];
    let time = |round| Ok(raw.capture(&numbered(kind, round))?.elapsed_seconds);
    (0..rounds).map(time).collect()
}

#[cfg(test)]
mod tests;
