//! Large pages: twelve drives with every method, and ten million samples with one stall.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use trimbench_methods::METHODS;
use trimbench_results::{RunRecord, Series};

use super::{drive, fixtures, list, looked, number};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

/// Twelve drives of all kinds.
const DRIVES: [&str; 12] = [
    "generic-sata-tlc",
    "generic-nvme-tlc",
    "generic-nvme-qlc",
    "generic-nvme-dramless",
    "generic-sata-compressing",
    "vendor1",
    "vendor2",
    "vendor3",
    "vendor6",
    "like-850-pro",
    "like-optane-900p",
    "like-m4-256",
];
/// Samples, a millisecond apart, and the one that stalls, ms.
const SAMPLES: u32 = 10_000_000;
const STALLED: u32 = 7_654_321;
const STALL_MS: f64 = 2000.0;
/// The chart that they are drawn in.
const CHART: &str = "delete-stall-response";
/// The zooms that are checked.
const ZOOMS: usize = 11;
/// A file of so many MB at most.
const TWELVE_MB: f64 = 6.0;
const SAMPLES_MB: f64 = 8.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let runs = [
        fixtures::on_drives(context, "drives", &[], &DRIVES)?,
        fixtures::on_files(context, "files", &DRIVES)?,
    ];
    let (page, _) = fixtures::page(context, "twelve", &runs, context.folder())?;
    let page = page.display().to_string();
    drive(context, "look-twelve", "look_report", &[&page])?;
    let small = fixtures::on_drives(context, "small", &["delete-stall"], &DRIVES[..1])?;
    // Some hundred MB of text, for as long as they are looked at.
    let scratch = tempfile::tempdir_in("/dev/shm").context("make a folder in memory")?;
    context.alias(scratch.path(), "$SCRATCH");
    for (name, stall) in [("samples", Some(STALLED)), ("control", None)] {
        let run = scratch.path().join(name);
        let record = with_samples(&small, stall)?;
        fixtures::written(&run, &record.to_json())?;
        drop(record);
        let (page, _) = fixtures::page(context, name, &[run], scratch.path())?;
        let (page, at) = (page.display().to_string(), f64::from(STALLED) / 1e3);
        let (at, value) = (at.to_string(), STALL_MS.to_string());
        let arguments = [page.as_str(), "--stall", CHART, &at, &value];
        drive(context, &format!("look-{name}"), "look_report", &arguments)?;
    }
    Ok(())
}

/// The record with ten million response times in its deletions, of which one may be a stall.
fn with_samples(run: &Path, stall: Option<u32>) -> Result<RunRecord> {
    let json = std::fs::read(run.join("run.json")).context("read a record")?;
    let mut record = RunRecord::from_json(&json).context("read a record")?;
    let mut deletions = record.sessions.iter_mut().flat_map(|session| &mut session.steps);
    let deletion = deletions.rfind(|step| step.kind == "delete");
    let deletion = deletion.context("the record has a deletion")?;
    deletion.parameters.insert("size_bytes".to_owned(), 1e12);
    let x = (0..SAMPLES).map(|at| f64::from(at) / 1e3).collect();
    // Some noise, the same each time: multiples of 1 us from 80 to 120.
    let noise = |at: u32| f64::from(80 + at.wrapping_mul(2_654_435_761) % 41) / 1e3;
    let value = |at| if Some(at) == stall { STALL_MS } else { noise(at) };
    let y = (0..SAMPLES).map(|at| Some(value(at))).collect();
    let series = Series::new("s", "ms", x, y).context("the samples are sound")?;
    deletion.series.insert("response-ms-max".to_owned(), series);
    Ok(record)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("look-twelve")?;
    let twelve = looked(raw, "look-twelve")?;
    let methods = list(&twelve, "methods")?.len() as f64;
    let verdicts = twelve["verdicts"].as_object().context("no verdicts")?;
    let drives = DRIVES.iter().filter(|name| verdicts.contains_key(**name)).count() as f64;
    let all = number(&twelve, "/all_drawn_ms")? / 1e3;
    let charts = number(&twelve, "/charts")?;
    let note = format!("those in view; all {charts} after {all:.1} s, in the last of three looks");
    let of = |what: &str, figure, bar, capture: &Capture| Finding::new(what, figure, bar, capture);
    let mut findings = vec![
        of("twelve drives: verdicts", (drives, ""), Bar::Equals(12.0), &capture),
        of("twelve drives: methods", (methods, ""), Bar::Equals(METHODS.len() as f64), &capture),
        of("twelve drives: file", megabytes(&twelve)?, Bar::AtMost(TWELVE_MB), &capture),
        of("twelve drives: drawn, median of 3", seconds(&twelve)?, Bar::AtMost(2.0), &capture)
            .with_note(&note),
    ];
    let capture = raw.capture("look-samples")?;
    let samples = looked(raw, "look-samples")?;
    let thinned = (number(&samples, "/thinned")? / 1e6, "million");
    let zooms = list(&samples, "stall")?;
    ensure!(zooms.len() == ZOOMS, "{} zooms, not {ZOOMS}", zooms.len());
    let (data, seen) = visible(zooms);
    let beside = number(&zooms[0], "/pixels_beside")?;
    let all = Bar::Equals(ZOOMS as f64);
    let least = zooms.iter().filter_map(|zoom| zoom["shown"].as_f64()).fold(1.0, f64::min);
    let note = format!("from all of the axis to {least:.1e} of it");
    findings.extend([
        of("samples of one curve", thinned, Bar::Equals(10.0), &capture),
        of("samples: file", megabytes(&samples)?, Bar::AtMost(SAMPLES_MB), &capture),
        of("zooms at which the stall is in what is drawn", (data, ""), all, &capture),
        of("zooms at which the stall is on the screen", (seen, ""), all, &capture).with_note(&note),
        of("at full width, pixels as high beside it", (beside, ""), Bar::Equals(0.0), &capture),
    ]);
    let capture = raw.capture("look-control")?;
    let (data, seen) = visible(list(&looked(raw, "look-control")?, "stall")?);
    let what = "without a stall: zooms at which one is in the data or seen";
    findings.push(of(what, (data + seen, ""), Bar::Equals(0.0), &capture));
    Ok(findings)
}

/// At how many zooms the stall is in the data, and at how many it is on the screen.
fn visible(zooms: &[Value]) -> (f64, f64) {
    let data = zooms.iter().filter(|zoom| zoom["in_data"] == true).count();
    let seen = zooms.iter().filter(|zoom| zoom["pixels"].as_u64() > Some(0)).count();
    (data as f64, seen as f64)
}

fn megabytes(document: &Value) -> Result<(f64, &'static str)> {
    Ok((number(document, "/bytes")? / 1e6, "MB"))
}

fn seconds(document: &Value) -> Result<(f64, &'static str)> {
    Ok((number(document, "/drawn_ms")? / 1e3, "s"))
}

#[cfg(test)]
mod tests;
