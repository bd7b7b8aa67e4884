//! Records equal those of the program before the redesign.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use toml::Table;

use super::planted::{PlantedFault, plant};
use crate::Repository;
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::tree::Tree;

/// Everything that there is to compare, at least.
const COMPARED: f64 = 100.0;
/// The case of the short form, which is also the one that must notice what is planted.
const CASE: &str = "sessions";
/// The comparison itself, as a name of a capture.
const NOW: &str = "now";

/// What is meant to be different from the records of one commit, its `base`.
const REVIEWED: &str = "xtask/src/compare_records/reviewed.toml";

/// What came of comparing one thing: a line of `cargo xtask compare-records --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The case, and which of its runs.
    pub what: String,
    /// How much was equal.
    pub bytes: usize,
    /// What is not the same, and not meant to be different.
    pub differences: Vec<String>,
    /// The rows of the reviewed table that it needed.
    pub rows: BTreeSet<usize>,
}

/// One in the drive, one in a method, one in a statistic: each as small as can be.
const PLANTED: [(&str, PlantedFault); 3] = [
    (
        "drive",
        PlantedFault {
            file: "crates/trimbench-ssd/src/nand.rs",
            from: "program: nand.program, transfer };",
            to: "program: Nanos(nand.program.0 + 1), transfer };",
        },
    ),
    (
        "method",
        PlantedFault {
            file: "crates/trimbench-methods/src/delete_stall/session.rs",
            from: "let end = *deleted_at + self.window;",
            to: "let end = *deleted_at + self.window + Nanos(1);",
        },
    ),
    (
        "statistic",
        PlantedFault {
            file: "crates/trimbench-results/src/statistics.rs",
            from: "let part = position - below as f64;",
            to: "let part = (position - below as f64).round();",
        },
    ),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let repository = context.repository();
    let base = &base(repository)?;
    let compare = ["xtask", "compare-records", base, "--json"];
    let of_case = ["--case", CASE];
    let mut now = repository.command("cargo", &compare);
    if context.is_short() {
        now.args(of_case);
        return context.capture(NOW, &mut now).map(drop);
    }
    context.capture(NOW, &mut now)?;
    let mut tree = Tree::of_head(repository, &repository.target().join("planted"))?;
    for (name, fault) in &PLANTED {
        plant(&mut tree, [fault])?;
        let program = tree.build(Some(context.deadline()))?;
        let mut command = repository.command("cargo", &compare);
        command.args(of_case).arg("--program").arg(program);
        context.capture(name, &mut command)?;
    }
    Ok(())
}

/// The commit before the issue.
pub(super) fn base(repository: &Repository) -> Result<String> {
    let reviewed = fs::read_to_string(repository.root().join(REVIEWED)).context(REVIEWED)?;
    let reviewed: Table = reviewed.parse().context(REVIEWED)?;
    let base = reviewed["base"].as_str().with_context(|| format!("{REVIEWED} names no base"))?;
    repository.commit(base)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (now, compared) = comparisons(raw, NOW)?;
    let different: Vec<&str> = different(&compared).collect();
    let rows: usize = compared.iter().map(|one| one.rows.len()).sum();
    let count = (compared.len() as f64, "");
    let is_whole = compared.iter().any(|one| !one.what.starts_with(CASE));
    let bar = Bar::AtLeast(if is_whole { COMPARED } else { 1.0 });
    let mut findings = vec![
        Finding::new("comparisons", count, bar, &now).with_note(&format!("{rows} uses of rows")),
        Finding::new(
            "comparisons that differ beyond what was reviewed",
            (different.len() as f64, ""),
            Bar::Equals(0.0),
            &now,
        )
        .with_note(&different.join("; ")),
        Finding::new(
            "exit code, which tells rows that nothing needs, too",
            (f64::from(now.status.unwrap_or(-1)), ""),
            Bar::Equals(0.0),
            &raw.capture_itself(NOW)?,
        ),
    ];
    if is_whole {
        for (name, _) in &PLANTED {
            let (capture, compared) = comparisons(raw, name)?;
            let noticed = self::different(&compared).count() as f64;
            let what = format!("comparisons that notice what is planted in the {name}");
            findings.push(Finding::new(&what, (noticed, ""), Bar::AtLeast(1.0), &capture));
        }
    }
    Ok(findings)
}

fn different(compared: &[Compared]) -> impl Iterator<Item = &str> {
    compared.iter().filter(|one| !one.differences.is_empty()).map(|one| one.what.as_str())
}

fn comparisons(raw: &Raw, name: &str) -> Result<(Capture, Vec<Compared>)> {
    let capture = raw.capture(name)?;
    let text = raw.text(&capture.output)?;
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let compared: Vec<Compared> = lines
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .with_context(|| format!("read the comparisons of {name}"))?;
    ensure!(!compared.is_empty(), "nothing was compared in {name}");
    Ok((capture, compared))
}

#[cfg(test)]
mod tests;
