//! The modelled ext4 compared with the running kernel's: the same operations, and the requests that
//! each sends to its device.
//!
//! The kernel's discards and bytes are its own counters of a loop device (diskstats), which count
//! each request that the device completed. The process that plays them is held to one processor.

use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::operations::{self, OperationCounts};

/// The first of the logs: the others are for the full form.
const LOGS_SHORT: usize = 2;
const LOGS: usize = 6;
const RUNS: usize = 5;
/// Files that are deleted immediately before an unmount.
const AT_UNMOUNT: usize = 300;
const SEED: u64 = 1;
/// What is compared, and how far off the model may be.
const BARS: [(&str, &str, f64); 3] = [
    ("discards", "discards", 0.15),
    ("discarded_bytes", "bytes discarded", 0.10),
    ("written_bytes", "bytes written", 0.10),
];
/// The log whose second half frees what lies between free space.
const OVER_TRIM: &str = "alternating";

/// What the model and the kernel do with the first `logs` of the logs, and what both discard before
/// an unmount.
///
/// # Panics
/// If the machine has no loop devices or no ext4.
fn tallies(logs: usize, folder: &Path) -> Value {
    let tally = |tally: OperationCounts| {
        json!({
            "discards": tally.discards,
            "discarded_bytes": tally.discarded.0,
            "written_bytes": tally.written.0,
        })
    };
    let played = operations::logs(SEED).into_iter().take(logs).map(|log| {
        let kernel: Vec<Value> = (0..RUNS).map(|_| tally(operations::real(&log, folder))).collect();
        json!({
            "name": log.name,
            "freed_bytes": log.freed().0,
            "model": tally(operations::modelled(&log)),
            "kernel": kernel,
        })
    });
    let played: Vec<Value> = played.collect();
    let unmounted: Vec<u64> =
        (0..RUNS).map(|_| operations::real_at_unmount(AT_UNMOUNT, folder)).collect();
    let model = operations::modelled_at_unmount(AT_UNMOUNT);
    let unmount = json!({ "files": AT_UNMOUNT, "model": model, "kernel": unmounted });
    json!({ "logs": played, "unmount": unmount })
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "ext4 on a loop device needs root");
    let memory = context.memory_folder()?;
    let logs = if context.is_short() { LOGS_SHORT } else { LOGS };
    // On one processor, as are the threads and programs that it starts.
    let on_one = || -> Result<Value> {
        let mut first = CpuSet::new();
        first.set(0);
        sched_setaffinity(None, &first).context("keep to one processor")?;
        Ok(tallies(logs, memory.path()))
    };
    context.keep("tallies", || {
        let played = thread::scope(|scope| scope.spawn(on_one).join());
        Ok(vec![played.map_err(|_| anyhow!("the operations could not be played"))??])
    })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("tallies")?;
    let printed = raw.json(&capture.output)?;
    let logs = printed["logs"].as_array().context("no logs")?;
    ensure!(logs.len() >= LOGS_SHORT, "{} logs", logs.len());
    let mut findings = Vec::new();
    for log in logs {
        for bar in BARS {
            findings.push(ratio(log, bar, &capture)?);
        }
        if log["name"] == OVER_TRIM {
            findings.extend(over_trim(log, &capture)?);
        }
    }
    findings.extend(unmount(&printed["unmount"], &capture)?);
    Ok(findings)
}

/// A figure of the model over the median of the kernel's.
fn ratio(log: &Value, (key, what, share): (&str, &str, f64), capture: &Capture) -> Result<Finding> {
    let model = log["model"][key].as_f64().context("a figure of the model")?;
    let kernel = runs(log, key)?;
    let name = log["name"].as_str().context("a log has a name")?;
    let note = format!("model {model:.0}; kernel, {} runs: {}", kernel.len(), spread(&kernel));
    let what = format!("{what}, model over kernel, {name}");
    let bar = Bar::Near { value: 1.0, share };
    let figure = (model / median(&kernel), "");
    Ok(Finding::new(&what, figure, bar, capture).with_note(&note))
}

/// What is discarded over what is freed, by the model and by the kernel.
fn over_trim(log: &Value, capture: &Capture) -> Result<Vec<Finding>> {
    let freed = log["freed_bytes"].as_f64().context("no freed bytes")?;
    let model = log["model"]["discarded_bytes"].as_f64().context("no discarded bytes")?;
    let kernel = median(&runs(log, "discarded_bytes")?);
    let rows = [("model", model), ("kernel", kernel)];
    let finding = |(who, discarded): (&str, f64)| {
        let what = format!("bytes discarded over bytes freed, {who}, {OVER_TRIM}");
        Finding::new(&what, (discarded / freed, ""), Bar::AtLeast(2.0), capture)
    };
    Ok(rows.into_iter().map(finding).collect())
}

/// How many discards an unmount drops. How many the worker does before depends on how fast the
/// device is, and so the two are not compared.
fn unmount(value: &Value, capture: &Capture) -> Result<Vec<Finding>> {
    let files = value["files"].as_f64().context("no files")?;
    let model = value["model"].as_f64().context("no figure of the model")?;
    let kernel = numbers(&value["kernel"])?;
    let note = format!("of {files} files; {} were discarded in the kernel's runs", spread(&kernel));
    let rows = [("model", model, ""), ("kernel", median(&kernel), note.as_str())];
    let finding = |(who, discarded, note): (&str, f64, &str)| {
        let what = format!("discards dropped, deletions before a sync and an unmount, {who}");
        let dropped = (files - discarded, "");
        Finding::new(&what, dropped, Bar::AtLeast(1.0), capture).with_note(note)
    };
    Ok(rows.into_iter().map(finding).collect())
}

fn runs(log: &Value, key: &str) -> Result<Vec<f64>> {
    let runs = log["kernel"].as_array().context("no runs of the kernel")?;
    let figures = runs.iter().map(|run| run[key].as_f64().context("a figure of the kernel"));
    sorted(figures.collect::<Result<_>>()?)
}

fn numbers(values: &Value) -> Result<Vec<f64>> {
    let values = values.as_array().context("no list")?;
    sorted(values.iter().map(|value| value.as_f64().context("no number")).collect::<Result<_>>()?)
}

/// In order, and enough of them.
fn sorted(mut figures: Vec<f64>) -> Result<Vec<f64>> {
    ensure!(figures.len() >= RUNS, "{} runs", figures.len());
    figures.sort_by(f64::total_cmp);
    Ok(figures)
}

fn median(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

fn spread(sorted: &[f64]) -> String {
    format!("{:.0} to {:.0}", sorted[0], sorted[sorted.len() - 1])
}

#[cfg(test)]
mod tests;
