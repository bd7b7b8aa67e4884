//! One report of records from two hosts in three formats: the first one, the current one, and a
//! future one.

use std::fs;

use anyhow::{Context as _, Result};
use trimbench_results::SCHEMA;

use super::fixtures::{FUTURE, of_the_future};
use super::{drive, fixtures, list, looked, number, texts};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// A record as schema 1 was written.
const FIRST: &str = "crates/trimbench-results/src/record/golden/schema-1.json";
/// The host that it is said to be of.
const HOST: &str = "Another processor";
/// How the records are called.
const NAMES: [&str; 3] = ["first", "today", "to-come"];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let today = fixtures::on_drives(context, "today", &["idle-trim", "recovery"], &["vendor2"])?;
    let first = fs::read(context.repository().root().join(FIRST)).context("read the record")?;
    let first = fixtures::written(&context.folder().join("first"), &first)?;
    let host = serde_json::json!({
        "command": ["trimbench", "run"],
        "started_unix_s": 1_600_000_000.0,
        "ended_unix_s": 1_600_000_060.0,
        "debug_build": false,
        "environment": { "cpu-model": HOST, "kernel": "Linux 5.10.0" },
    });
    fs::write(first.join("host.json"), host.to_string()).context("write a host")?;
    let to_come = context.folder().join("to-come");
    let to_come = fixtures::changed(&today, &to_come, of_the_future)?;
    fs::copy(today.join("host.json"), to_come.join("host.json")).context("copy a host")?;
    let runs = [first, today, to_come];
    let (page, _) = fixtures::page(context, "page", &runs, context.folder())?;
    drive(context, "look", "look_report", &[&page.display().to_string()])
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("look")?;
    let document = looked(raw, "look")?;
    let records = document["records"].as_str().context("the header names the records")?;
    let named = NAMES.iter().filter(|name| records.contains(&format!("{name}:"))).count();
    let host = records.matches(HOST).count();
    let messages = texts(&document, "messages")?;
    let to_come = format!("format {FUTURE}");
    let about = |name: &str| -> Vec<&str> {
        let name = format!("{name}:");
        messages.iter().copied().filter(|it| it.starts_with(&name)).collect()
    };
    let said: Vec<&str> = about("to-come").into_iter().filter(|it| it.contains(&to_come)).collect();
    let ended = about("first");
    let failed = ended.iter().filter(|it| it.contains("failed: ")).count();
    let verdicts = document["verdicts"].as_object().context("no verdicts")?;
    let of = |what: &str, count: usize, bar| Finding::new(what, (count as f64, ""), bar, &capture);
    let schemas = format!("schemas 1, {SCHEMA} and {FUTURE}");
    let charts = number(&document, "/charts")?;
    Ok(vec![
        of("records named", named, Bar::Equals(3.0)).with_note(&schemas),
        of("records that name the other host", host, Bar::Equals(1.0)),
        of("verdicts", verdicts.len(), Bar::AtLeast(3.0)),
        Finding::new("charts", (charts, ""), Bar::AtLeast(5.0), &capture),
        of("messages on the record to come", said.len(), Bar::AtLeast(1.0))
            .with_note(&said.join("; ")),
        of("messages on the first, which failed", failed, Bar::Equals(1.0))
            .with_note(&ended.join("; ")),
        of("messages on today's", about("today").len(), Bar::Equals(0.0)),
        of("complaints", list(&document, "complaints")?.len(), Bar::Equals(0.0)),
    ])
}

#[cfg(test)]
mod tests;
