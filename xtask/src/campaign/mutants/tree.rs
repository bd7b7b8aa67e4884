//! The copy of the checkout that is mutated.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::list::Mutant;
use crate::Repository;
use crate::process::output;

/// A clone of the commit that is checked out, and what is changed in it.
#[derive(Debug)]
pub(super) struct Tree {
    copy: Repository,
    /// The files that are changed, and their texts without the change.
    changed: BTreeMap<PathBuf, String>,
}

impl Tree {
    /// Brings the copy in `folder` up to date. git leaves a file alone that is already the same, so
    /// what was built of it counts.
    pub(super) fn new(repository: &Repository, folder: &Path) -> Result<Self> {
        ensure!(!repository.state()?.dirty, "mutants are made of a commit: commit first");
        let (from, to) = (repository.root().to_string_lossy(), folder.to_string_lossy());
        if !folder.join(".git").exists() {
            let clone = ["clone", "--quiet", "--shared", "--no-checkout", &from, &to];
            output(&mut repository.command("git", &clone))?;
        }
        let copy = Repository::at(folder);
        output(&mut copy.command("git", &["fetch", "--quiet", &from, "HEAD"]))?;
        let checkout = ["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"];
        output(&mut copy.command("git", &checkout))?;
        fs::create_dir_all(copy.target()).context("make a folder for what is built")?;
        Ok(Self { copy, changed: BTreeMap::new() })
    }

    /// The copy.
    pub(super) fn copy(&self) -> &Repository {
        &self.copy
    }

    /// The text of a file, by its path from the top folder.
    pub(super) fn text(&self, file: &Path) -> Result<String> {
        let path = self.copy.root().join(file);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// As [`text`](Self::text), as it is in the commit.
    pub(super) fn original(&self, file: &Path) -> Result<String> {
        self.changed.get(file).map_or_else(|| self.text(file), |text| Ok(text.clone()))
    }

    /// Makes these files hold these texts, and all others what they hold in the commit.
    pub(super) fn change(&mut self, texts: &BTreeMap<PathBuf, String>) -> Result<()> {
        for file in texts.keys() {
            if !self.changed.contains_key(file) {
                self.changed.insert(file.clone(), self.text(file)?);
            }
        }
        for (file, original) in &self.changed {
            let wanted = texts.get(file).unwrap_or(original);
            // Another time of change has it built again.
            if self.text(file)? != *wanted {
                let path = self.copy.root().join(file);
                fs::write(&path, wanted).with_context(|| format!("write {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Plants one mutant alone.
    pub(super) fn plant(&mut self, mutant: &Mutant) -> Result<()> {
        self.change(&BTreeMap::new())?;
        let text = mutant.apply(&self.text(&mutant.file)?)?;
        self.change(&BTreeMap::from([(mutant.file.clone(), text)]))
    }
}
