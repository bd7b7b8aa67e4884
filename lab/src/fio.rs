//! What fio prints as JSON.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// The only job, which has not failed.
pub(crate) fn only_job(printed: &str) -> Result<Value> {
    let mut jobs = jobs(printed)?;
    ensure!(jobs.len() == 1, "{} jobs", jobs.len());
    jobs.pop().context("no job")
}

/// All jobs, none of which has failed.
pub(crate) fn jobs(printed: &str) -> Result<Vec<Value>> {
    // Warnings come before the object.
    let start = printed.find('{').context("no JSON")?;
    let mut document: Value = serde_json::from_str(&printed[start..]).context("not JSON")?;
    let Value::Array(jobs) = document["jobs"].take() else { bail!("no jobs") };
    for job in &jobs {
        ensure!(number(job, "/error")? == 0.0, "a job failed");
    }
    Ok(jobs)
}

/// A number of a job.
pub(crate) fn number(job: &Value, pointer: &str) -> Result<f64> {
    let found = job.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("no `{pointer}`"))
}
