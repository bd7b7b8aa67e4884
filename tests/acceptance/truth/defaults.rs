//! `trimbench run` with nothing else.

use anyhow::Result;
use trimbench_methods::{BY_NAME_ONLY, METHODS};
use trimbench_results::{RunRecord, Session};

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// The record of the run.
const RECORD: &str = "run/run.json";
/// What the run may take with its page, s.
const SECONDS_MAX: f64 = 30.0;
/// The drives that it takes.
const DRIVES: usize = 4;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let mut all = context.trimbench(&["run", "--jobs", "2", "--output"])?;
    context.capture("run", all.arg(context.folder().join("run"))).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.capture("run")?;
    let record = raw.record(RECORD)?;
    let itself = raw.capture_itself("run")?;
    let status = run.status.map_or(f64::NAN, f64::from);
    Ok(vec![
        measured(&record, &run),
        left_out(&record, &run),
        Finding::new(
            "exit code: 4 if a figure is invalid",
            (status, ""),
            Bar::Equals(0.0),
            &itself,
        ),
        Finding::new(
            "`trimbench run` with nothing else",
            (run.elapsed_seconds, "s"),
            Bar::AtMost(SECONDS_MAX),
            &itself,
        ),
    ])
}

/// Methods on drives that were measured to their end: each method once on each drive.
fn measured(record: &RunRecord, run: &Capture) -> Finding {
    let methods = METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id));
    let mut whole = 0;
    let mut notes = Vec::new();
    for method in methods.clone() {
        let of = record.sessions.iter().filter(|session| session.plan.method == method.id);
        let mut drives: Vec<&str> = of
            .filter(|session| session.finished && session.headline().is_some())
            .filter_map(|session| session.target.identity.get("profile"))
            .map(String::as_str)
            .collect();
        drives.sort_unstable();
        drives.dedup();
        whole += drives.len();
        notes.push(format!("{} {}", method.id, drives.len()));
    }
    let bar = Bar::Equals((methods.count() * DRIVES) as f64);
    let what = "methods on drives that have a headline";
    Finding::new(what, (whole as f64, ""), bar, run).from_file(RECORD).with_note(&notes.join(", "))
}

fn left_out(record: &RunRecord, run: &Capture) -> Finding {
    let out = |session: &&Session| session.left_out.is_some() || !session.finished;
    let out = record.sessions.iter().filter(out).count() as f64;
    let what = "sessions that were left out or not finished";
    Finding::new(what, (out, ""), Bar::Equals(0.0), run).from_file(RECORD)
}
