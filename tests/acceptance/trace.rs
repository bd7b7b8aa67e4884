//! Claims about traces: a replay of the size of JEDEC's master trace within a minute, what \[S4\]
//! saw of two drives, the fairness of a replay, reading and writing of formats with their speed,
//! and recording.

pub(super) mod counts;
pub(super) mod drives;
pub(super) mod fairness;
mod input;
pub(super) mod master;
pub(super) mod recorded;
mod recorder;
pub(super) mod speed;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::runs::Run;

/// Write IOPS of each window of a pass.
fn windows(run: &Run, pass: &str) -> Result<Vec<f64>> {
    let curve = run.step(pass)?.series.get("iops-window");
    let curve = curve.with_context(|| format!("`{pass}` has no windows"))?;
    let rates: Option<Vec<f64>> = curve.y.iter().copied().collect();
    rates.with_context(|| format!("a window of `{pass}` has no rate"))
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
