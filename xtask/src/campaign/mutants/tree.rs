//! The copy of the checkout that is mutated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::list::Mutant;
use crate::Repository;
use crate::process::output;

/// A clone of the commit that is checked out, and what is mutated in it.
#[derive(Debug)]
pub(super) struct Tree {
    copy: Repository,
    /// The file that is mutated, and its text without the mutant.
    mutated: Option<(PathBuf, String)>,
}

impl Tree {
    /// Brings the copy in `folder` up to date. git leaves a file alone that is already the same, so
    /// what was built of it counts.
    pub(super) fn new(repository: &Repository, folder: &Path) -> Result<Self> {
        ensure!(!repository.state()?.dirty, "mutants are made of a commit: commit first");
        let root = folder.join("tree");
        let (from, to) = (repository.root().to_string_lossy(), root.to_string_lossy());
        if !root.join(".git").exists() {
            let clone = ["clone", "--quiet", "--shared", "--no-checkout", &from, &to];
            output(&mut repository.command("git", &clone))?;
        }
        let copy = Repository::at(&root);
        output(&mut copy.command("git", &["fetch", "--quiet", &from, "HEAD"]))?;
        let checkout = ["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"];
        output(&mut copy.command("git", &checkout))?;
        Ok(Self { copy, mutated: None })
    }

    /// The copy.
    pub(super) fn copy(&self) -> &Repository {
        &self.copy
    }

    /// Takes back what is mutated, and plants `mutant` instead.
    pub(super) fn plant(&mut self, mutant: Option<&Mutant>) -> Result<()> {
        let write = |path: &Path, text: &str| {
            fs::write(path, text).with_context(|| format!("write {}", path.display()))
        };
        if let Some((path, text)) = self.mutated.take() {
            write(&path, &text)?;
        }
        if let Some(mutant) = mutant {
            let path = self.copy.root().join(&mutant.file);
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("read {}", path.display()))?;
            write(&path, &mutant.apply(&text)?)?;
            self.mutated = Some((path, text));
        }
        Ok(())
    }
}
