//! The ledger of published figures: a page a named drive with its residuals drawn, one table of all
//! figures, and the README's summary. Written from `docs/drives/published.toml` and from the pages
//! of evidence, so that it says what was measured last.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use trimbench_report::{FIGURE_MARK, PageContext};
use trimbench_results::chart::Chart;
use trimbench_ssd::{BUILT_IN, Profile};

use super::parts::between;
use crate::Repository;
use evidence::{EvidenceRow, LedgerFigure, ResponseCell, evidence};
use page::{page, residuals, responses, tables};

mod evidence;
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
/// The key whose claims hold named drives against real ones.
const DRIVES: &str = "drives";
/// The claim that runs a figure of another one once more, for the README.
const REPEATS: &str = "drives.6";

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
    claim: Option<String>,
    row: Option<String>,
    #[serde(default)]
    reason: String,
}

/// What the claims say of one named drive.
#[derive(Debug, Default)]
struct NamedDrive {
    name: &'static str,
    figures: Vec<LedgerFigure>,
    /// Response times, by rate; they are figures, too.
    cells: Vec<ResponseCell>,
}

impl NamedDrive {
    /// All figures, response times included.
    fn all(&self) -> impl Iterator<Item = &LedgerFigure> {
        self.figures.iter().chain(self.cells.iter().map(|cell| &cell.figure))
    }

    /// How many figures of a standing there are, and how many of them hold.
    fn count(&self, standing: &str) -> (usize, usize) {
        let of = || self.all().filter(|figure| figure.standing == standing);
        (of().filter(|figure| figure.holds).count(), of().count())
    }
}

/// Every document of the ledger: its path, and what should be there. None where the repository has
/// no ledger.
pub(super) fn documents(repository: &Repository) -> Result<Vec<(String, String)>> {
    let read = |path: &str| fs::read_to_string(repository.root().join(path)).ok();
    let Some(text) = read(PUBLISHED) else { return Ok(Vec::new()) };
    let published: Published =
        toml::from_str(&text).with_context(|| format!("read {PUBLISHED}"))?;
    let mut pages: BTreeMap<String, Vec<EvidenceRow>> = BTreeMap::new();
    let claims = published.figure.iter().filter_map(|figure| figure.claim.as_deref());
    for key in claims.filter_map(|claim| claim.split('.').next()).chain([DRIVES]) {
        let page = read(&format!("docs/evidence/{key}.md")).unwrap_or_default();
        pages.entry(key.to_owned()).or_insert_with(|| evidence(&page));
    }
    let drives = named(&pages[DRIVES]);
    let mut documents = vec![(format!("{FOLDER}/ledger.md"), ledger(&published, &pages, &drives)?)];
    for drive in &drives {
        let charts: Vec<Chart> =
            [Some(residuals(drive)), responses(drive)].into_iter().flatten().collect();
        let ids: Vec<String> = charts.iter().map(|chart| chart.id.clone()).collect();
        let profile = Profile::built_in(drive.name).context("a named drive is built in")?;
        documents.push((format!("{FOLDER}/{}.md", drive.name), page(&profile, drive)));
        let context = PageContext { verdicts: Vec::new(), charts, order: None };
        let pictures = context.figures().context("draw a drive's figures")?;
        for (id, picture) in ids.iter().zip(pictures) {
            let picture = picture.replacen("<svg", FIGURE_MARK, 1);
            documents.push((format!("{FOLDER}/{id}.svg"), picture));
        }
    }
    let readme = read(README).context("read the README")?;
    let (before, after) =
        between(&readme, SUMMARY, "\n\n").context("the README has no summary of named drives")?;
    let summary: Vec<String> = drives.iter().map(|drive| summary(drive, &pages[DRIVES])).collect();
    documents.push((README.to_owned(), format!("{before}{SUMMARY}{}{after}", summary.join("\n"))));
    Ok(documents)
}

/// Each built-in profile that the claims hold against a real drive.
fn named(rows: &[EvidenceRow]) -> Vec<NamedDrive> {
    let rows = || rows.iter().filter(|row| row.claim != REPEATS);
    let cells: Vec<ResponseCell> = rows().flat_map(EvidenceRow::cells).collect();
    let figures: Vec<LedgerFigure> = rows().flat_map(EvidenceRow::figures).collect();
    let of = |name| NamedDrive {
        name,
        figures: figures.iter().filter(|figure| figure.drive == name).cloned().collect(),
        cells: cells.iter().filter(|cell| cell.drive == name).cloned().collect(),
    };
    let all = BUILT_IN.iter().map(|profile| of(profile.name));
    all.filter(|drive| !drive.figures.is_empty()).collect()
}

/// A line of the README.
fn summary(drive: &NamedDrive, rows: &[EvidenceRow]) -> String {
    let (good, all) = drive.count("predicted");
    let of = |claim: &str, begin: &str| {
        let begin = format!("{}: {begin}", drive.name);
        let is_it = |row: &&EvidenceRow| {
            row.claim == claim && row.what.starts_with(&begin) && row.what.contains("predicted")
        };
        rows.iter().find(is_it)
    };
    let course = of("drives.1", "").map_or("-", |row| &row.figure);
    let discard = |which| of("drives.3", which).map_or("-", |row| &row.note);
    let name = drive.name;
    format!(
        "| [`{name}`]({FOLDER}/{name}.md) | {good} of {all} | {course} | {} | {} |",
        discard("least"),
        discard("median")
    )
}

/// The page with every published figure.
fn ledger(
    published: &Published,
    pages: &BTreeMap<String, Vec<EvidenceRow>>,
    drives: &[NamedDrive],
) -> Result<String> {
    let mut page = String::from(
        "# Ledger of published figures\n\n\
         Every published figure that the project reproduces, or tried to. Written by `cargo xtask \
         docs` from [published.toml](published.toml)\nand from the pages of \
         [evidence](../evidence/). *Fitted*: a value of the profile was chosen so that it holds. \
         *Predicted*: nothing\nwas fitted to it. *Compared*: neither, the model had no value to \
         choose. *Not tried*: its conditions cannot be reproduced, and\nnothing is fitted to it. \
         None of these figures was measured by us on a physical SSD. A residual is |ln(ours / \
         real)|; of a\ncourse it is the mean over its tenths. **Bold**: misses its bar.\n\n\
         ## Other sources\n\n\
         | drive | figure | published | source | standing | ours | residual | evidence | remark |\n\
         |---|---|---|---|---|---:|---:|---|---|\n",
    );
    for figure in &published.figure {
        page += &published_line(figure, pages)?;
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
fn standings(drive: &NamedDrive) -> String {
    let said =
        ["predicted", "fitted", "compared"].map(|standing| (standing, drive.count(standing)));
    let said = said.into_iter().filter(|(_, (_, all))| *all > 0);
    let said: Vec<String> =
        said.map(|(standing, (good, all))| format!("{good} of {all} {standing}")).collect();
    said.join(", ")
}

/// A line of the ledger on a figure that is not `SSDIQ`'s.
fn published_line(
    figure: &PublishedFigure,
    pages: &BTreeMap<String, Vec<EvidenceRow>>,
) -> Result<String> {
    let known = ["fitted", "predicted", "not tried"];
    ensure!(known.contains(&&*figure.standing), "`{}` is no standing", figure.standing);
    let row = figure.claim.as_deref().zip(figure.row.as_deref()).map(|(claim, begin)| {
        let rows = claim.split('.').next().and_then(|key| pages.get(key));
        let found = rows
            .into_iter()
            .flatten()
            .find(|row| row.claim == claim && row.what.starts_with(begin));
        found.with_context(|| format!("the evidence of {claim} has no row `{begin}`"))
    });
    let row = row.transpose()?;
    ensure!(row.is_some() || !figure.reason.is_empty(), "{}: no reason", figure.what);
    let residual = row.and_then(|row| residual(row.number()?, figure.value?));
    let residual = residual.unwrap_or_default();
    let ours = row.map_or("", |row| &row.figure);
    let claim = row.map_or(String::new(), |row| format!("`{}`", row.claim));
    let PublishedFigure { drive, what, published, source, standing, reason, .. } = figure;
    Ok(format!(
        "| {drive} | {what} | {published} | {source} | {standing} | {ours} | {residual} | \
         {claim} | {reason} |\n"
    ))
}

/// How far ours is off: |ln(ours / real)|, or the difference where the real one is 0.
fn residual(ours: f64, real: f64) -> Option<String> {
    let off = if real == 0.0 { ours.abs() } else { (ours / real).ln().abs() };
    off.is_finite().then(|| format!("{off:.4}"))
}
