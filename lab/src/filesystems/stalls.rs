//! Stall attribution, tried again and again: stalls planted on real filesystems. A test plants each
//! once.

use anyhow::{Context as _, Result};
use tests::Need::{Fuse, Loop, Program, Root, Tracing};
use tests::planted::Planted;
use trimbench_core::OperationKind;
use trimbench_engine::{StallAttribution, StallLayer, attribute_stalls};

use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// Where planted stalls are found.
pub(crate) const ENTRY: Entry = Entry {
    name: "stalls",
    title: "A stall that is planted on ext4 is attributed to the right layer, every time",
    needs: &[Root, Loop, Fuse, Tracing, Program("mkfs.ext4"), Program("fsfreeze")],
    sources: REAL,
    run,
};

/// The share of the stalled time that must lie in the right layer.
const SHARE: f64 = 0.95;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for number in 1..=lab.form(1, 4) {
        for planted in Planted::ALL {
            figures.extend(found(number, planted)?);
        }
    }
    Ok(figures)
}

fn found(number: usize, planted: Planted) -> Result<Vec<Figure>> {
    let seen = planted.watch();
    let all = attribute_stalls(&seen.waits, &seen.requests, planted.threshold());
    let id = planted.id();
    let figure = |what: &str, value, bar| Figure::new(format!("{id} {number}: {what}"), value, bar);
    let layers = planted.layers();
    let share = |of: &StallAttribution| layers.iter().filter_map(|it| of.share(*it)).sum::<f64>();
    let names: Vec<&str> = layers.iter().map(|layer| layer.id()).collect();
    let names = names.join(" or ");
    let found = format!("stalled time found in {names}");
    let least = planted.least_stall().seconds();
    let mut figures = vec![
        figure(&found, (share(&all), ""), Bar::AtLeast(SHARE)).with_note(shares(&all)),
        figure("stalled time", (all.stalled().seconds(), "s"), Bar::AtLeast(least)),
        figure("events lost", (seen.lost as f64, ""), Bar::Equals(0.0)),
    ];
    if planted == Planted::ExhaustedTags {
        // Writers always have some write in the device. The reader is who waits for a tag.
        let mut waits = seen.waits;
        waits.retain(|wait| wait.kind == OperationKind::Read);
        let reader = attribute_stalls(&waits, &seen.requests, planted.threshold());
        reader.share(StallLayer::Tags).context("the reader was never stalled for a tag")?;
        let what = format!("the reader's {found}");
        let of_reader = figure(&what, (share(&reader), ""), Bar::AtLeast(SHARE));
        figures.push(of_reader.with_note(shares(&reader)));
    }
    Ok(figures)
}

/// The share of each layer.
fn shares(found: &StallAttribution) -> String {
    let share =
        |layer: &StallLayer| Some(format!("{} {:.1} %", layer.id(), found.share(*layer)? * 100.0));
    StallLayer::ALL.iter().filter_map(share).collect::<Vec<_>>().join(", ")
}
