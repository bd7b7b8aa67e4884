//! A clean clone of the commit, without uncommitted files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::super::{Context, Raw};

/// A clone in a folder of its own, deleted when dropped.
#[derive(Debug)]
pub(super) struct Clone {
    root: PathBuf,
    _folder: TempDir,
}

impl Clone {
    /// Clones the commit that is checked out, and captures which one it is.
    pub(super) fn make(context: &Context<'_>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("trimbench-clone-").tempdir();
        let folder = folder.context("make a folder for the clone")?;
        let root = folder.path().join("clone");
        context.alias(folder.path(), "$TMPDIR");
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--no-hardlinks"]);
        git.arg(context.repository().root()).arg(&root);
        context.capture_well("clone", &mut git)?;
        let clone = Self { root, _folder: folder };
        context.capture_well("commit", &mut clone.command("git", &["rev-parse", "HEAD"]))?;
        Ok(clone)
    }

    /// Where it is.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A program to be run in the clone, with build products of its own.
    pub(super) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root);
        // Else the clone would find the products of this checkout, and there were nothing to build.
        command.env_remove("CARGO_TARGET_DIR");
        command
    }
}

/// Which commit was cloned, for a note.
pub(super) fn cloned(raw: &Raw) -> Result<String> {
    let commit = raw.text(&raw.capture("commit")?.output)?;
    Ok(format!("a clone of commit {}", commit.trim().get(..12).context("no commit")?))
}
