//! How much later than the model's instant replies are sent, at half of the drive's highest rate.

use ::tests::Need::{Fuse, Loop, Program, Root};
use anyhow::{Context as _, Result};
use serde_json::Value;
use trimbench_attach::RequestKind;

use super::{CAPACITY, SOURCES, fio};
use crate::detached::DetachedDrive;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::fio::number;
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
    let (_, _, highest) = mix(lab, &[], 5)?;
    let limit = format!("--rate_iops={0},{0}", (highest / 4.0).floor());
    let (drive, job, rate) = mix(lab, &["--rate_process=poisson", &limit], seconds)?;
    let statistics = drive.statistics()?;
    let mut figures = Vec::new();
    for kind in [RequestKind::Read, RequestKind::Write] {
        let found = statistics.kinds.iter().find(|it| it.kind == kind).context("none ended")?;
        let [_, model, _] = found.model_ns;
        let [half, late, longest] = found.late_ns.map(|ns| ns as f64 / 1e3);
        let note = format!(
            "late by p50 {half:.1}, p99 {late:.1}, at most {longest:.0} us; p99 of the drive's own \
             time {:.1} us, of fio's {:.1} us; {:.0} of {:.0} requests a second",
            model as f64 / 1e3,
            number(&job, &format!("/{kind}/clat_ns/percentile/99.000000"))? / 1e3,
            rate,
            highest
        );
        let share = (100.0 * found.within_50_us, "%");
        let figure = Figure::new(format!("{kind}s within 50 us"), share, Bar::AtLeast(ON_TIME));
        figures.push(figure.with_note(note));
    }
    Ok(figures)
}

/// Random reads and writes of 4 KiB, as many of each: the job, and how many ended a second.
fn mix<'a>(
    lab: &'a Lab<'a>,
    arguments: &[&str],
    seconds: u32,
) -> Result<(DetachedDrive<'a>, Value, f64)> {
    let drive = DetachedDrive::filled(lab, PROFILE, CAPACITY)?;
    let time = format!("--runtime={seconds}");
    let all = [&["--rw=randrw", "--bs=4k", "--iodepth=32", "--time_based", &time], arguments];
    let job = fio(lab, drive.node(), &all.concat())?;
    let rate = number(&job, "/read/iops")? + number(&job, "/write/iops")?;
    Ok((drive, job, rate))
}
