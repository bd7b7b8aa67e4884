//! Claims about named drives: what of their published figures the emulated ones reproduce.
//!
//! The figures are tables in `docs/drives`: a line of names, then a row a line, the drive first.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use trimbench_results::Step;

use super::{Context, Form, Raw};

pub(super) mod courses;
pub(super) mod latency;
pub(super) mod reviews;
pub(super) mod speed;
pub(super) mod summary;
pub(super) mod trim;
pub(super) mod zones;

/// The drive of the short forms.
const SHORT: &str = "micron-7450-max-800";

/// A table of the repository.
fn table(context: &Context<'_>, path: &str) -> Result<String> {
    let path = context.repository().root().join(path);
    fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

/// The same, and keeps it with the raw output, so that it is judged by what it was then.
fn keep_table(context: &Context<'_>, path: &str, kept: &str) -> Result<String> {
    let text = table(context, path)?;
    fs::write(context.folder().join(kept), &text).context("keep the figures")?;
    Ok(text)
}

/// The rows of the drives that a form runs, in their order.
fn rows<T>(text: &str, form: Form, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let wanted = |line: &&str| form == Form::Full || line.split(',').next() == Some(SHORT);
    text.lines().skip(1).filter(wanted).map(read).collect()
}

/// A number of a row that some rows lack.
fn optional_number(text: &str) -> Result<Option<f64>> {
    let number = || text.parse::<f64>().with_context(|| format!("`{text}`"));
    (!text.is_empty()).then(number).transpose()
}

/// The rounds of one of our runs, of which there must be so many.
fn rounds(raw: &Raw, name: &str, count: usize) -> Result<Vec<Step>> {
    let record = raw.record(&format!("{name}/run.json"))?;
    let session = record.sessions.into_iter().next().context("no session")?;
    let steps = session.steps.into_iter().filter(|step| step.metric("iops").is_some());
    let steps: Vec<Step> = steps.collect();
    ensure!(steps.len() == count, "{name}: {} rounds", steps.len());
    Ok(steps)
}
