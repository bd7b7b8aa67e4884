//! Step `tidy`: the rules of the repository that no compiler checks.
//!
//! A check is a function from the [`SourceTree`] of files to its findings. Its test plants the
//! fault that it looks for, because a check that cannot fire is useless.

mod coverage;
mod crates;
mod files;
mod lines;
mod modules;
mod text;

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use crate::Repository;

/// A file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path from the top folder.
    pub path: String,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Its text; `None` if it is not UTF-8.
    pub text: Option<String>,
}

impl File {
    /// What comes after the last point of its name.
    pub fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().expect("splitting gives at least one part");
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Its lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let text = self.text.as_deref().unwrap_or_default();
        text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The files of the repository.
#[derive(Clone, Debug, Default)]
pub struct SourceTree {
    /// In the order of their paths.
    pub files: Vec<File>,
}

impl SourceTree {
    /// Reads a checkout: tracked files, and new ones that are not ignored.
    pub fn read(repository: &Repository) -> Result<Self> {
        let mut files = Vec::new();
        for path in repository.files()? {
            let full = repository.root().join(&path);
            let metadata =
                fs::symlink_metadata(&full).with_context(|| format!("look at {path}"))?;
            if !metadata.is_file() {
                continue;
            }
            let bytes = fs::read(&full).with_context(|| format!("read {path}"))?;
            let executable = metadata.permissions().mode() & 0o100 != 0;
            let text = String::from_utf8(bytes).ok();
            files.push(File { path, executable, size: metadata.len(), text });
        }
        Ok(Self { files })
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Files whose name ends in `.extension`.
    pub fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.extension() == extension)
    }
}

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: String,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong and what to do.
    pub message: String,
    /// Whether it fails the step; otherwise it is advice.
    pub fails: bool,
}

impl Fault {
    /// A fault in a file.
    pub fn of(file: &str, message: impl Into<String>) -> Self {
        Self { path: file.to_owned(), line: None, message: message.into(), fails: true }
    }

    /// A fault in a line.
    pub fn at(file: &File, line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of(&file.path, message) }
    }

    /// The same as advice.
    #[must_use]
    pub fn as_advice(self) -> Self {
        Self { fails: false, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let kind = if self.fails { "error" } else { "advice" };
        write!(formatter, "{}{line}: {kind}: {}", self.path, self.message)
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it finds.
    pub find: fn(&SourceTree) -> Vec<Fault>,
}

/// Every rule.
pub const CHECKS: [Check; 15] = [
    Check { name: "arrows", find: crates::arrows },
    Check { name: "descriptions", find: crates::descriptions },
    Check { name: "type-names", find: modules::type_names },
    Check { name: "circles", find: modules::circles },
    Check { name: "columns", find: text::columns },
    Check { name: "file-length", find: text::file_length },
    Check { name: "markers", find: text::markers },
    Check { name: "headings", find: text::headings },
    Check { name: "machine-paths", find: text::machine_paths },
    Check { name: "registry-hosts", find: text::registry_hosts },
    Check { name: "large-files", find: files::large },
    Check { name: "modes", find: files::modes },
    Check { name: "exit-codes", find: coverage::exit_codes },
    Check { name: "references", find: coverage::references },
    Check { name: "allowed-skips", find: coverage::allowed_skips },
];

/// Prints how many lines of Rust there are.
pub fn count_lines(repository: &Repository) -> Result<()> {
    print!("{}", lines::table(&SourceTree::read(repository)?));
    Ok(())
}

/// Runs every check; whether none found a fault.
pub fn run(repository: &Repository) -> Result<bool> {
    let tree = SourceTree::read(repository)?;
    let findings: Vec<Fault> = CHECKS.iter().flat_map(|check| (check.find)(&tree)).collect();
    for finding in &findings {
        println!("{finding}");
    }
    let faults = findings.iter().filter(|finding| finding.fails).count();
    let (checks, files) = (CHECKS.len(), tree.files.len());
    println!("tidy: {checks} checks over {files} files, {faults} faults");
    Ok(faults == 0)
}

#[cfg(test)]
mod tests;
