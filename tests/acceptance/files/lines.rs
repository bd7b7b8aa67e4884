//! Terse lines of PostMark: printed as version 1.51 prints them, and read with the correct deletion
//! rate.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Set, terse_line};
use crate::acceptance::{Bar, Context, Finding, Raw};

const DEFAULTS: Set = Set { name: "defaults", options: &[] };
/// The published table: drive, buffering, metric, value without and with discard.
const PUBLISHED: &str =
    include_str!("../../../crates/trimbench-methods/src/postmark/published.csv");
const COLUMNS: usize = 24;
/// What is looked for: vendor2, buffered, with discard.
const VENDOR2: f64 = 971.77;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    // In memory, where no phase takes a second.
    let directory = context.memory_folder()?;
    context.capture_well("peer", &mut DEFAULTS.peer(context, directory.path())?)?;
    let mut ours = DEFAULTS.ours(context, directory.path(), 1)?;
    ours.arg("--output").arg(context.folder().join("run"));
    context.capture("run", &mut ours)?;
    let mut compat = context.trimbench(&["report", "--compat", "1.51"])?;
    compat.arg(context.folder().join("run"));
    context.capture("compat", &mut compat)?;
    let lines = context.folder().join("published.txt");
    fs::write(&lines, published_lines()).context("write the published columns as lines")?;
    let mut import = context.trimbench(&["import", "postmark", "--number", "50000"])?;
    import.args(["--output-format", "json"]).arg(lines);
    context.capture_well("import", &mut import).map(|_| ())
}

/// The columns of the published table as terse lines.
fn published_lines() -> String {
    let rows: Vec<Vec<&str>> =
        PUBLISHED.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let mut lines = String::new();
    // Drives stand one after the other; in each, a row for each metric and buffering.
    for drive in rows.chunks(26) {
        for (buffering, column) in [("true", 3), ("true", 4), ("false", 3), ("false", 4)] {
            let of_it = drive.iter().filter(|row| row[1] == buffering);
            let values: Vec<&str> = of_it.map(|row| row[column]).collect();
            let _ = writeln!(lines, "{}", values.join(" "));
        }
    }
    lines
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (peer, compat) = (raw.capture("peer")?, raw.capture("compat")?);
    let (theirs, ours) = (raw.text(&peer.output)?, raw.text(&compat.output)?);
    let (theirs, ours) = (terse_line(&theirs)?, terse_line(&ours)?);
    let pairs = theirs.split_whitespace().zip(ours.split_whitespace());
    let same = pairs.filter(|(theirs, ours)| theirs == ours).count();
    let what = "fields of the terse line equal to Debian's, of 13";
    let lines = Finding::new(what, (same as f64, ""), Bar::Equals(13.0), &compat)
        .with_note(&format!("ours: {ours}"));

    let import = raw.capture("import")?;
    let imported = raw.json(&import.output)?;
    let imported = imported.as_array().context("the import is no list")?;
    let old = imported.iter().filter(|it| it["old_formula"] == true).count();
    let what = "published columns that carry the old formula";
    let all = Finding::new(what, (old as f64, ""), Bar::Equals(COLUMNS as f64), &import);
    let is_vendor2 = |it: &&Value| it["printed"]["Deletion_alone/s"].as_f64() == Some(VENDOR2);
    let vendor2 = imported.iter().find(is_vendor2).context("vendor2 was not imported")?;
    let rate = vendor2["deletion_alone_per_s"].as_f64().context("vendor2 has no true rate")?;
    let what = "true deletion rate of vendor2, buffered, with discard";
    let rate = Finding::new(what, (rate, "1/s"), Bar::Within(506.5, 507.5), &import)
        .with_note("the table says 971.77");
    Ok(vec![lines, all, rate])
}

#[cfg(test)]
mod tests;
