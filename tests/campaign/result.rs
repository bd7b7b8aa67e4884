//! The committed result of a campaign: `docs/evidence/campaigns/ID.json` names its seed, commit and
//! sources, `ID.ndjson.gz` has a line for each attempt.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Sources;
use crate::Repository;
use crate::acceptance::{Bar, Capture, Finding};

/// Where results are committed.
const FOLDER: &str = "docs/evidence/campaigns";
/// The key of an attempt's number in its line.
const NUMBER: &str = "attempt";

/// What a campaign was run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its id.
    pub campaign: String,
    /// What its attempts were drawn from.
    pub seed: u64,
    /// How many attempts make it complete.
    pub attempts: u64,
    /// The commit that was checked out when it was begun.
    pub commit: String,
    /// Its subject.
    pub sources: Sources,
}

impl About {
    pub(super) fn new(
        id: &str,
        seed: u64,
        attempts: u64,
        (commit, sources): (String, Sources),
    ) -> Self {
        Self { campaign: id.to_owned(), seed, attempts, commit, sources }
    }
}

/// Lines of attempts, to be judged.
#[derive(Clone, Debug)]
pub struct Ledger {
    lines: Vec<Value>,
    /// How many attempts there are to be.
    attempts: u64,
    /// Whether they are all attempts of a campaign, not a sample.
    is_whole: bool,
    /// What printed them, and where they stand.
    capture: Capture,
}

impl Ledger {
    /// The lines of a campaign, complete or not.
    pub fn whole(about: &About, lines: Vec<Value>) -> Self {
        let command = format!("cargo xtask campaign {} --seed {}", about.campaign, about.seed);
        let output = format!("{}.ndjson", about.campaign);
        let capture = Capture {
            name: about.campaign.clone(),
            command,
            status: Some(0),
            elapsed_seconds: 0.0,
            errors: String::new(),
            output,
        };
        Self { lines, attempts: about.attempts, is_whole: true, capture }
    }

    /// Lines of a sample of `attempts`, and the program that printed them.
    pub fn sample(capture: &Capture, attempts: u64, lines: Vec<Value>) -> Self {
        Self { lines, attempts, is_whole: false, capture: capture.clone() }
    }

    /// The same lines as if they were a sample.
    #[cfg(test)]
    pub(super) fn into_sample(self) -> Self {
        Self { is_whole: false, ..self }
    }

    /// Whether these are the lines of a campaign, not of a sample: a bar on the number of attempts
    /// makes sense.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether there is a line for each attempt.
    pub fn is_complete(&self) -> bool {
        self.missing() == 0
    }

    /// The lines, parsed.
    pub fn outcomes<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let outcome =
            |line: &Value| T::deserialize(line).with_context(|| format!("read the attempt {line}"));
        self.lines.iter().map(outcome).collect()
    }

    /// A figure that these lines show.
    pub fn finding(&self, what: &str, figure: (f64, &'static str), bar: Bar) -> Finding {
        let of = if self.is_whole { "" } else { " (fresh sample)" };
        Finding::new(&format!("{what}{of}"), figure, bar, &self.capture)
    }

    /// How many attempts have no line.
    pub fn missing(&self) -> u64 {
        let numbers: BTreeSet<u64> =
            self.lines.iter().filter_map(number).filter(|number| *number < self.attempts).collect();
        self.attempts - numbers.len() as u64
    }
}

/// What came of an attempt, with its number.
pub(super) fn numbered(number: u64, mut outcome: Map<String, Value>) -> Map<String, Value> {
    outcome.insert(NUMBER.to_owned(), number.into());
    outcome
}

/// The number of the attempt that a line is of.
pub(super) fn number(line: &Value) -> Option<u64> {
    line.get(NUMBER)?.as_u64()
}

/// Lines of JSON.
pub fn parse(text: &str) -> Result<Vec<Value>> {
    text.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("read attempts")
}

/// Writes a complete campaign to where it is committed.
pub(super) fn store(
    repository: &Repository,
    about: &About,
    mut lines: Vec<Value>,
) -> Result<[PathBuf; 2]> {
    let (path, packed) = paths(repository.root(), &about.campaign);
    let folder = path.parent().expect("a result is in a folder");
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    lines.sort_by_key(number);
    let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    let write = || -> Result<()> {
        // No name and no time: the same lines give the same bytes.
        let file = File::create(&packed)?;
        let mut packer = GzBuilder::new().write(file, Compression::best());
        packer.write_all(text.as_bytes())?;
        packer.finish()?.sync_all()?;
        fs::write(&path, serde_json::to_string_pretty(about)? + "\n")?;
        Ok(())
    };
    write().with_context(|| format!("write {}", path.display()))?;
    Ok([path, packed])
}

/// The committed result of a campaign: its sources, and its lines as text.
pub fn load(repository: &Repository, id: &str) -> Result<(About, String)> {
    let (path, packed) = paths(repository.root(), id);
    let missing =
        || format!("read {}: run `cargo xtask campaign {id}`", repository.relative(&path));
    let about = fs::read_to_string(&path).with_context(missing)?;
    let about: About = serde_json::from_str(&about).with_context(missing)?;
    ensure!(about.campaign == id, "{} is the result of {}", path.display(), about.campaign);
    let mut text = String::new();
    let file = File::open(&packed).with_context(missing)?;
    GzDecoder::new(file).read_to_string(&mut text).with_context(missing)?;
    Ok((about, text))
}

fn paths(root: &Path, id: &str) -> (PathBuf, PathBuf) {
    let folder = root.join(FOLDER);
    (folder.join(format!("{id}.json")), folder.join(format!("{id}.ndjson.gz")))
}

#[cfg(test)]
mod tests;
