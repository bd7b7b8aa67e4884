//! The page of the generic drives: each quantity that public reviews have of a class, every review
//! with its address, and ours of the last evidence.

use std::fmt::Write as _;
use std::fs;

use ::tests::acceptance::{REVIEWS, Reviewed, reviews};
use anyhow::{Context as _, Result};

use crate::Repository;
use crate::evidence::page::escape;

#[cfg(test)]
mod tests;

/// Where the page is.
const PAGE: &str = "docs/drives/generic.md";
const EVIDENCE: &str = "docs/evidence/drives.md";
const CLAIM: &str = "drives.5";

const HEADER: &str = "# Generic drives beside public reviews\n\n\
     Four emulated drives stand for classes of real ones: `generic-nvme-tlc`, \
     `generic-nvme-dramless`, `generic-nvme-qlc`,\n`generic-sata-tlc`. Here is what public reviews \
     found of such drives, and what the methods find of ours. Written by\n`cargo xtask docs` from \
     [reviews.toml](reviews.toml) and from the [evidence](../evidence/drives.md) of `drives.5`, \
     whose bar is\na factor of 1.5 outside the range of the reviews. *Fitted*: these values of the \
     profile were chosen with the figures in\nmind; the figure then confirms nothing. Everything \
     else follows from them. A dash: not in the last evidence.\n";

/// The page, and what should be there. None where the repository has no reviews.
pub(super) fn document(repository: &Repository) -> Result<Option<(String, String)>> {
    let read = |path: &str| fs::read_to_string(repository.root().join(path)).ok();
    let Some(text) = read(REVIEWS) else { return Ok(None) };
    let evidence = read(EVIDENCE).unwrap_or_default();
    Ok(Some((PAGE.to_owned(), page(&reviews(&text)?, &evidence)?)))
}

fn page(all: &[Reviewed], evidence: &str) -> Result<String> {
    let mut page = HEADER.to_owned();
    for of_class in all.chunk_by(|a, b| a.class == b.class) {
        let class = &of_class.first().context("a chunk is not empty")?.class;
        write!(page, "\n## {class}\n\n| what | reviews | ours | fitted | within the bar |\n")?;
        page += "|---|---|---:|---|---|\n";
        for reviewed in of_class {
            page += &line(reviewed, evidence)?;
        }
        page += "\n| what | drive | figure | condition |\n|---|---|---:|---|\n";
        for reviewed in of_class {
            let (what, unit) = reviewed.what()?;
            for review in &reviewed.reviews {
                let high = review.high.map(|high| format!(" to {high}")).unwrap_or_default();
                let figure = format!("{}{high} {unit}", review.low);
                let (figure, condition) = (figure.trim_end(), escape(&review.condition));
                let drive = format!("[{}]({})", review.drive, review.source);
                writeln!(page, "| {what} | {drive} | {figure} | {condition} |")?;
            }
        }
    }
    Ok(page)
}

/// A line of the first table of a class.
fn line(reviewed: &Reviewed, evidence: &str) -> Result<String> {
    let (what, _) = reviewed.what()?;
    let drives = match reviewed.reviews.len() {
        0 => "none".to_owned(),
        count => format!("{count} drives"),
    };
    let few = reviewed.missing.as_ref().map(|why| format!(": {}", escape(why)));
    let (ours, holds) = ours(reviewed, evidence)?.unwrap_or(("-", "-"));
    let fitted = reviewed.fitted.as_deref().unwrap_or("nothing");
    let fitted = if reviewed.reviews.is_empty() { "-" } else { fitted };
    Ok(format!("| {what} | {drives}{} | {ours} | {fitted} | {holds} |\n", few.unwrap_or_default()))
}

/// Ours with the range beside it, as the note of the evidence has them, and whether the bar holds.
fn ours<'a>(reviewed: &Reviewed, evidence: &'a str) -> Result<Option<(&'a str, &'a str)>> {
    let row = reviewed.row()?;
    let starts = |line: &&str, mark: &str| {
        let claim = line.strip_prefix(mark).and_then(|rest| rest.strip_prefix(CLAIM));
        let rest = claim.map(|rest| rest.strip_prefix(" (short)").unwrap_or(rest));
        rest.is_some_and(|rest| rest.trim_start_matches([' ', '|', ',']).starts_with(&row))
    };
    let table = evidence.lines().find(|line| starts(line, "| "));
    let note = evidence.lines().find(|line| starts(line, "- "));
    let holds = table.and_then(|line| line.split(" | ").nth(4));
    let note = note.and_then(|line| line.split_once(": "));
    let ours =
        note.and_then(|(_, note)| note.split(", fitted by ").next()?.split(", nothing ").next());
    Ok(ours.zip(holds))
}
