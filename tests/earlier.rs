//! Builds the program of an earlier commit once and stores it below the target folder.

use std::path::PathBuf;

use anyhow::Result;

use crate::Repository;
use crate::steps::Deadline;
use crate::tree::Tree;

/// Where the release build of `trimbench` of a commit is once [`build`] has made it.
pub fn program(repository: &Repository, commit: &str) -> PathBuf {
    folder(repository, commit).join("target/release/trimbench")
}

/// Builds the program of a commit, if it is not there, and says where it is.
pub fn build(repository: &Repository, commit: &str, deadline: Option<Deadline>) -> Result<PathBuf> {
    let program = program(repository, commit);
    if program.exists() {
        return Ok(program);
    }
    eprintln!("  building the program of {commit}");
    Tree::of(repository, commit, &folder(repository, commit))?.build(deadline)
}

fn folder(repository: &Repository, commit: &str) -> PathBuf {
    repository.target().join("earlier").join(commit)
}
