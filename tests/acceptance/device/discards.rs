//! Discards of the sweep as counted by the kernel's tracepoints, and the verdicts of the integrity
//! test.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::units::{index, rounded};
use trimbench_results::{Session, Step};

use super::integrity;
use crate::acceptance::runs::{Run, metric, parameter, status_of};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::tracepoints::{Kind, Recorded, Trace, TraceEvent, events, lost};

/// Size of the device.
const MEBIBYTES: u64 = 2048;
const SHORT: &[&str] = &[
    "sizes=4KiB,64KiB,1MiB,8MiB",
    "reference=8MiB",
    "row-bytes-max=256MiB",
    "commands=100",
    "rest=0s",
    "load-time=200ms",
    "load-span=64MiB",
];
const FULL: &[&str] = &["rest=100ms"];
/// The name of the run, of its record and of its trace.
const SWEEP: &str = "sweep";
/// A sector of the kernel, whatever the device's logical block is.
const SECTOR: f64 = 512.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    // Built before anything is traced.
    context.binary()?;
    let device = context.loop_device(Path::new("/var/tmp"), MEBIBYTES)?;
    let options = if context.is_short() { SHORT } else { FULL };
    let mut sweep = context.run_into(SWEEP, "trim-sweep", (device.node(), options))?;
    let trace = Trace::of(device.node(), Recorded::Discards)?;
    context.capture(SWEEP, sweep.arg("--destroy").arg(device.image()))?;
    trace.keep(context.folder(), SWEEP)?;
    drop((trace, device));
    integrity::measure(context)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let Run { session, capture: run, .. } = raw.run(SWEEP)?;
    let events = events(&raw.text("sweep.trace")?)?;
    let lost = lost(&raw.text("sweep.lost")?)?;
    let mut findings = sweep(&session, &events, &run)?;
    let what = "events that the trace lost";
    let none = Bar::Equals(0.0);
    findings.push(Finding::new(what, (lost as f64, ""), none, &run).from_file("sweep.lost"));
    let itself = raw.capture_itself(SWEEP)?;
    let code = run.status.context("a signal ended the run")?;
    let bar = Bar::Equals(status_of(&[session]).into());
    findings.push(Finding::new("exit code of the sweep", (code.into(), ""), bar, &itself));
    findings.extend(integrity::findings(raw)?);
    Ok(findings)
}

/// The sectors of each discard that the device must have completed for a row: of those that prepare
/// it, and of its own, which the kernel neither merges nor cuts.
fn expected(row: &Step) -> Result<(Vec<u64>, Vec<u64>)> {
    let issued = metric(row, "commands_issued")?;
    let own = sectors(metric(row, "discarded_bytes_issued")? / issued);
    let mut preparation = Vec::new();
    if row.kind.starts_with("trimmed") {
        let planned = index(rounded(parameter(row, "commands_planned")?));
        preparation = vec![sectors(parameter(row, "size_bytes")?); planned];
    }
    Ok((preparation, vec![own; index(rounded(issued))]))
}

fn sectors(bytes: f64) -> u64 {
    rounded(bytes / SECTOR)
}

/// Compares the trace with the record, row by row.
fn sweep(session: &Session, events: &[TraceEvent], run: &Capture) -> Result<Vec<Finding>> {
    let of_kind = |kind| events.iter().filter(move |event| event.kind == kind);
    let completed: Vec<u64> = of_kind(Kind::Complete).map(|event| event.sectors).collect();
    let issued = of_kind(Kind::Issue).count();
    let failed = events.iter().filter(|event| event.error != 0).count();
    // The load alone sends no discards.
    let rows =
        session.steps.iter().filter(|step| !["purge", "load-alone"].contains(&step.id.as_str()));
    let rows: Vec<&Step> = rows.collect();
    ensure!(!rows.is_empty(), "the sweep has no rows");
    let whole = rows.iter().map(|row| expected(row)).collect::<Result<Vec<_>>>()?;
    let total: usize = whole.iter().map(|(before, own)| before.len() + own.len()).sum();
    // What comes before the first row is the purge.
    let purge = completed.len().checked_sub(total).with_context(|| {
        format!("the device completed {} discards, the rows alone are {total}", completed.len())
    })?;
    let mut rest = &completed[purge..];
    let (mut right, mut commands, mut wrong) = (0_usize, 0.0, Vec::new());
    for (row, (before, own)) in rows.iter().zip(&whole) {
        let (of_row, behind) = rest.split_at(before.len() + own.len());
        rest = behind;
        let own_count = metric(row, "commands_completed")?;
        let is_right = of_row[..before.len()] == before[..]
            && of_row[before.len()..] == own[..]
            && index(rounded(own_count)) == own.len();
        if is_right {
            right += 1;
        } else {
            wrong.push(row.id.as_str());
        }
        commands += metric(row, "commands_issued")?;
    }
    let depths = rows.iter().map(|row| parameter(row, "queue_depth").map(rounded));
    let depths = depths.collect::<Result<BTreeSet<_>>>()?;
    let depths: Vec<String> = depths.iter().map(u64::to_string).collect();
    let mut note = format!(
        "{commands} discards of the method in rows of queue depths {}; the trace has {} \
         completions: {purge} of the purge, the others in the order and of the sizes that the \
         rows issued",
        depths.join(", "),
        completed.len()
    );
    if !wrong.is_empty() {
        note.push_str("; not: ");
        note.push_str(&wrong.join(", "));
    }
    let finding = |what: &str, figure: f64, bar| {
        Finding::new(what, (figure, ""), bar, run).from_file("sweep.trace")
    };
    let bar = Bar::Equals(rows.len() as f64);
    let what = "rows of which the device completed each discard as it was issued";
    Ok(vec![
        finding(what, right as f64, bar).with_note(&note),
        finding(
            "completions at the device over issues to it, all discards",
            completed.len() as f64 / issued as f64,
            Bar::Equals(1.0),
        ),
        finding("discards that the device failed", failed as f64, Bar::Equals(0.0)),
        finding(
            "rows whose discards end within a unit of the granularity, among them",
            rows.iter().filter(|row| row.kind.ends_with("-unaligned")).count() as f64,
            Bar::AtLeast(1.0),
        ),
    ])
}

#[cfg(test)]
mod tests;
