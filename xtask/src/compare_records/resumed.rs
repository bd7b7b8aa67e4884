//! Runs that are killed and resumed: they must give the same result as an uninterrupted run.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Case, Compared, Comparison, SEEDS, into};
use crate::process::{self, Signal};

/// A run is killed when it has printed so many quarters of its lines.
const QUARTERS: [usize; 3] = [1, 2, 3];

/// Kills today's program at each point of a case, resumes it, and compares with its whole run.
pub(super) fn compare(comparison: &Comparison, case: &Case) -> Result<Vec<Compared>> {
    let now = &comparison.now;
    let seed = SEEDS[0].to_string();
    let whole = now.folder.join(format!("{}-{seed}", case.name));
    let count = lines(&whole);
    let mut compared = Vec::new();
    for quarter in QUARTERS {
        let folder = now.folder.join(format!("{}-killed-{quarter}", case.name));
        comparison.prepare(case, &folder)?;
        let mut command =
            now.command(case, &folder, &["--seed", &seed, "--output-format", "ndjson"])?;
        process::run_signalled(&mut command, None, Signal::KILL, || {
            lines(&folder) >= quarter * count / 4
        })?;
        let mut resume = Command::new(&now.program);
        resume.args(["run", "--resume", "run", "--no-report"]);
        into(&mut resume, &folder, "resumed")?;
        let ended = process::run(&mut resume, None)?;
        let what = format!("{}, killed at {quarter}/4 and resumed", case.name);
        let mut one = comparison.records(case, what, &whole.join("run"), &folder.join("run"))?;
        let wanted = fs::read_to_string(whole.join("exit")).context("read an exit code")?;
        let code = ended.status.and_then(|status| status.code());
        if code.is_none_or(|code| code.to_string() != wanted) {
            one.differences.push(format!("exit code {wanted}, resumed it {}", ended.describe()));
        }
        compared.push(one);
    }
    Ok(compared)
}

/// How many lines a run has printed so far.
fn lines(folder: &Path) -> usize {
    let printed = fs::read_to_string(folder.join("printed.out")).unwrap_or_default();
    printed.lines().count()
}
