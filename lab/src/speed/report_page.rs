//! Large pages: twelve drives with every method, and ten million samples with one stall.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests::methods_on_drives;
use tests::report_page::{Look, look, run_on_drives, run_on_files, write_page};
use trimbench_core::Bytes;
use trimbench_methods::METHODS;
use trimbench_results::{DeletionStep, RunRecord, Series};

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "report_page",
    title: "Size and drawing time of a report of much data, and whether it loses an extreme value",
    needs: &[tests::Need::Browser],
    sources: &["crates/trimbench-report", "assets"],
    run,
};

/// Twelve drives of all kinds; in the short form the first three.
const DRIVES: [&str; 12] = [
    "generic-sata-tlc",
    "vendor2",
    "like-optane-900p",
    "generic-nvme-tlc",
    "generic-nvme-qlc",
    "generic-nvme-dramless",
    "generic-sata-compressing",
    "vendor1",
    "vendor3",
    "vendor6",
    "like-850-pro",
    "like-m4-256",
];
/// Samples, a millisecond apart, and the one that stalls, ms.
const SAMPLES: u32 = 10_000_000;
const STALLED: u32 = 7_654_321;
const STALL_MS: f64 = 2000.0;
/// The chart that they are drawn in.
const CHART: &str = "delete-stall-response";
/// The zooms that are looked at.
const ZOOMS: usize = 11;
/// A file of so many MB at most.
const DRIVES_MB: f64 = 6.0;
const SAMPLES_MB: f64 = 8.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let drives = lab.form(&DRIVES[..3], &DRIVES);
    let mut figures = of_drives(lab, drives)?;
    let program = lab.program()?;
    let small = lab.folder().join("small");
    run_on_drives(program, &small, &["delete-stall"], &DRIVES[..1])?;
    // Some hundred MB of text, for as long as they are looked at.
    let memory = lab.memory_folder()?;
    let look = |name: &str, stall| -> Result<Look> {
        let run = memory.path().join(name);
        fs::create_dir_all(&run).context("make a folder")?;
        fs::write(run.join("run.json"), with_samples(&small, stall)?.to_json())?;
        let page = memory.path().join(format!("{name}.html"));
        write_page(program, &page, &[run])?;
        let (at, value) = ((f64::from(STALLED) / 1e3).to_string(), STALL_MS.to_string());
        let look = look(&page, &["--stall", CHART, &at, &value])?;
        ensure!(look.stall.len() == ZOOMS, "{} zooms, not {ZOOMS}", look.stall.len());
        Ok(look)
    };
    let samples = look("samples", Some(STALLED))?;
    let (data, seen) = visible(&samples);
    let least = samples.stall.iter().map(|zoom| zoom.shown).fold(1.0, f64::min);
    let all = Bar::Equals(ZOOMS as f64);
    let beside = samples.stall[0].pixels_beside as f64;
    let million = (samples.thinned / 1e6, "million");
    figures.extend([
        Figure::new("samples of one curve", million, Bar::Equals(10.0)),
        Figure::new("samples: file", (samples.bytes / 1e6, "MB"), Bar::AtMost(SAMPLES_MB)),
        Figure::new("zooms at which the stall is in what is drawn", (data, ""), all),
        Figure::new("zooms at which the stall is on the screen", (seen, ""), all)
            .with_note(format!("from all of the axis to {least:.1e} of it")),
        Figure::new("at full width, pixels as high beside it", (beside, ""), Bar::Equals(0.0)),
    ]);
    let (data, seen) = visible(&look("control", None)?);
    let what = "without a stall: zooms at which one is in the data or seen";
    figures.push(Figure::new(what, (data + seen, ""), Bar::Equals(0.0)));
    Ok(figures)
}

fn of_drives(lab: &Lab<'_>, drives: &[&str]) -> Result<Vec<Figure>> {
    let (program, page) = (lab.program()?, lab.folder().join("drives.html"));
    let runs = [
        run_on_drives(program, &lab.folder().join("drives"), &methods_on_drives(), drives)?,
        run_on_files(program, &lab.folder().join("files"), drives)?,
    ];
    write_page(program, &page, &runs)?;
    let look = look(&page, &[])?;
    let count = drives.len() as f64;
    let named = drives.iter().filter(|name| look.verdicts.contains_key(**name)).count() as f64;
    let (methods, drawn) = (look.methods.len() as f64, look.drawn_ms / 1e3);
    let all = look.all_drawn_ms / 1e3;
    let note = format!("those in view; all {} after {all:.1} s, in the last look", look.charts);
    Ok(vec![
        Figure::new("drives: verdicts", (named, ""), Bar::Equals(count)),
        Figure::new("drives: methods", (methods, ""), Bar::Equals(METHODS.len() as f64)),
        Figure::new("drives: file", (look.bytes / 1e6, "MB"), Bar::AtMost(DRIVES_MB)),
        Figure::new("drives: drawn, median of 3", (drawn, "s"), Bar::AtMost(2.0)).with_note(note),
    ])
}

/// The record with ten million response times in its deletions, of which one may be a stall.
fn with_samples(run: &Path, stall: Option<u32>) -> Result<RunRecord> {
    let mut record = tests::program::record(run)?;
    let mut deletions = record.sessions.iter_mut().flat_map(|session| &mut session.steps);
    let deletion = deletions.rfind(|step| step.kind == "delete");
    let deletion = deletion.context("the record has a deletion")?;
    let x = (0..SAMPLES).map(|at| f64::from(at) / 1e3).collect();
    // Some noise, the same each time: multiples of 1 us from 80 to 120.
    let noise = |at: u32| f64::from(80 + at.wrapping_mul(2_654_435_761) % 41) / 1e3;
    let value = |at| if Some(at) == stall { STALL_MS } else { noise(at) };
    let y = (0..SAMPLES).map(|at| Some(value(at))).collect();
    let response_max = Some(Series::new("s", "ms", x, y).context("the samples are sound")?);
    let size_bytes = Bytes(1_000_000_000_000);
    deletion.store(&DeletionStep { size_bytes, response_max, ..deletion.read()? });
    Ok(record)
}

/// At how many zooms the stall is in the data, and at how many it is on the screen.
fn visible(look: &Look) -> (f64, f64) {
    let data = look.stall.iter().filter(|zoom| zoom.in_data).count();
    let seen = look.stall.iter().filter(|zoom| zoom.pixels > 0).count();
    (data as f64, seen as f64)
}
