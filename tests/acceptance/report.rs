//! Claims about the report: one file drawn from the data of its records, interactive, small and
//! fast even with much data, and clear about incomplete records.

pub(super) mod checks;
mod fixtures;
pub(super) mod flaws;
pub(super) mod pictures;
pub(super) mod schemas;
pub(super) mod size;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Context, Raw};
use crate::browser_python;

/// Runs one of the programs in `tests/browser` that drive Chromium, as `name`.
fn drive(context: &Context<'_>, name: &str, program: &str, arguments: &[&str]) -> Result<()> {
    let python = browser_python().context("nothing drives Chromium: run `cargo xtask setup`")?;
    let python = python.to_str().context("the target folder has a name in UTF-8")?;
    let program = format!("tests/browser/{program}.py");
    let arguments = [&["-B", &program], arguments].concat();
    let mut command = context.repository().command(python, &arguments);
    context.capture_well(name, &mut command).map(drop)
}

/// What `look_report.py` printed, as `name`.
fn looked(raw: &Raw, name: &str) -> Result<Value> {
    raw.json(&raw.capture(name)?.output)
}

/// A number in it.
fn number(document: &Value, pointer: &str) -> Result<f64> {
    let found = document.pointer(pointer).with_context(|| format!("no {pointer}"))?;
    found.as_f64().with_context(|| format!("{pointer} is no number: {found}"))
}

/// A list in it.
fn list<'a>(document: &'a Value, key: &str) -> Result<&'a [Value]> {
    document[key].as_array().map(Vec::as_slice).with_context(|| format!("no list `{key}`"))
}

/// Texts of a list.
fn texts<'a>(document: &'a Value, key: &str) -> Result<Vec<&'a str>> {
    list(document, key)?.iter().map(|it| it.as_str().context("a text")).collect()
}
