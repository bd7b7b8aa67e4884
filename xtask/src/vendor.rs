//! Step `vendor`: the browser libraries that are part of the report's page.
//!
//! `assets/vendor/vendor.toml` names exact versions and the checksum of every file. Only this step
//! fetches them; everything else uses the files as they are in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::Repository;
use crate::process::{output, run_well};

#[cfg(test)]
mod tests;

/// Where they are.
const FOLDER: &str = "assets/vendor";
/// What is bundled, and into what.
const ENTRY: &str = "entry.js";
const BUNDLE: &str = "echarts.js";

/// `vendor.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Exact versions by the packages' names.
    packages: BTreeMap<String, String>,
    /// The files that are kept.
    files: BTreeMap<String, Vendored>,
}

/// A file that is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendored {
    /// What it is a copy of, in the packages; `None`: it is made of them.
    from: Option<PathBuf>,
    /// The checksum of its bytes, in hexadecimal digits.
    sha256: String,
}

/// Fetches, bundles and keeps the libraries or, with `check`, compares the files with their
/// checksums; whether they are (now) right.
pub fn run(repository: &Repository, check: bool) -> Result<bool> {
    let folder = repository.root().join(FOLDER);
    if !check {
        renew(&folder)?;
    }
    let wrong = wrong(&folder)?;
    for message in &wrong {
        println!("{message}");
    }
    if wrong.is_empty() {
        println!("{FOLDER}: every file is what its checksum says");
    }
    Ok(wrong.is_empty())
}

fn manifest(folder: &Path) -> Result<(Manifest, String)> {
    let path = folder.join("vendor.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let manifest = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
    Ok((manifest, text))
}

/// What is not as the manifest has it, a sentence for each file.
fn wrong(folder: &Path) -> Result<Vec<String>> {
    let (manifest, _) = manifest(folder)?;
    let mut wrong = Vec::new();
    for (name, file) in &manifest.files {
        let path = folder.join(name);
        if !path.is_file() {
            wrong.push(format!("{FOLDER}/{name}: is not there: run `cargo xtask vendor`"));
        } else if sha256(&path)? != file.sha256 {
            wrong.push(format!("{FOLDER}/{name}: its checksum is not that of vendor.toml"));
        }
    }
    Ok(wrong)
}

/// By coreutils' program: this is the only checksum that we need.
fn sha256(path: &Path) -> Result<String> {
    let text = output(Command::new("sha256sum").arg("--binary").arg(path))?;
    let digits = text.split_whitespace().next().unwrap_or_default();
    // The name of a file with special characters is quoted, and its line begins with a backslash.
    Ok(digits.trim_start_matches('\\').to_owned())
}

fn renew(folder: &Path) -> Result<()> {
    let (manifest, mut text) = manifest(folder)?;
    let work = tempfile::tempdir().context("make a folder to work in")?;
    let exact: Vec<String> =
        manifest.packages.iter().map(|(name, version)| format!("{name}@{version}")).collect();
    fs::write(work.path().join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--save-exact", "--no-audit", "--no-fund"]).args(&exact);
    run_well(npm.current_dir(work.path()), None).context("npm is needed to renew libraries")?;
    fs::copy(folder.join(ENTRY), work.path().join(ENTRY))?;
    let mut bundle = Command::new(work.path().join("node_modules/.bin/esbuild"));
    bundle.args([ENTRY, "--bundle", "--minify", "--format=iife", "--global-name=echarts"]);
    bundle.args(["--legal-comments=none", "--target=es2019", &format!("--outfile={BUNDLE}")]);
    run_well(bundle.current_dir(work.path()), None)?;
    for (name, file) in &manifest.files {
        let made = file.from.as_ref().map(|from| work.path().join("node_modules").join(from));
        let made = made.unwrap_or_else(|| work.path().join(name));
        fs::copy(&made, folder.join(name)).with_context(|| format!("copy {}", made.display()))?;
        let sum = sha256(&folder.join(name))?;
        text = with_sum(&text, name, &sum)?;
    }
    fs::write(folder.join("vendor.toml"), text)?;
    Ok(())
}

/// The manifest's text with the checksum of one file, and all its comments.
fn with_sum(text: &str, name: &str, sum: &str) -> Result<String> {
    let head = format!("[files.\"{name}\"]");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let begin = lines.iter().position(|line| *line == head);
    let Some(begin) = begin else { bail!("vendor.toml has no {head}") };
    let line = lines[begin..].iter().position(|line| line.starts_with("sha256"));
    let Some(line) = line.map(|line| begin + line) else { bail!("{head} has no sha256") };
    ensure!(
        lines[begin + 1..line].iter().all(|line| !line.starts_with('[')),
        "{head} has no sha256"
    );
    lines[line] = format!("sha256 = \"{sum}\"");
    Ok(lines.join("\n") + "\n")
}
