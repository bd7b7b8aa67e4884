//! What was measured last of each entry: `lab/results/SUBJECT.json`, which is in git.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use xtask::Repository;

use crate::entry::{Entry, Subject};
use crate::figure::Figure;

/// The results of a subject, by the entry's name.
pub(crate) type Results = BTreeMap<String, Measured>;

/// What an entry came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Whether less than the full form was measured.
    pub(crate) is_short: bool,
    /// The commit, and whether the checkout differed from it.
    pub(crate) commit: String,
    /// The day, UTC.
    pub(crate) date: String,
    /// Where: kernel and processors.
    pub(crate) machine: String,
    /// Of the content of what the figures speak of: [`sources_hash`].
    pub(crate) sources: String,
    /// How long it took, s.
    pub(crate) seconds: u64,
    /// The figures.
    pub(crate) figures: Vec<Figure>,
}

/// Where the results of a subject are.
pub(crate) fn path(repository: &Repository, subject: &Subject) -> PathBuf {
    repository.root().join("lab/results").join(subject.name).with_extension("json")
}

/// The results of a subject; none where there is no file.
pub(crate) fn read(repository: &Repository, subject: &Subject) -> Result<Results> {
    let path = path(repository, subject);
    if !path.exists() {
        return Ok(Results::new());
    }
    let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("read {}", path.display()))
}

/// Keeps what an entry came to. A short form does not replace a full one, however old.
/// Entries that are no more are dropped.
pub(crate) fn keep(
    repository: &Repository,
    subject: &Subject,
    entry: &Entry,
    measured: Measured,
) -> Result<()> {
    let mut results = read(repository, subject)?;
    results.retain(|name, _| subject.entries.iter().any(|entry| entry.name == name));
    let is_full = results.get(entry.name).is_some_and(|kept| !kept.is_short);
    if !(is_full && measured.is_short) {
        results.insert(entry.name.to_owned(), measured);
    }
    let path = path(repository, subject);
    let folder = path.parent().expect("results are in a folder");
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let mut text = serde_json::to_string_pretty(&results).context("write results as JSON")?;
    text.push('\n');
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// A hash of the content of an entry's sources: of what git knows of them, tests and documents left
/// out.
pub(crate) fn sources_hash(
    repository: &Repository,
    subject: &Subject,
    entry: &Entry,
) -> Result<String> {
    let (subject, entry_name) = (subject.name, entry.name);
    let own = format!("lab/src/{subject}/{entry_name}");
    let is_of = |file: &str| {
        let of = |source: &str| {
            file.strip_prefix(source)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        };
        (of(&own) || entry.sources.iter().any(|source| of(source))) && is_product(file)
    };
    let files: Vec<String> = repository.files()?.into_iter().filter(|it| is_of(it)).collect();
    repository.hash_of(&files)
}

fn is_product(file: &str) -> bool {
    let is_test =
        |part: &str| matches!(part, "tests" | "testing" | "tests.rs" | "testing.rs" | "benches");
    let ends = |end: &str| file.ends_with(end);
    [".rs", ".toml", ".c", ".py", ".csv"].into_iter().any(ends) && !file.split('/').any(is_test)
}
