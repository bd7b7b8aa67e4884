//! What fio prints as JSON.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The only job, which has not failed.
pub(crate) fn only_job(printed: &str) -> Result<Value> {
    // Warnings come before the object.
    let start = printed.find('{').context("no JSON")?;
    let mut document: Value = serde_json::from_str(&printed[start..]).context("not JSON")?;
    let job = document["jobs"][0].take();
    ensure!(number(&job, "/error")? == 0.0, "the job failed");
    Ok(job)
}

/// A number of a job.
pub(crate) fn number(job: &Value, pointer: &str) -> Result<f64> {
    let found = job.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("no `{pointer}`"))
}
