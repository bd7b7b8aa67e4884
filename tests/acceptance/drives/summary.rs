//! Claim `drives.6`: the README's summary of named drives, the page of one and the ledger say what
//! a run finds.

use std::fs;

use anyhow::{Context as _, Result};

use super::SHORT;
use super::trim::Discards;
use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// Where the predicted discards of the drive stand, and the name of each in the raw output.
const PLACES: [(&str, &str); 2] =
    [("README.md", "README.md"), ("docs/drives/micron-7450-max-800.md", "page.md")];
const KEPT: &str = "row.csv";
/// Intervals that are run: nearly always one of so many has no tail, and then the least is that of
/// all.
const INTERVALS: usize = 10;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let root = context.repository().root();
    for (path, kept) in PLACES {
        let text = fs::read(root.join(path)).with_context(|| format!("read {path}"))?;
        fs::write(context.folder().join(kept), text).with_context(|| format!("keep {path}"))?;
    }
    let row = super::trim::predicted(context, SHORT)?.shortened_to(INTERVALS);
    fs::write(context.folder().join(KEPT), row.line()).context("keep the row")?;
    row.run(context)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let row = Discards::read(raw.text(KEPT)?.trim())?;
    let [least, _] = row.findings(raw)?;
    let said = &least.note;
    let finding = |(path, kept): (&str, &str)| {
        let text = raw.text(kept)?;
        let lines = text.lines().filter(|line| line.contains(said)).count();
        let what = format!("lines of {path} with the predicted discard as it was run");
        let finding =
            Finding::new(&what, (lines as f64, ""), Bar::AtLeast(1.0), &raw.capture(&row.name())?);
        anyhow::Ok(finding.from_file(kept).with_note(said))
    };
    let mut findings = PLACES.into_iter().map(finding).collect::<Result<Vec<_>>>()?;
    findings.push(least);
    Ok(findings)
}
