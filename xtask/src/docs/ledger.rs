//! The ledger of published figures: a page a named drive with its residuals drawn, one table of all
//! figures, and the README's summary. Written from `docs/drives/published.toml` and from the pages
//! of evidence, so that it says what was measured last.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use trimbench_report::{FIGURE_MARK, PageContext};
use trimbench_results::chart::{Axis, Chart, ChartSeries};
use trimbench_ssd::{BUILT_IN, Origin, Profile};

use super::parts::between;
use crate::Repository;
use crate::evidence::page::escape;

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

/// A row of a page of evidence.
#[derive(Clone, Debug, PartialEq)]
struct EvidenceRow {
    claim: String,
    what: String,
    figure: String,
    bar: String,
    holds: bool,
    note: String,
}

impl EvidenceRow {
    /// Whether it was fitted or predicted, as it says itself.
    fn standing(&self) -> &'static str {
        if self.what.contains("fitted") {
            "fitted"
        } else if self.what.contains("predicted") {
            "predicted"
        } else {
            "compared"
        }
    }

    fn is_of(&self, drive: &str) -> bool {
        self.what.split_once(": ").is_some_and(|(of, _)| of == drive)
    }

    /// What it is, without the drive.
    fn subject(&self) -> &str {
        self.what.split_once(": ").map_or(&self.what, |(_, subject)| subject)
    }

    fn number(&self) -> Option<f64> {
        self.figure.split(' ').next()?.parse().ok()
    }

    /// What it is the worst of, where its note lists that: a name, how far it is off, and what else
    /// is said of it. It alone where it is the worst of nothing.
    fn details(&self) -> Vec<(String, f64, String)> {
        let detail = |part: &str| {
            let (name, rest) = part.rsplit_once(": ")?;
            let (number, remark) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((name.to_owned(), number.parse().ok()?, remark.to_owned()))
        };
        let listed: Option<Vec<(String, f64, String)>> =
            self.note.split("; ").map(detail).collect();
        let worst = |all: &[(String, f64, String)]| all.iter().map(|it| it.1).fold(0.0, f64::max);
        let is_worst =
            |all: &Vec<_>| self.number().is_some_and(|it| (worst(all) - it).abs() < 1e-9);
        listed.filter(is_worst).unwrap_or_else(|| {
            let subject = self.subject().replace(", ours over real", "");
            let subject = subject.replace(", fitted", "").replace(", predicted", "");
            self.residual().map(|off| (subject, off, String::new())).into_iter().collect()
        })
    }

    /// Whether what is that far off holds its bar: the worst of several does where all of them do.
    fn holds_for(&self, off: f64) -> bool {
        let most = self.bar.strip_prefix("<= ").and_then(|most| most.parse::<f64>().ok());
        most.filter(|_| self.details().len() > 1).map_or(self.holds, |most| off <= most)
    }

    /// How far it is off, as the logarithm of a factor: a figure that is a ratio to the real one
    /// has it in itself, one that is such a mean is it. 0 where the real one is a bound that ours
    /// keeps.
    fn residual(&self) -> Option<f64> {
        let number = self.number()?;
        if self.holds && self.note.contains(", real at ") {
            return Some(0.0);
        }
        Some(if self.what.ends_with("ours over real") { number.ln().abs() } else { number })
    }
}

/// All rows of a page of evidence, with their notes.
fn evidence(page: &str) -> Vec<EvidenceRow> {
    let notes: BTreeMap<(&str, &str), &str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(", "))
        .flat_map(|(claim, rest)| {
            // What a note is on may hold a colon itself: each place where it may end is kept.
            rest.match_indices(": ").map(move |(at, _)| ((claim, &rest[..at]), &rest[at + 2..]))
        })
        .collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        let [claim, what, figure, bar, holds, ..] = cells[..] else { return None };
        let claim = claim.trim_end_matches(" (short)");
        let is_claim =
            claim.split_once('.').is_some_and(|(_, number)| number.parse::<u8>().is_ok());
        is_claim.then(|| EvidenceRow {
            claim: claim.to_owned(),
            what: what.to_owned(),
            figure: figure.to_owned(),
            bar: bar.to_owned(),
            holds: holds == "yes",
            note: notes.get(&(claim, what)).copied().unwrap_or_default().to_owned(),
        })
    };
    page.lines().filter_map(row).collect()
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
    let mut documents = vec![(format!("{FOLDER}/ledger.md"), ledger(&published, &pages)?)];
    let charts: Vec<Chart> = drives.iter().map(|(drive, rows)| chart(drive, rows)).collect();
    let context = PageContext { verdicts: Vec::new(), charts, order: None };
    let pictures = context.figures().context("draw the residuals")?;
    for ((drive, rows), picture) in drives.iter().zip(pictures) {
        let profile = Profile::built_in(drive).context("a named drive is built in")?;
        documents.push((format!("{FOLDER}/{drive}.md"), page(&profile, rows)));
        let picture = picture.replacen("<svg", FIGURE_MARK, 1);
        documents.push((format!("{FOLDER}/{drive}.svg"), picture));
    }
    let readme = read(README).context("read the README")?;
    let (before, after) =
        between(&readme, SUMMARY, "\n\n").context("the README has no summary of named drives")?;
    let summary: Vec<String> = drives.iter().map(|(drive, rows)| summary(drive, rows)).collect();
    documents.push((README.to_owned(), format!("{before}{SUMMARY}{}{after}", summary.join("\n"))));
    Ok(documents)
}

/// The rows of each built-in profile that the claims hold against a real drive.
fn named(rows: &[EvidenceRow]) -> Vec<(&'static str, Vec<EvidenceRow>)> {
    let of = |drive| rows.iter().filter(|row| row.is_of(drive)).cloned().collect();
    let all = BUILT_IN.iter().map(|profile| (profile.name, of(profile.name)));
    all.filter(|(_, rows): &(_, Vec<EvidenceRow>)| !rows.is_empty()).collect()
}

/// A line of the README.
fn summary(drive: &str, rows: &[EvidenceRow]) -> String {
    let predicted: Vec<&EvidenceRow> =
        rows.iter().filter(|row| row.standing() == "predicted").collect();
    let figures: Vec<bool> = predicted
        .iter()
        .flat_map(|row| row.details().into_iter().map(|(_, off, _)| row.holds_for(off)))
        .collect();
    let (good, all) = (figures.iter().filter(|holds| **holds).count(), figures.len());
    let find = |claim: &str, begin: &str| {
        predicted.iter().find(|row| row.claim == claim && row.subject().starts_with(begin))
    };
    let course = find("drives.1", "").map_or("-", |row| &row.figure);
    let discard = |which| find("drives.3", which).map_or("-", |row| &row.note);
    format!(
        "| [`{drive}`]({FOLDER}/{drive}.md) | {good} of {all} | {course} | {} | {} |",
        discard("least"),
        discard("median")
    )
}

/// A drive's page.
fn page(profile: &Profile, rows: &[EvidenceRow]) -> String {
    let Profile { name, summary, values, .. } = profile;
    let mut page = format!(
        "# {name}\n\n{summary}. Written by `cargo xtask docs` from [the evidence]\
         (../evidence/drives.md); [what the figures are](README.md).\n\n\
         ![How far each figure is off](../drives/{name}.svg)\n"
    );
    for standing in ["fitted", "predicted", "compared"] {
        let mut of = rows.iter().filter(|row| row.standing() == standing).peekable();
        if of.peek().is_none() {
            continue;
        }
        let title = match standing {
            "fitted" => "Fitted",
            "predicted" => "Predicted",
            _ => "Compared",
        };
        write!(page, "\n## {title}\n\n| claim | what | figure | bar | holds | in detail |\n")
            .expect("a string takes all");
        page += "|---|---|---:|---|---|---|\n";
        for row in of {
            let holds = if row.holds { "yes" } else { "**no**" };
            let (figure, bar) = (&row.figure, &row.bar);
            let note = escape(&row.note);
            let subject = row.subject();
            writeln!(page, "| {} | {subject} | {figure} | {bar} | {holds} | {note} |", row.claim)
                .expect("a string takes all");
        }
    }
    page +=
        "\n## Values of the profile that were fitted\n\n| key | value | to what |\n|---|---|---|\n";
    for value in values.iter().filter(|value| value.origin == Origin::Fitted) {
        let (key, shown, source) = (&value.key, value.with_unit(), escape(&value.source));
        writeln!(page, "| `{key}` | {shown} | {source} |").expect("a string takes all");
    }
    page
}

/// How far the figures of a drive are off, those that were fitted and the others.
fn chart(drive: &str, rows: &[EvidenceRow]) -> Chart {
    let drawn: Vec<(&EvidenceRow, String, f64)> = rows
        .iter()
        .flat_map(|row| row.details().into_iter().map(move |(name, off, _)| (row, name, off)))
        .collect();
    let names = drawn.iter().map(|(_, name, _)| name.clone());
    let mut chart = Chart::new(
        drive,
        format!("{drive}: how far each figure is off"),
        Axis::of("", names.collect()),
        Axis::from_zero("|ln(ours / real)|", ""),
    );
    chart.horizontal = true;
    chart.describe(
        "Courses: the mean over their tenths. Where the real figure is a bound that ours keeps, 0.",
    );
    for standing in ["fitted", "predicted", "compared"] {
        let of = |(row, _, off): &(&EvidenceRow, String, f64)| {
            (row.standing() == standing).then_some(*off)
        };
        let bars: Vec<Option<f64>> = drawn.iter().map(of).collect();
        if bars.iter().any(Option::is_some) {
            let stack = Some("off".to_owned());
            chart.curve(ChartSeries { stack, ..ChartSeries::bars(standing, bars) });
        }
    }
    chart
}

/// The page with every published figure.
fn ledger(published: &Published, pages: &BTreeMap<String, Vec<EvidenceRow>>) -> Result<String> {
    let mut page = String::from(
        "# Ledger of published figures\n\n\
         Every published figure that the project reproduces, or tried to. Written by `cargo xtask \
         docs` from [published.toml](published.toml)\nand from the pages of \
         [evidence](../evidence/). *Fitted*: a value of the profile was chosen so that it holds. \
         *Predicted*: nothing\nwas fitted to it. *Not tried*: its conditions cannot be reproduced, \
         and nothing is fitted to it. None of these figures was\nmeasured by us on a physical \
         SSD.\n\n\
         | drive | figure | published | source | standing | ours | residual | evidence | remark |\n\
         |---|---|---|---|---|---:|---:|---|---|\n",
    );
    for row in &pages[DRIVES] {
        let Some((drive, _)) = row.what.split_once(": ") else { continue };
        let (ours, real) =
            match row.note.strip_prefix("ours ").and_then(|it| it.split_once(", real ")) {
                Some((ours, real)) => (ours, real),
                None => ("", "[the source](README.md#figures)"),
            };
        let (standing, claim, bar) = (row.standing(), &row.claim, &row.bar);
        for (name, off, remark) in row.details() {
            let holds = if row.holds_for(off) { "within its bar" } else { "**misses its bar**" };
            let remark = [remark.as_str(), holds].map(str::to_owned).join(" ");
            writeln!(
                page,
                "| [`{drive}`]({drive}.md) | {name} | {real} | [SSDIQ] | {standing} | {ours} | \
                 {off:.4} | `{claim}` | {} (bar {bar}) |",
                remark.trim()
            )?;
        }
    }
    for figure in &published.figure {
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
        writeln!(
            page,
            "| {drive} | {what} | {published} | {source} | {standing} | {ours} | {residual} | \
             {claim} | {reason} |"
        )?;
    }
    Ok(page)
}

/// How far ours is off: |ln(ours / real)|, or the difference where the real one is 0.
fn residual(ours: f64, real: f64) -> Option<String> {
    let off = if real == 0.0 { ours.abs() } else { (ours / real).ln().abs() };
    off.is_finite().then(|| format!("{off:.4}"))
}
