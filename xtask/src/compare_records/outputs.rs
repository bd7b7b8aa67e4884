//! Outputs besides the record: dry runs, NDJSON, reports, CSV and pages.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use trimbench_results::RunRecord;

use super::{Case, Comparison, SEEDS, Side, into, read};
use crate::process;

/// What is made of a record, by arguments of `trimbench report`.
const REPORTS: [(&str, &[&str]); 4] = [
    ("report", &[]),
    ("lines", &["--output-format", "ndjson"]),
    ("tables", &["--csv", "csv"]),
    ("page", &["--html", "page.html"]),
];

/// What stands for every commit.
const COMMIT: &str = "COMMIT";

/// Makes all of it of the run of a case in `folder`.
pub(super) fn make(side: &Side, case: &Case, folder: &Path) -> Result<()> {
    let record = read(&folder.join("run"))?;
    let commit = RunRecord::from_json(&record)?.program.commit;
    let anonymous = |from: &str, to: &str| -> Result<()> {
        let text = fs::read_to_string(folder.join(from)).with_context(|| format!("read {from}"))?;
        let text = text.replace(&commit, COMMIT);
        fs::write(folder.join(to), text).with_context(|| format!("write {to}"))
    };
    fs::create_dir_all(folder.join("shown")).context("make a folder for a record")?;
    anonymous("run/run.json", "shown/run.json")?;
    anonymous("printed.err", "printed.err")?;
    let mut dry_run = Command::new(&side.program);
    dry_run.arg("run").args(case.words()).arg("--dry-run");
    into(&mut dry_run, folder, "dry-run")?;
    process::run(&mut dry_run, None)?;
    for (name, arguments) in REPORTS {
        let mut report = Command::new(&side.program);
        report.args(["report", "shown"]).args(arguments);
        into(&mut report, folder, name)?;
        process::run(&mut report, None)?;
    }
    Ok(())
}

/// Writes what is different into `file`; how many lines that are.
pub(super) fn compare(comparison: &Comparison, cases: &[&Case], file: &Path) -> Result<usize> {
    let mut text = String::new();
    for case in cases {
        let name = format!("{}-{}", case.name, SEEDS[0]);
        let mut diff = Command::new("diff");
        diff.args(["--recursive", "--unified=0", "--text", "--new-file"]);
        // The records are compared by their content.
        diff.args(["--exclude=run", "--exclude=shown", "--exclude=arguments", "--exclude=*.trace"]);
        diff.args([comparison.before.folder.join(&name), comparison.now.folder.join(&name)]);
        let output = diff.output().context("run diff")?;
        text += &String::from_utf8_lossy(&output.stdout);
    }
    fs::write(file, &text).with_context(|| format!("write {}", file.display()))?;
    let is_change = |line: &&str| {
        line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
    };
    Ok(text.lines().filter(is_change).count())
}
