//! Claims of the second issue: block devices and emulated drives, and nobody's data lost.

mod arrival;
mod discards;
mod drives;
mod endings;
mod integrity;
mod loops;
mod peer;
mod refusals;
mod steady;
mod trace;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use trimbench_results::{RunRecord, Session, Step};

use super::{Context, Key, Raw};

pub(in crate::evidence) use loops::LoopImage;
pub use steady::print_series;

/// The key.
pub(super) const KEY: Key = Key {
    name: "device",
    title: "Real block devices, safely: sweep, idle TRIM, recovery, integrity, steady state.",
    claims: &[
        drives::CLAIM,
        arrival::CLAIM,
        peer::CLAIM,
        refusals::CLAIM,
        discards::CLAIM,
        steady::CLAIM,
        endings::CLAIM,
    ],
};

/// Every method: what a claim says of "each method" is said of these.
const METHODS: [&str; 6] =
    ["delete-stall", "trim-sweep", "idle-trim", "recovery", "steady-state", "trim-integrity"];

/// A method on a target, with these options.
fn run(
    context: &Context<'_>,
    method: &str,
    target: impl AsRef<OsStr>,
    options: &[&str],
) -> Result<Command> {
    let mut command = context.trimbench(&["run", method, "--target"])?;
    command.arg(target);
    for option in options {
        command.args(["--set", option]);
    }
    Ok(command)
}

/// The same with its record in a folder of the raw output.
pub(super) fn run_into(
    context: &Context<'_>,
    output: &str,
    method: &str,
    (target, options): (&str, &[&str]),
) -> Result<Command> {
    let mut command = run(context, method, target, options)?;
    command.arg("--output").arg(context.folder().join(output));
    Ok(command)
}

/// The only session of a record.
pub(super) fn only_session(raw: &Raw, file: &str) -> Result<Session> {
    let mut sessions = raw.record(file)?.sessions;
    ensure!(sessions.len() == 1, "{file} holds {} sessions, not 1", sessions.len());
    sessions.pop().context("no session")
}

/// A metric of a step.
pub(super) fn metric(step: &Step, key: &str) -> Result<f64> {
    step.metrics.get(key).copied().with_context(|| format!("`{}` has no {key}", step.id))
}

/// A parameter of a step.
pub(super) fn parameter(step: &Step, key: &str) -> Result<f64> {
    step.parameters.get(key).copied().with_context(|| format!("`{}` has no {key}", step.id))
}

/// A step of a session.
fn step<'a>(session: &'a Session, id: &str) -> Result<&'a Step> {
    let found = session.steps.iter().find(|step| step.id == id);
    found.with_context(|| format!("{} has no step `{id}`", session.plan.method))
}

/// Steps that a run has kept so far; 0 while there is no record.
fn steps_kept(record: &Path) -> usize {
    let record = std::fs::read(record).ok().and_then(|json| RunRecord::from_json(&json).ok());
    record.map_or(0, |it| it.sessions.iter().map(|session| session.steps.len()).sum())
}
