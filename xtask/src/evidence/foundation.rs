//! Claims of the first issue: one command measures how long a deletion is noticed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::{Bar, Claim, Context, Finding, Key, Raw};

/// The key.
pub(super) const KEY: Key = Key {
    name: "foundation",
    title: "A first true measurement: the emulated SSD and a real directory under one command.",
    claims: &[CLEAN_CLONE],
};

const CLEAN_CLONE: Claim = Claim {
    id: "foundation.1",
    title: "A clean clone builds and runs at once",
    bar: "the first release build within 180 s on 2 cores, the first run within 20 s",
    short: Duration::from_secs(230),
    full: Duration::from_secs(600),
    measure: measure_clean_clone,
    read: read_clean_clone,
};

/// Clones the commit (nothing uncommitted comes along), builds it with build products of its own,
/// and runs it. Packages are fetched before the clock starts: the network is not ours to measure.
fn measure_clean_clone(context: &Context<'_>) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("trimbench-clone-").tempdir();
    let folder = folder.context("make a folder for the clone")?;
    let clone = folder.path().join("clone");
    context.alias(folder.path(), "$TMPDIR");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-hardlinks"]).arg(context.repository().root()).arg(&clone);
    context.capture_well("clone", &mut git)?;
    context.capture_well("commit", &mut within(&clone, "git", &["rev-parse", "HEAD"]))?;
    context.capture_well("fetch", &mut within(&clone, "cargo", &["fetch", "--locked"]))?;
    let build = ["build", "--release", "--locked"];
    context.capture_well("build", &mut within(&clone, "cargo", &build))?;
    let mut run = Command::new(clone.join("target/release/trimbench"));
    context.capture_well("run", run.arg("run").current_dir(&clone))?;
    Ok(())
}

fn within(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    // Else the clone would find the products of this checkout, and there were nothing to build.
    command.env_remove("CARGO_TARGET_DIR");
    command
}

fn read_clean_clone(raw: &Raw) -> Result<Vec<Finding>> {
    let commit = raw.text(&raw.capture("commit")?.output)?;
    let note = format!("a clone of commit {}", commit.trim().get(..12).context("no commit")?);
    let finding = |what: &str, name: &str, most: f64| -> Result<Finding> {
        let capture = raw.capture_itself(name)?;
        capture.expect_status(0)?;
        let figure = (capture.elapsed_seconds, "s");
        Ok(Finding::new(what, figure, Bar::AtMost(most), &capture).with_note(&note))
    };
    Ok(vec![
        finding("first release build of a clean clone", "build", 180.0)?,
        finding("`trimbench run` with nothing else", "run", 20.0)?,
    ])
}

#[cfg(test)]
mod tests;
