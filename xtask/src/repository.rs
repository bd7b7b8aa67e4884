//! The repository: where it is, which commit, and whether its sources are those measured before.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::output;

/// A checkout of trimbench.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    target: PathBuf,
}

/// What the sources are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The commit checked out: 12 hexadecimal digits.
    pub commit: String,
    /// Hash over the content of every file but documents: 40 hexadecimal digits. Equal for two
    /// commits that differ in Markdown and pictures of `docs/` only, so what the lab writes does
    /// not make its figures stale.
    pub sources: String,
    /// Whether some source differs from the commit.
    pub dirty: bool,
}

impl State {
    /// A short name: the commit, and eight digits of the hash when sources differ from it.
    pub fn label(&self) -> String {
        if self.dirty {
            let digits = self.sources.get(..8).unwrap_or(&self.sources);
            format!("{}-dirty-{digits}", self.commit)
        } else {
            self.commit.clone()
        }
    }
}

impl Repository {
    /// The checkout that this program was built from.
    pub fn here() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in a folder");
        if !root.join("Cargo.toml").exists() {
            bail!("the checkout that xtask was built from is gone: {}", root.display());
        }
        let mut metadata = Command::new("cargo");
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
        let metadata: serde_json::Value =
            serde_json::from_str(&output(&mut metadata)?).context("read cargo's metadata")?;
        let target = metadata["target_directory"].as_str().context("no target directory")?;
        Ok(Self { root: root.to_owned(), target: target.into() })
    }

    /// A checkout at `root` with its build products below it.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), target: root.join("target") }
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo builds.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A program, to be run at the top folder.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// `path` as a reader of this checkout would write it: relative to the top folder if below it.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// Every file of the repository that exists: tracked, or new and not ignored.
    pub fn files(&self) -> Result<Vec<String>> {
        let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = output(&mut self.command("git", &arguments))?;
        let mut files: Vec<String> =
            listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
        files.retain(|path| self.root.join(path).symlink_metadata().is_ok_and(|it| !it.is_dir()));
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The commit of this name, in 12 digits.
    pub fn commit(&self, name: &str) -> Result<String> {
        let peeled = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--short=12", "--verify", "--quiet", &peeled];
        let commit = output(&mut self.command("git", &arguments));
        let commit = commit.with_context(|| format!("`{name}` is no commit"))?;
        Ok(commit.trim().to_owned())
    }

    /// What the sources are now.
    pub fn state(&self) -> Result<State> {
        let sources: Vec<String> =
            self.files()?.into_iter().filter(|path| is_source(path)).collect();
        let whole = self.hash_of(&sources)?;
        Ok(State { commit: self.commit("HEAD")?, sources: whole, dirty: self.is_dirty()? })
    }

    /// A hash of what each of these files holds now.
    pub fn hashes(&self, files: &[String]) -> Result<Vec<String>> {
        let hashes = self.git_with_input(&["hash-object", "--stdin-paths"], &files.join("\n"))?;
        Ok(hashes.lines().map(str::to_owned).collect())
    }

    /// The content that has this hash, if git still has it.
    pub fn content(&self, hash: &str) -> Option<String> {
        output(&mut self.command("git", &["cat-file", "blob", hash])).ok()
    }

    /// A hash of the names and the content of these files.
    pub fn hash_of(&self, files: &[String]) -> Result<String> {
        let hashes = self.hashes(files)?;
        let lines: Vec<String> =
            hashes.iter().zip(files).map(|(hash, path)| format!("{hash} {path}")).collect();
        let whole = self.git_with_input(&["hash-object", "--stdin"], &lines.join("\n"))?;
        Ok(whole.trim().to_owned())
    }

    fn is_dirty(&self) -> Result<bool> {
        let arguments = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
        let status = output(&mut self.command("git", &arguments))?;
        // Each entry: two letters of state, a space, the path.
        Ok(status.split('\0').filter_map(|entry| entry.get(3..)).any(is_source))
    }

    fn git_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut command = self.command("git", arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let text = input.to_owned();
        // A thread of its own: git answers while it still reads, and either pipe may fill up.
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output().context("wait for git")?;
        writer.join().expect("the writer does not panic").context("write to git")?;
        if !output.status.success() {
            bail!("`git {}` ended with {}", arguments.join(" "), output.status);
        }
        String::from_utf8(output.stdout).context("read what git printed")
    }
}

/// Whether a file can change what a program does: everything but documents in Markdown and pictures
/// in `docs/`.
fn is_source(path: &str) -> bool {
    let is = |wanted: &str| Path::new(path).extension().is_some_and(|found| found == wanted);
    !(is("md") || is("webp") && path.starts_with("docs/"))
}

#[cfg(test)]
mod tests;
