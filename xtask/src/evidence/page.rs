//! A key's page: its figures as a table. Written entirely from raw output, never by hand.

use std::collections::BTreeSet;

use ::tests::acceptance::{Finding, Key, short};
use anyhow::{Context as _, Result};
use trimbench_ssd::MODEL_VERSION;

use super::{Kept, Outcome};

/// What stands before the version of the emulated drives' model that a page was measured with.
const MODEL: &str = "Emulated drives: model version ";
/// What stands behind it on a page that is older than the model.
const OLDER: &str =
    "**Older than the model of today: figures of emulated drives may be others by now.**\n\n";

/// Whether a page was measured with an older model of the emulated drives than that of today; an
/// error if it does not say with which.
pub(crate) fn is_old(page: &str) -> Result<bool> {
    let version = page.lines().find_map(|line| line.strip_prefix(MODEL));
    let version = version.context("the page does not say which model it was measured with")?;
    let version: u32 = version.trim_end_matches('.').parse().context("read a model version")?;
    Ok(version < MODEL_VERSION)
}

/// The page with the remark that it is older than the model, if it is, and without it if not.
pub(crate) fn with_age(page: &str) -> Result<String> {
    let page = page.replace(OLDER, "");
    let table = "| id |";
    Ok(if is_old(&page)? { page.replacen(table, &format!("{OLDER}{table}"), 1) } else { page })
}

/// Where the page of a key is, from the top folder.
pub(crate) fn path(key: &Key) -> String {
    format!("docs/evidence/{}.md", key.name)
}

/// The page of a key.
pub(super) fn render(key: &Key, outcomes: &[Outcome]) -> String {
    let mut page = format!(
        "# Evidence: {}\n\n{}\n\n\
         Written by `cargo xtask evidence {}` from raw output kept in `target/evidence/`. A\n\
         verdict is computed from that output whenever this page is written.\n",
        key.name, key.title, key.name
    );
    let machines: BTreeSet<&str> = kept(outcomes).map(|kept| kept.about.machine.as_str()).collect();
    for machine in machines {
        page.extend(["\nMeasured on: ", machine, ".\n"]);
    }
    page.extend(["\n", MODEL, &MODEL_VERSION.to_string(), ".\n"]);
    if kept(outcomes).any(|kept| kept.about.short) {
        page += "\n**Rows marked \"short\" come from the short form (`--short`).**\n";
    }
    page += "\n| id | what | figure | bar | holds | command | commit |\n";
    page += "|---|---|---:|---|---|---|---|\n";
    for outcome in outcomes {
        page += &rows(outcome);
    }
    let notes: Vec<String> = outcomes.iter().flat_map(notes).collect();
    if !notes.is_empty() {
        page += "\n## Notes\n\n";
        page += &notes.concat();
    }
    page
}

fn kept(outcomes: &[Outcome]) -> impl Iterator<Item = &Kept> {
    outcomes.iter().filter_map(|outcome| outcome.result.as_ref().ok()).map(|(kept, _)| kept)
}

fn rows(outcome: &Outcome) -> String {
    let claim = outcome.claim;
    match &outcome.result {
        Ok((kept, findings)) => findings.iter().map(|it| row(claim.id, kept, it)).collect(),
        Err(error) => {
            let error = escape(&format!("{error:#}"));
            let (title, bar) = (escape(claim.title), escape(claim.bar));
            format!("| {} | {title} | not measured | {bar} | **no** | {error} | |\n", claim.id)
        }
    }
}

fn row(id: &str, kept: &Kept, finding: &Finding) -> String {
    let mark = if kept.about.short { " (short)" } else { "" };
    let holds = if finding.holds() { "yes" } else { "**no**" };
    let figure = format!("{} {}", short(finding.figure), finding.unit);
    let bar = format!("{} {}", finding.bar, finding.unit);
    let cells = [
        format!("{id}{mark}"),
        escape(&finding.what),
        figure.trim().to_owned(),
        bar.trim().to_owned(),
        holds.to_owned(),
        format!("`{}`", escape(&finding.command)),
        kept.about.commit.clone(),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn notes(outcome: &Outcome) -> Vec<String> {
    let Ok((_, findings)) = &outcome.result else { return Vec::new() };
    let noted = findings.iter().filter(|finding| !finding.note.is_empty());
    let id = outcome.claim.id;
    noted.map(|finding| format!("- {id}, {}: {}\n", finding.what, finding.note)).collect()
}

/// A cell of a table: one line, its bars escaped.
pub(crate) fn escape(text: &str) -> String {
    text.replace('|', r"\|").replace('\n', " ")
}

#[cfg(test)]
mod tests;
