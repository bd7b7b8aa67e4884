//! How much later than the model's instant replies are sent, at half of the drive's highest rate.

use std::process::Command;

use ::tests::Need::{Fuse, Loop, Program, Root};
use anyhow::{Context as _, Result};
use serde_json::Value;
use trimbench_attach::{AttachedDrive, RequestKind};

use super::{SOURCES, attach, config};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "lateness",
    title: "An attached drive answers on time, at half of its highest rate",
    needs: &[Root, Loop, Fuse, Program("fio")],
    sources: SOURCES,
    run,
};

/// Of the SATA class.
const PROFILE: &str = "generic-sata-tlc";
/// The least share of replies within 50 us, %.
const ON_TIME: f64 = 99.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let seconds = lab.form(5, 60);
    let highest = fio(lab, &attach(config(PROFILE)?, false)?, &["--iodepth=32"], 5)?;
    let rate = format!("--rate_iops={0},{0}", (highest.rate / 4.0).floor());
    let drive = attach(config(PROFILE)?, false)?;
    let seen = fio(lab, &drive, &["--iodepth=32", "--rate_process=poisson", &rate], seconds)?;
    let statistics = drive.engine().statistics();
    let mut figures = Vec::new();
    for kind in [RequestKind::Read, RequestKind::Write] {
        let found = statistics.kinds.iter().find(|it| it.kind == kind).context("none ended")?;
        let [_, model, _] = found.model_ns;
        let [half, late, longest] = found.late_ns.map(|ns| ns as f64 / 1e3);
        let note = format!(
            "late by p50 {half:.1}, p99 {late:.1}, at most {longest:.0} us; p99 of the drive's own \
             time {:.1} us, of fio's {:.1} us; {:.0} of {:.0} requests a second",
            model as f64 / 1e3,
            seen.p99_us(kind),
            seen.rate,
            highest.rate
        );
        let share = (100.0 * found.within_50_us, "%");
        let figure = Figure::new(format!("{kind}s within 50 us"), share, Bar::AtLeast(ON_TIME));
        figures.push(figure.with_note(note));
    }
    Ok(figures)
}

/// What fio saw.
struct Seen {
    /// Requests a second.
    rate: f64,
    job: Value,
}

impl Seen {
    fn p99_us(&self, kind: RequestKind) -> f64 {
        let percentiles = &self.job[kind.to_string()]["clat_ns"]["percentile"];
        percentiles["99.000000"].as_f64().unwrap_or(f64::NAN) / 1e3
    }
}

/// Random reads and writes of 4 KiB, as many of each.
fn fio(lab: &Lab<'_>, drive: &AttachedDrive, arguments: &[&str], seconds: u32) -> Result<Seen> {
    let mut fio = Command::new("fio");
    fio.args(["--name=mix", "--direct=1", "--ioengine=io_uring", "--rw=randrw", "--bs=4k"]);
    fio.args(["--time_based", "--output-format=json"]).args(arguments);
    fio.arg(format!("--runtime={seconds}")).arg(format!("--filename={}", drive.node().display()));
    let output = lab.call_well(fio.current_dir(lab.folder()))?;
    let start = output.stdout.find('{').context("fio printed no JSON")?;
    let mut document: Value = serde_json::from_str(&output.stdout[start..])?;
    let job = document["jobs"][0].take();
    let rate = ["read", "write"].iter().filter_map(|kind| job[*kind]["iops"].as_f64()).sum();
    Ok(Seen { rate, job })
}
