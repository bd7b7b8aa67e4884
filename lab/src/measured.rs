//! `docs/measured.md`: each figure with its bar and its age.

use std::fmt::Write as _;

use anyhow::Result;
use xtask::Repository;

use crate::SUBJECTS;
use crate::entry::{Entry, Subject};
use crate::figure::{Figure, short};
use crate::results::{self, Measured};

/// The page.
pub(crate) const PAGE: &str = "docs/measured.md";

/// What is said of an entry without results.
pub(crate) const NOT_MEASURED: &str = "not measured";

const HEADER: &str = "# What was measured of trimbench itself\n\n\
     Figures that need minutes, a quiet machine, a peer program or hardware; all else is a test. \
     Written by\n`cargo xtask docs` from `lab/results`; `cargo xtask lab SUBJECT.NAME` \
     measures again. **Missed**: the figure does not meet\nits bar. *Older than its sources*: what \
     the figures speak of has changed since.\n";

/// The page, from the results as they are.
pub(crate) fn page(repository: &Repository) -> Result<String> {
    let mut page = HEADER.to_owned();
    for subject in SUBJECTS.iter().filter(|subject| !subject.entries.is_empty()) {
        write!(page, "\n## {}\n\n{}\n", subject.name, subject.title)?;
        let kept = results::read(repository, subject)?;
        for entry in subject.entries {
            let hash = results::sources_hash(repository, subject, entry)?;
            page += &section(subject, entry, kept.get(entry.name), &hash);
        }
    }
    Ok(page)
}

/// The part of an entry.
fn section(subject: &Subject, entry: &Entry, kept: Option<&Measured>, hash: &str) -> String {
    let (id, title) = (format!("{}.{}", subject.name, entry.name), entry.title);
    let mut text = format!("\n### {id}\n\n{title} ({}).\n", age(kept, hash));
    let figures = kept.map_or(&[][..], |kept| &kept.figures);
    if !figures.is_empty() {
        text += "\n| figure | measured | bar | met |\n|---|---:|---|---|\n";
    }
    for figure in figures {
        let Figure { what, value, unit, bar, .. } = figure;
        let what = what.replace('|', "\\|");
        let met = if figure.holds() { "yes" } else { "**missed**" };
        let value = format!("{} {unit}", short(*value));
        writeln!(text, "| {what} | {} | {bar} | {met} |", value.trim_end())
            .expect("a string takes everything");
    }
    text
}

/// When, where and in which form an entry was measured, and whether its sources have changed since.
pub(crate) fn age(kept: Option<&Measured>, hash: &str) -> String {
    let Some(Measured { is_short, commit, date, machine, sources, .. }) = kept else {
        return NOT_MEASURED.to_owned();
    };
    let form = if *is_short { ", short form" } else { "" };
    let old = if sources == hash { "" } else { "; *older than its sources*" };
    format!("{date}, {commit}, {machine}{form}{old}")
}
