//! What client drives give back after TRIM and a rest, and the share of idle time that a fit to two
//! figures of a reviewer finds.

use std::fs;

use anyhow::{Context as _, Result};
use tests::client_drives::{REVIEWED, ReviewedDrive};
use trimbench_core::Bytes;
use trimbench_ssd::Profile;

use super::{FoundTwin, SOURCES};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "client_drives",
    title: "Two client drives give back after TRIM and a rest what a reviewer measured, by a rule \
            of idle collection and a value that a fit finds again",
    needs: &[],
    sources: SOURCES,
    run,
};

/// Of the twin that is fitted.
const CAPACITY: Bytes = Bytes::gib(4);
/// How far the share that is found on this scaling is from the profile's: a factor.
const SHARE_OFF: f64 = 1.5;
const FREE: &str = "collector.idle_share=0.5%..50%";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for drive in &REVIEWED {
        figures.extend(drive.expectations(lab.program()?)?.into_iter().map(Figure::from));
        if !lab.is_short() {
            figures.push(fitted(lab, drive)?);
        }
    }
    Ok(figures)
}

/// The share of idle time that a fit finds, over the profile's.
fn fitted(lab: &Lab<'_>, drive: &ReviewedDrive) -> Result<Figure> {
    let options = drive.options(CAPACITY, 2).join(" ");
    let rows = [("fragmented-of-fresh", drive.dirty), ("trimmed-of-fresh", drive.trimmed)];
    let rows = rows.map(|(figure, value)| format!("recovery,{options},{figure},{value},\n"));
    let table = lab.folder().join(format!("{}.csv", drive.profile));
    fs::write(&table, format!("method,options,figure,value,unit\n{}", rows.concat()))
        .context("write a table of figures")?;
    let mut command = lab.trimbench(&["fit", "--base", drive.profile, "--free", FREE])?;
    command.args(["--capacity", &CAPACITY.to_string(), "--table"]).arg(table);
    // One parameter cannot give two figures exactly, and the fit says so with its exit code.
    let found = FoundTwin::by(lab, &mut command)?;
    let best = found.parameters.first().context("a fit without a value")?.numbers[0];
    let profile = Profile::built_in(drive.profile).context("no such profile")?;
    let share = best / f64::from(profile.config.gc.idle_share.0);
    let name = drive.profile;
    let what = format!("{name}: share of idle time that a fit finds, over the profile's");
    let bar = Bar::Within(1.0 / SHARE_OFF, SHARE_OFF);
    Ok(Figure::new(what, (share, ""), bar).with_note(format!("{:.2} %", best / 1e4)))
}
