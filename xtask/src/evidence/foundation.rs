//! Claims of the first issue: one command measures how long a deletion is noticed.

mod arithmetic;
mod checkout;
mod clean_clone;
mod determinism;
mod directory;
mod loops;
mod noise;
mod speed;
mod suite;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use trimbench_results::{Figure, Session, Step};

use super::{Context, Key};

pub(super) use directory::on_root_filesystem;

/// The key.
pub(super) const KEY: Key = Key {
    name: "foundation",
    title: "A first true measurement: the emulated SSD and a real directory under one command.",
    claims: &[
        clean_clone::CLAIM,
        determinism::CLAIM,
        directory::CLAIM,
        arithmetic::CLAIM,
        noise::CLAIM,
        speed::CLAIM,
        suite::CLAIM,
    ],
};

/// The method on a target, with these options.
fn delete_stall(
    context: &Context<'_>,
    target: impl AsRef<OsStr>,
    options: &[&str],
) -> Result<Command> {
    let mut command = context.trimbench(&["run", "delete-stall", "--target"])?;
    command.arg(target);
    for option in options {
        command.args(["--set", option]);
    }
    Ok(command)
}

/// A folder in memory for the record of a run on a real disk. The record is rewritten after each
/// trial, and the space that this frees would be discarded beside the next one.
pub(super) fn memory_folder(context: &Context<'_>) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("trimbench-evidence-").tempdir_in("/dev/shm");
    let folder = folder.context("make a folder in /dev/shm")?;
    context.alias(folder.path(), "$MEMORY");
    Ok(folder)
}

/// A figure of a session.
fn figure_of<'a>(session: &'a Session, id: &str) -> Result<&'a Figure> {
    session.figure(id).with_context(|| format!("{} has no figure `{id}`", session.target.name))
}

/// What of a deletion's freed bytes was discarded before its window closed.
fn discarded_share(step: &Step) -> Result<f64> {
    let of = |map: &BTreeMap<String, f64>, key: &str| {
        map.get(key).copied().with_context(|| format!("{} has no {key}", step.id))
    };
    Ok(of(&step.metrics, "discarded_bytes_window")? / of(&step.parameters, "size_bytes")?)
}
