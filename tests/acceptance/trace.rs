//! Claims of the issue on traces: the size of JEDEC's master trace in a minute, what \[S4\] saw of
//! two drives, the fairness of a replay; what is read and written, and how fast; what is recorded.

mod counts;
mod drives;
mod fairness;
mod input;
mod master;
mod recorded;
mod recorder;
mod speed;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use trimbench_results::Session;

use super::Key;
use super::runs::{self, step};

/// The key.
pub(super) const KEY: Key = Key {
    name: "trace",
    title: "Traces: replayed with and without their TRIMs, fast and fairly.",
    claims: &[
        master::CLAIM,
        drives::CLAIM,
        fairness::CLAIM,
        counts::CLAIM,
        speed::CLAIM,
        recorded::CLAIM,
    ],
};

/// What was measured in a step.
fn metric(session: &Session, id: &str, key: &str) -> Result<f64> {
    runs::metric(step(session, id)?, key)
}

/// Write IOPS of each window of a pass.
fn windows(session: &Session, id: &str) -> Result<Vec<f64>> {
    let curve = step(session, id)?.series.get("iops-window");
    let curve = curve.with_context(|| format!("`{id}` has no windows"))?;
    let rates: Option<Vec<f64>> = curve.y.iter().copied().collect();
    rates.with_context(|| format!("a window of `{id}` has no rate"))
}

/// Pairs of windows of two passes of one trace.
fn pairs(first: &[f64], second: &[f64]) -> Result<Vec<(f64, f64)>> {
    ensure!(first.len() == second.len(), "{} and {} windows", first.len(), second.len());
    ensure!(first.len() >= 100, "{} windows are too few", first.len());
    Ok(first.iter().copied().zip(second.iter().copied()).collect())
}

/// Waits: what the claim looks at goes by the wall's clock.
#[expect(clippy::disallowed_methods, reason = "stalls and the kernel's discards go by that clock")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}
