//! Log pages of drives: every offset and width against the public structures, and damaged pages.
//!
//! The sources of nvme-cli and smartmontools, as Debian has them, are fetched and their structures
//! compiled; what a structure does not say, its key, is in [`members`]. Nothing of them is kept.

mod compiled;
mod members;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;

use anyhow::{Context as _, Result};
use tests::Need::Program;
use trimbench_core::rng::Rng;
use trimbench_log_pages::ata::statistics::{ATA_STATISTICS, supported_pages};
use trimbench_log_pages::nvme::smart::host_written;
use trimbench_log_pages::ocp::smart::media_written;
use trimbench_log_pages::ocp::telemetry::{self, OCP_TELEMETRY};
use trimbench_log_pages::{DriveSummary, LogField, LogLayout, LogPage, pages_for};

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

use compiled::{Compiled, PublicField};

pub(crate) const ENTRY: Entry = Entry {
    name: "log_pages",
    title: "Offsets and widths of log pages agree with the structures of nvme-cli and \
            smartmontools, and damaged pages cause no panic",
    needs: &[Program("apt-get"), Program("dpkg-source"), Program("cc")],
    sources: &["crates/trimbench-core", "crates/trimbench-log-pages"],
    run,
};

/// Damaged pages, in the short form and in full.
const DAMAGED: [u64; 2] = [100_000, 1_000_000];
/// Fewer fields than this mean that the sources were not understood.
const FIELDS_MIN: f64 = 650.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let compiled = compiled::compile(lab)?;
    let mut compared = 0;
    let mut differ = Vec::new();
    for (page, fields) in &compiled.pages {
        compare((page, fields), &mut compared, &mut differ)?;
    }
    let unknown = unknown_ids(&compiled)?;
    let unseen = unseen(&compiled);
    let damaged = lab.form(DAMAGED[0], DAMAGED[1]);
    let (panics, understood) = panics(damaged);
    Ok(vec![
        Figure::new("fields compared", (f64::from(compared), ""), Bar::AtLeast(FIELDS_MIN))
            .with_note(format!("not in these sources: {}", unseen.join(", "))),
        Figure::new("fields that differ", (differ.len() as f64, ""), Bar::Equals(0.0))
            .with_note(differ.join("; ")),
        Figure::new(
            "public attributes that are unknown",
            (unknown.len() as f64, ""),
            Bar::Equals(0.0),
        )
        .with_note(format!("of {}: {}", compiled.ids.len(), unknown.join(", "))),
        Figure::new("damaged pages", (damaged as f64, ""), Bar::AtLeast(damaged as f64))
            .with_note(format!("of these, {understood} were read in spite of it")),
        Figure::new("damaged pages that panicked", (panics as f64, ""), Bar::Equals(0.0)),
    ])
}

/// Compares fields of a page with those of its public structure.
fn compare(
    (page, public): (&str, &[PublicField]),
    compared: &mut u32,
    differ: &mut Vec<String>,
) -> Result<()> {
    let layout = layout_of(page)?;
    for PublicField { key, at, width } in public {
        let ours = fields_of(layout).find(|field| field.name == key);
        let ours = ours.map(|field| (field.at, field.width));
        *compared += 1;
        if ours != Some((*at, *width)) {
            differ.push(format!("{page} {key}: public ({at}, {width}), ours {ours:?}"));
        }
    }
    Ok(())
}

/// The layout of a page: its id, and if it has several, `@` and the version.
fn layout_of(page: &str) -> Result<&'static LogLayout> {
    let (id, version) = page.split_once('@').unwrap_or((page, ""));
    let ours = all_pages().into_iter().find(|page| page.id == id);
    let ours = ours.with_context(|| format!("no page is called `{id}`"))?;
    let is_it =
        |layout: &&LogLayout| version.is_empty() || version == layout.versions.0.to_string();
    ours.layouts.iter().find(is_it).with_context(|| format!("no layout is called `{page}`"))
}

fn fields_of(layout: &'static LogLayout) -> impl Iterator<Item = &'static LogField> {
    let known = layout.attributes.map_or(&[][..], |area| area.known);
    let fixed = layout.fields.iter().copied().flatten();
    fixed.chain(known.iter().flat_map(|attribute| attribute.fields))
}

/// Ids of attributes that are public and that we do not know.
fn unknown_ids(compiled: &Compiled) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for (page, id) in &compiled.ids {
        let known = layout_of(page)?.attributes.map_or(&[][..], |area| area.known);
        if known.iter().all(|attribute| attribute.id != *id) {
            unknown.push(format!("{page}: attribute {id:#04x}"));
        }
    }
    Ok(unknown)
}

/// How many of our fields at fixed offsets no source of this machine has, page by page.
fn unseen(compiled: &Compiled) -> Vec<String> {
    let mut unseen = Vec::new();
    for page in all_pages() {
        let seen: BTreeSet<&str> = compiled
            .pages
            .iter()
            .filter(|(name, _)| name.split('@').next() == Some(page.id))
            .flat_map(|(_, fields)| fields.iter().map(|field| field.key.as_str()))
            .collect();
        let fixed = page.fields().filter(|(attribute, _)| attribute.is_none());
        let missing = fixed.filter(|(_, field)| !seen.contains(field.name)).count();
        if missing > 0 {
            unseen.push(format!("{} of {}", missing, page.id));
        }
    }
    unseen
}

/// Every page, once.
fn all_pages() -> Vec<&'static LogPage> {
    let drives =
        [(0x1344, 0), (0x1344, 0x6001), (0x1c5f, 0), (0x025e, 0), (0x144d, 0), (0x1b96, 0)];
    let of_drives = drives.into_iter().flat_map(|(vendor, device)| pages_for(vendor, device, ""));
    let statistics = ATA_STATISTICS.iter().map(|statistics| statistics.page);
    let all = of_drives.copied().chain([&OCP_TELEMETRY]).chain(statistics);
    let by_id: BTreeMap<&str, &'static LogPage> = all.map(|page| (page.id, page)).collect();
    by_id.into_values().collect()
}

/// Reads that many damaged pages: how many panicked, and how many were read.
fn panics(count: u64) -> (u64, u64) {
    let pages = all_pages();
    let mut rng = Rng::new(45);
    let (mut panics, mut understood) = (0, 0);
    for index in 0..count {
        let page = pages[usize::try_from(index % pages.len() as u64).expect("an index")];
        let bytes = damaged(page, &mut rng);
        match catch_unwind(|| read_all(page, &bytes)) {
            Ok(is_understood) => understood += u64::from(is_understood),
            Err(_) => panics += 1,
        }
    }
    (panics, understood)
}

/// Everything that reads bytes of this page; whether the page was understood.
fn read_all(page: &LogPage, bytes: &[u8]) -> bool {
    if let Ok(range) = telemetry::statistics_range(bytes) {
        let _ = telemetry::read(bytes, bytes.get(range).unwrap_or(bytes));
        let _ = telemetry::read(bytes, bytes);
    }
    let _ = supported_pages(bytes);
    for table in &ATA_STATISTICS {
        let _ = table.statistics(bytes);
    }
    let _ = (host_written(bytes), media_written(bytes));
    let Ok(read) = page.read(bytes) else { return false };
    let summary = DriveSummary::of(std::slice::from_ref(&read));
    drop((summary, read.growth_since(&read).count()));
    true
}

/// Random bytes, mostly as many as the page has, with its GUID and a version at or beyond the last
/// that is known.
fn damaged(page: &LogPage, rng: &mut Rng) -> Vec<u8> {
    let whole = page.length as u64;
    let length = if rng.below(4) == 0 { rng.below(whole + 64) } else { whole };
    let is_sparse = rng.below(2) == 0;
    let byte = |rng: &mut Rng| u8::try_from(rng.below(256)).expect("a byte");
    let mut bytes: Vec<u8> =
        (0..length).map(|_| if is_sparse && rng.below(8) != 0 { 0 } else { byte(rng) }).collect();
    let mut put = |at: usize, part: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
    };
    if let Some((at, guid)) = page.guid {
        put(at, &guid.to_le_bytes());
    }
    if let Some(version) = page.version {
        let last = page.layouts.last().expect("a page has a layout").versions.1;
        let known = last + u32::from(rng.below(2) == 0);
        put(version.at, &known.to_le_bytes()[..version.width]);
    }
    bytes
}
