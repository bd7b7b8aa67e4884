//! A copy of the repository at one commit, in which files may be changed and programs built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::steps::Deadline;
use crate::{Repository, process};

/// A clone of one commit, and what is changed in it.
#[derive(Debug)]
pub struct Tree {
    copy: Repository,
    /// The files that are changed, and their texts without the change.
    changed: BTreeMap<PathBuf, String>,
}

impl Tree {
    /// Brings the copy in `folder` to a commit. git leaves a file alone that is already the same,
    /// so what was built of it counts.
    pub fn of(repository: &Repository, commit: &str, folder: &Path) -> Result<Self> {
        let (from, to) = (repository.root().to_string_lossy(), folder.to_string_lossy());
        if !folder.join(".git").exists() {
            let clone = ["clone", "--quiet", "--shared", "--no-checkout", &from, &to];
            process::output(&mut repository.command("git", &clone))?;
        }
        let copy = Repository::at(folder);
        // The copy shares the objects of the repository, later ones too.
        let checkout = ["checkout", "--quiet", "--force", "--detach", commit];
        process::output(&mut copy.command("git", &checkout))?;
        fs::create_dir_all(copy.target()).context("make a folder for what is built")?;
        Ok(Self { copy, changed: BTreeMap::new() })
    }

    /// As [`Tree::of`] the commit that is checked out, from which no source differs.
    pub fn of_head(repository: &Repository, folder: &Path) -> Result<Self> {
        let state = repository.state()?;
        ensure!(!state.dirty, "what is changed is a copy of a commit: commit first");
        Self::of(repository, &state.commit, folder)
    }

    /// The copy.
    pub fn copy(&self) -> &Repository {
        &self.copy
    }

    /// The text of a file, by its path from the top folder.
    pub fn text(&self, file: &Path) -> Result<String> {
        let path = self.copy.root().join(file);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// As [`text`](Self::text), as it is in the commit.
    pub fn original(&self, file: &Path) -> Result<String> {
        self.changed.get(file).map_or_else(|| self.text(file), |text| Ok(text.clone()))
    }

    /// Makes these files hold these texts, and all others what they hold in the commit.
    pub fn change(&mut self, texts: &BTreeMap<PathBuf, String>) -> Result<()> {
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

    /// Builds the release of `trimbench`, and says where it is.
    pub fn build(&self, deadline: Option<Deadline>) -> Result<PathBuf> {
        let mut cargo = self.copy.command("cargo", &["build", "--release", "--quiet"]);
        process::run_well(cargo.env("CARGO_TARGET_DIR", self.copy.target()), deadline)?;
        let program = self.copy.target().join("release/trimbench");
        ensure!(program.exists(), "the build made no {}", program.display());
        Ok(program)
    }
}
