//! How large the project is, and that its names and modules are in order.

use anyhow::{Context as _, Result};

use crate::acceptance::{Bar, Context, Finding, Raw};

/// Lines of Rust outside of tests, comments included: of everything, and of `xtask`.
const LINES_MAX: [(&str, f64); 2] = [("all", 66_000.0), ("xtask", 12_000.0)];
const LINES: &str = "lines";
const TIDY: &str = "tidy";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let tidy =
        |more: &[&str]| context.repository().command("cargo", &[&["xtask", "tidy"], more].concat());
    context.capture_well(LINES, &mut tidy(&["--lines"]))?;
    context.capture(TIDY, &mut tidy(&[])).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture(LINES)?;
    let text = raw.text(&capture.output)?;
    let mut findings = Vec::new();
    for (name, most) in LINES_MAX {
        let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row.len() == 3 && row[0] == name);
        let row = row.with_context(|| format!("`cargo xtask tidy --lines` has no row `{name}`"))?;
        let lines: f64 = row[1].parse().context("lines are a number")?;
        let what = format!("lines of Rust outside of tests, {name}");
        findings.push(Finding::new(&what, (lines, ""), Bar::AtMost(most), &capture));
    }
    let tidy = raw.capture_itself(TIDY)?;
    let what = "exit code of `cargo xtask tidy`: no name of a public type twice, no circle of \
                modules beyond a folder";
    let status = (f64::from(tidy.status.unwrap_or(-1)), "");
    findings.push(Finding::new(what, status, Bar::Equals(0.0), &tidy));
    Ok(findings)
}

#[cfg(test)]
mod tests;
