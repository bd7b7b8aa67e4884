//! The ledger of published figures: a page a named drive with its residuals drawn, one table of all
//! figures, and the README's summary. Written from `docs/drives/published.toml` and from the
//! results of the lab, so that it says what was measured last.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use trimbench_results::chart::Chart;
use trimbench_ssd::Profile;
use xtask::Repository;

use super::parts::between;
use super::pictures;
use crate::SUBJECTS;
use crate::figure::{Bar, Figure, FigureStanding, RealFigure, RealValue, short};
use crate::measured::NOT_MEASURED;
use crate::real_drives::{self, courses, discards};
use crate::results::{self, Results};
use page::{page, residuals, responses, tables};

mod page;
#[cfg(test)]
mod tests;

const FOLDER: &str = "docs/drives";
const PUBLISHED: &str = "docs/drives/published.toml";
const README: &str = "README.md";
/// What stands before the README's summary.
const SUMMARY: &str = "| drive | predicted figures within their bar | worst predicted course | a \
                       discard of 2.581 GiB, predicted: least | median |\n\
                       |---|---:|---:|---|---|\n";

/// `published.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    figure: Vec<PublishedFigure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFigure {
    drive: String,
    what: String,
    published: String,
    /// The same as a number, in the unit of ours; without it no residual can be given.
    value: Option<f64>,
    source: String,
    standing: String,
    /// The entry of the lab that has ours, and how its figure begins.
    entry: Option<String>,
    figure: Option<String>,
    #[serde(default)]
    reason: String,
}

/// The results of every subject, by its name.
type AllResults = BTreeMap<&'static str, Results>;

/// A published figure of a named drive, the entry that measures ours, and the bar of that.
#[derive(Clone, Copy, Debug)]
struct LedgerFigure<'a> {
    entry: &'a str,
    bar: Bar,
    part: &'a RealFigure,
}

/// What was measured of one named drive.
#[derive(Debug)]
struct NamedDrive<'a> {
    name: &'static str,
    figures: Vec<LedgerFigure<'a>>,
    /// Response times, by rate; they are figures, too.
    responses: Vec<LedgerFigure<'a>>,
}

impl NamedDrive<'_> {
    /// How many figures of a standing there are, and how many of them hold.
    fn count(&self, standing: FigureStanding) -> (usize, usize) {
        let all = self.figures.iter().chain(&self.responses);
        let of = || all.clone().filter(|it| it.part.standing == standing);
        (of().filter(|it| it.part.holds).count(), of().count())
    }

    /// The figures of an entry that are predicted.
    fn predicted(&self, entry: &str) -> impl Iterator<Item = &RealFigure> {
        let of = self.figures.iter().filter(move |it| it.entry == entry).map(|it| it.part);
        of.filter(|part| part.standing == FigureStanding::Predicted)
    }
}

/// Every document of the ledger: its path, and what should be there. None where the repository has
/// no ledger.
pub(super) fn documents(repository: &Repository) -> Result<Vec<(String, String)>> {
    let read = |path: &str| fs::read_to_string(repository.root().join(path)).ok();
    let Some(text) = read(PUBLISHED) else { return Ok(Vec::new()) };
    let published: Published =
        toml::from_str(&text).with_context(|| format!("read {PUBLISHED}"))?;
    let all = SUBJECTS.iter().map(|it| Ok((it.name, results::read(repository, it)?)));
    let all: AllResults = all.collect::<Result<_>>()?;
    let drives = named(&all);
    let mut documents = vec![(format!("{FOLDER}/ledger.md"), ledger(&published, &all, &drives)?)];
    for drive in &drives {
        let charts: Vec<Chart> =
            [residuals(drive), responses(drive)].into_iter().flatten().collect();
        let ids: Vec<String> = charts.iter().map(|chart| chart.id.clone()).collect();
        let profile = Profile::built_in(drive.name).context("a named drive is built in")?;
        documents.push((format!("{FOLDER}/{}.md", drive.name), page(&profile, drive, &ids)));
        documents.extend(pictures(FOLDER, charts)?);
    }
    let readme = read(README).context("read the README")?;
    let (before, after) =
        between(&readme, SUMMARY, "\n\n").context("the README has no summary of named drives")?;
    let summary: Vec<String> = drives.iter().map(summary).collect();
    documents.push((README.to_owned(), format!("{before}{SUMMARY}{}{after}", summary.join("\n"))));
    Ok(documents)
}

/// What was measured of each named drive.
fn named(all: &AllResults) -> Vec<NamedDrive<'_>> {
    let mut drives = real_drives::NAMED.map(|name| NamedDrive {
        name,
        figures: Vec::new(),
        responses: Vec::new(),
    });
    // In the order of the entries.
    let of = all.get(real_drives::SUBJECT.name);
    let entries = real_drives::SUBJECT.entries.iter();
    let measured = entries.filter_map(|entry| Some((entry.name, of?.get(entry.name)?)));
    for (entry, measured) in measured {
        for Figure { bar, parts, .. } in &measured.figures {
            for part in parts {
                let figure = LedgerFigure { entry, bar: *bar, part };
                let drive = drives.iter_mut().find(|it| it.name == part.drive);
                match (drive, &part.response) {
                    (Some(drive), Some(_)) => drive.responses.push(figure),
                    (Some(drive), None) => drive.figures.push(figure),
                    (None, _) => {}
                }
            }
        }
    }
    drives.into()
}

/// A line of the README.
fn summary(drive: &NamedDrive<'_>) -> String {
    let (good, all) = drive.count(FigureStanding::Predicted);
    let dash = || "-".to_owned();
    let count = if all == 0 { dash() } else { format!("{good} of {all}") };
    let worst = drive.predicted(courses::ENTRY.name).filter_map(|part| part.off);
    let course = worst.max_by(f64::total_cmp).map_or_else(dash, short);
    let [least, median] = ["least", "median"].map(|which| {
        let mut of = drive.predicted(discards::ENTRY.name);
        of.find(|part| part.name.starts_with(which)).map_or_else(dash, RealFigure::both_told)
    });
    let name = drive.name;
    format!("| [`{name}`]({FOLDER}/{name}.md) | {count} | {course} | {least} | {median} |")
}

/// The page with every published figure.
fn ledger(published: &Published, all: &AllResults, drives: &[NamedDrive<'_>]) -> Result<String> {
    let mut page = String::from(
        "# Ledger of published figures\n\n\
         Every published figure that the project reproduces, or tried to. Written by `cargo xtask \
         docs` from [published.toml](published.toml)\nand from the [results of the \
         lab](../measured.md). *Fitted*: a value of the profile was chosen so that it holds. \
         *Predicted*: nothing\nwas fitted to it. *Compared*: neither, the model had no value to \
         choose. *Not tried*: its conditions cannot be reproduced, and\nnothing is fitted to it. \
         None of these figures was measured by us on a physical SSD. A residual is |ln(ours / \
         real)|; of a\ncourse it is the mean over its tenths. **Bold**: misses its bar.\n\n\
         ## Other sources\n\n\
         | drive | figure | published | source | standing | ours | residual | measured by | \
         remark |\n\
         |---|---|---|---|---|---:|---:|---|---|\n",
    );
    for figure in &published.figure {
        page += &published_line(figure, all)?;
    }
    for drive in drives {
        let (name, shares) = (drive.name, standings(drive));
        write!(
            page,
            "\n## {name}\n\n[Its page]({name}.md) draws the same. Within their bar: {shares}. \
             Source: [SSDIQ], as [these tables](README.md#figures) have it.\n"
        )?;
        page += &tables(drive, "###");
    }
    Ok(page)
}

/// `11 of 12 predicted, 3 of 3 fitted`.
fn standings(drive: &NamedDrive<'_>) -> String {
    let told = FigureStanding::ALL.map(|standing| (standing.name(), drive.count(standing)));
    let told = told.into_iter().filter(|(_, (_, all))| *all > 0);
    let told: Vec<String> =
        told.map(|(standing, (good, all))| format!("{good} of {all} {standing}")).collect();
    if told.is_empty() { NOT_MEASURED.to_owned() } else { told.join(", ") }
}

/// A line of the ledger on a figure that is not `SSDIQ`'s.
fn published_line(figure: &PublishedFigure, all: &AllResults) -> Result<String> {
    let PublishedFigure { drive, what, published, source, standing, reason, .. } = figure;
    let known = ["fitted", "predicted", "not tried"];
    ensure!(known.contains(&&**standing), "`{standing}` is no standing");
    let named = figure.entry.as_deref().zip(figure.figure.as_deref());
    ensure!(named.is_some() || !reason.is_empty(), "{what}: no reason");
    let (mut ours, mut residual, mut entry) = (String::new(), String::new(), String::new());
    if let Some((id, begin)) = named {
        entry = format!("`{id}`");
        match measured(all, id, begin)? {
            Some(Figure { value, unit, .. }) => {
                ours = RealValue::Exactly(*value).told(unit);
                let off = figure.value.and_then(|published| off(*value, published));
                residual = off.unwrap_or_default();
            }
            None => NOT_MEASURED.clone_into(&mut ours),
        }
    }
    Ok(format!(
        "| {drive} | {what} | {published} | {source} | {standing} | {ours} | {residual} | \
         {entry} | {reason} |\n"
    ))
}

/// The figure of an entry that begins like this; `None` where the entry was not measured. An error
/// where there is no such entry, or its figures are others.
fn measured<'a>(all: &'a AllResults, id: &str, begin: &str) -> Result<Option<&'a Figure>> {
    let (subject, name) = id.split_once('.').with_context(|| format!("`{id}` is no entry"))?;
    let is_it = SUBJECTS
        .iter()
        .any(|it| it.name == subject && it.entries.iter().any(|entry| entry.name == name));
    ensure!(is_it, "there is no entry `{id}`");
    let Some(measured) = all.get(subject).and_then(|of| of.get(name)) else { return Ok(None) };
    let found = measured.figures.iter().find(|figure| figure.what.starts_with(begin));
    // The short form may leave it out.
    ensure!(found.is_some() || measured.is_short, "{id} has no figure `{begin}`");
    Ok(found)
}

/// How far ours is off: |ln(ours / real)|, or the difference where the real one is 0.
fn off(ours: f64, real: f64) -> Option<String> {
    let off = if real == 0.0 { ours.abs() } else { (ours / real).ln().abs() };
    off.is_finite().then(|| format!("{off:.4}"))
}
