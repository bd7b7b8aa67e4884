//! The journal of a campaign in `target/campaign/ID/SEED-SOURCES.ndjson`: one line an attempt, in
//! the order in which attempts end; and beside it the sources that it is run on.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use super::result::{self, About};

/// A journal that is open for more lines.
#[derive(Debug)]
pub(super) struct Journal {
    about: About,
    path: PathBuf,
    file: File,
    /// Whether each attempt is made.
    made: Vec<bool>,
}

impl Journal {
    /// The journal of this campaign on these sources, with what it already holds; a new one
    /// otherwise. A line that was cut off is dropped.
    pub(super) fn open(folder: &Path, about: &About) -> Result<Self> {
        let stem = format!("{}-{}-{}", about.seed, about.sources.digest(), about.attempts);
        let path = folder.join(format!("{stem}.ndjson"));
        let beside = folder.join(format!("{stem}.json"));
        let failed = || format!("open {}", path.display());
        let begun = fs::read_to_string(&beside).ok();
        let begun = begun.and_then(|text| serde_json::from_str::<About>(&text).ok());
        let about = begun.unwrap_or_else(|| about.clone());
        let text = serde_json::to_string(&about).context("write what a campaign is run on")?;
        fs::write(&beside, text).with_context(failed)?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(failed)?;
        let text = fs::read_to_string(&path).with_context(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).with_context(failed)?;
        let mut made =
            vec![false; usize::try_from(about.attempts).expect("attempts are countable")];
        for line in result::parse(&text[..whole]).with_context(failed)? {
            let number = result::number(&line).and_then(|number| usize::try_from(number).ok());
            if let Some(made) = number.and_then(|number| made.get_mut(number)) {
                *made = true;
            }
        }
        Ok(Self { about, path, file, made })
    }

    /// The sources that it runs on, with the commit on which it began.
    pub(super) fn about(&self) -> &About {
        &self.about
    }

    /// How many attempts are made.
    pub(super) fn len(&self) -> usize {
        self.made.iter().filter(|made| **made).count()
    }

    /// The numbers of the attempts that are not made.
    pub(super) fn missing(&self) -> Vec<u64> {
        (0..).zip(&self.made).filter(|(_, made)| !**made).map(|(number, _)| number).collect()
    }

    /// Adds what came of an attempt.
    pub(super) fn append(&mut self, number: u64, outcome: Map<String, Value>) -> Result<()> {
        let line = Value::Object(result::numbered(number, outcome)).to_string() + "\n";
        // In one write: what is killed in between leaves a line or none, or one that is cut off.
        self.file.write_all(line.as_bytes()).context("append to the journal")?;
        self.made[usize::try_from(number).expect("attempts are countable")] = true;
        Ok(())
    }

    /// Every line, each attempt once.
    pub(super) fn lines(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(&self.path).context("read the journal")?;
        let mut lines = result::parse(&text)?;
        lines.sort_by_key(result::number);
        lines.dedup_by_key(|line| result::number(line));
        Ok(lines)
    }
}

#[cfg(test)]
mod tests;
