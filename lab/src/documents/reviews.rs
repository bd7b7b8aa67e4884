//! The page of the generic drives: each quantity that public reviews have of a class, every review
//! with its address, and ours as it was measured last.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use xtask::Repository;

use super::escape;
use crate::figure::RealFigure;
use crate::real_drives::SUBJECT;
use crate::real_drives::reviews::{ENTRY, REVIEWS, Reviewed, reviews};
use crate::results;

#[cfg(test)]
mod tests;

/// Where the page is.
const PAGE: &str = "docs/drives/generic.md";

const HEADER: &str = "# Generic drives beside public reviews\n\n\
     Four emulated drives stand for classes of real ones: `generic-nvme-tlc`, \
     `generic-nvme-dramless`, `generic-nvme-qlc`,\n`generic-sata-tlc`. Here is what public reviews \
     found of such drives, and what the methods find of ours. Written by\n`cargo xtask docs` from \
     [reviews.toml](reviews.toml) and from the results of \
     [`real_drives.reviews`](../measured.md#real_drives), whose bar is\na factor of 1.5 outside \
     the range of the reviews. *Fitted*: these values of the profile were chosen with the figures \
     in\nmind; the figure then confirms nothing. Everything else follows from them. A dash: not \
     measured.\n";

/// The page, and what should be there. None where the repository has no reviews.
pub(super) fn document(repository: &Repository) -> Result<Option<(String, String)>> {
    let text = fs::read_to_string(repository.root().join(REVIEWS)).ok();
    let Some(text) = text else { return Ok(None) };
    let measured = results::read(repository, &SUBJECT)?.remove(ENTRY.name);
    let figures = measured.map_or_else(Vec::new, |measured| measured.figures);
    let ours: Vec<RealFigure> = figures.into_iter().flat_map(|figure| figure.parts).collect();
    Ok(Some((PAGE.to_owned(), page(&reviews(&text)?, &ours)?)))
}

fn page(all: &[Reviewed], ours: &[RealFigure]) -> Result<String> {
    let mut page = HEADER.to_owned();
    for of_class in all.chunk_by(|a, b| a.class == b.class) {
        let class = &of_class.first().context("a chunk is not empty")?.class;
        write!(page, "\n## {class}\n\n| what | reviews | ours | fitted | within the bar |\n")?;
        page += "|---|---|---:|---|---|\n";
        for reviewed in of_class {
            page += &line(reviewed, ours)?;
        }
        page += "\n| what | drive | figure | condition |\n|---|---|---:|---|\n";
        for reviewed in of_class {
            let (what, unit) = reviewed.what()?;
            for review in &reviewed.reviews {
                let (figure, condition) = (review.told(unit), escape(&review.condition));
                let drive = format!("[{}]({})", review.drive, review.source);
                writeln!(page, "| {what} | {drive} | {figure} | {condition} |")?;
            }
        }
    }
    Ok(page)
}

/// A line of the first table of a class.
fn line(reviewed: &Reviewed, ours: &[RealFigure]) -> Result<String> {
    let (what, unit) = reviewed.what()?;
    let drives = reviewed.range().map_or_else(
        || "none".to_owned(),
        |range| format!("{} drives, {}", reviewed.reviews.len(), range.told(unit)),
    );
    let few = reviewed.missing.as_ref().map(|why| format!(": {}", escape(why)));
    let ours = ours.iter().find(|it| it.drive == reviewed.class && it.name == what);
    let told = ours.map_or_else(|| "-".to_owned(), RealFigure::ours_told);
    let holds = ours.map_or("-", |ours| if ours.holds { "yes" } else { "**no**" });
    let fitted = reviewed.fitted.as_deref().unwrap_or("nothing");
    let fitted = if reviewed.reviews.is_empty() { "-" } else { fitted };
    Ok(format!("| {what} | {drives}{} | {told} | {fitted} | {holds} |\n", few.unwrap_or_default()))
}
