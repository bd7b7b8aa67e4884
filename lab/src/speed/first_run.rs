//! What a newcomer waits for: the first build of a clean clone, and its first run.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(super) const ENTRY: Entry = Entry {
    name: "first_run",
    title: "The first release build of a clean clone on two processors, and the first run",
    needs: &[],
    sources: &["Cargo.lock", "Cargo.toml", "crates", "profiles"],
    run,
};

/// Packages are fetched before the clock starts: the network is not ours to measure. That the run
/// puts the drives in the order of the sources is a test of the command line.
fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir().context("make a folder for the clone")?;
    let clone = folder.path().join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-hardlinks"]).arg(lab.repository().root()).arg(&clone);
    lab.call_well(&mut git)?;
    let timed = |arguments: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.args(arguments).current_dir(&clone);
        // Else it would find the products of this checkout, and there were nothing to build.
        cargo.env_remove("CARGO_TARGET_DIR");
        anyhow::Ok(lab.call_well(&mut cargo)?.seconds)
    };
    timed(&["fetch", "--locked"])?;
    let build = timed(&["build", "--release", "--locked"])?;
    let run = timed(&["run", "--release", "--", "run", "delete-stall"])?;
    let runs = fs::read_dir(clone.join("trimbench-runs")).context("list the runs")?.count();
    Ok(vec![
        Figure::new("first release build", (build, "s"), Bar::AtMost(180.0)),
        Figure::new("`trimbench run delete-stall`", (run, "s"), Bar::AtMost(20.0)),
        Figure::new("runs that were kept", (runs as f64, ""), Bar::Equals(1.0)),
    ])
}
