//! What goes with the program: man pages and completions, which it prints itself, licences of
//! dependencies, the bill of materials, and changelogs.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Platform, Release, VERSION};
use crate::process::{output, run_well};

/// As they are in the repository.
const COPIED: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// The name of the script, as each shell wants it, and the shell.
const COMPLETIONS: [(&str, &str); 3] =
    [("trimbench.bash", "bash"), ("_trimbench", "zsh"), ("trimbench.fish", "fish")];
/// The licences of dependencies.
const THIRD_PARTY: &str = "THIRD-PARTY-LICENSES";
/// What cargo-cyclonedx's files are called, as nothing else is.
const BILL: &str = "bill-of-materials-of-dist";

/// Writes them all, and the program beside them.
pub(super) fn write(release: &Release) -> Result<()> {
    let contents = release.contents();
    emptied(&contents, &["man", "completions"])?;
    fs::copy(release.program(release.platform), contents.join("trimbench"))?;
    for name in COPIED {
        fs::copy(release.repository.root().join(name), contents.join(name))?;
    }
    let program = release.program(Platform::default());
    write_pages(&program, &[], &contents.join("man"))?;
    for (name, shell) in COMPLETIONS {
        let script = output(Command::new(&program).args(["completions", shell]))?;
        fs::write(contents.join("completions").join(name), script)?;
    }
    fs::write(contents.join(THIRD_PARTY), licences(release)?)?;
    fs::write(contents.join("trimbench.cdx.json"), bill_of_materials(release)?)?;
    write_debian(release)
}

/// The page of a command, and those of the commands that it refers to.
fn write_pages(program: &Path, command: &[&str], folder: &Path) -> Result<()> {
    let page = output(Command::new(program).arg("man").args(command))?;
    let name = [&["trimbench"], command].concat().join("-");
    for inner in commands(&page, &name) {
        write_pages(program, &[command, &[&inner]].concat(), folder)?;
    }
    fs::write(folder.join(name + ".1"), page).context("write a man page")
}

/// The commands of the command `name`, as its page refers to theirs: `trimbench\-trace\-stat(1)`.
fn commands(page: &str, name: &str) -> Vec<String> {
    let head = format!("{name}-");
    let lines = page.lines().map(|line| line.replace("\\-", "-"));
    lines
        .filter_map(|line| Some(line.strip_prefix(&head)?.strip_suffix("(1)")?.to_owned()))
        .collect()
}

/// What is compiled in, by cargo-about, which fails at a licence that is not accepted, and what
/// the report's page has.
fn licences(release: &Release) -> Result<String> {
    let arguments = ["about", "generate", "--locked", "--fail", "packaging/about.hbs"];
    let mut cargo = release.cargo(&arguments)?;
    cargo.args(["--config", "packaging/about.toml", "--target", release.platform.triple()]);
    cargo.args(["--manifest-path", "crates/trimbench/Cargo.toml"]);
    let mut text = output(&mut cargo)?;
    let mut names = release.repository.files()?;
    names.retain(|name| name.starts_with("assets/vendor/"));
    for name in names.iter().filter(|name| name.ends_with("LICENSE") || name.ends_with("NOTICE")) {
        let licence = fs::read_to_string(release.repository.root().join(name))?;
        let head = format!("\n{}\n{name}, for the report's page\n\n", "-".repeat(80));
        text += &(head + &licence);
    }
    Ok(text)
}

/// By cargo-cyclonedx, which writes one beside the manifest of every member.
fn bill_of_materials(release: &Release) -> Result<String> {
    let mut cargo = release.cargo(&["cyclonedx", "--quiet", "--no-build-deps", "--all"])?;
    cargo.args(["--format", "json", "--spec-version", "1.5", "--override-filename", BILL]);
    cargo.args(["--target", release.platform.triple()]);
    cargo.args(["--manifest-path", "crates/trimbench/Cargo.toml"]);
    let ended = run_well(&mut cargo, None);
    let root = release.repository.root();
    let text = fs::read_to_string(root.join(format!("crates/trimbench/{BILL}.json")));
    for name in release.repository.files()? {
        if name.ends_with(&format!("/{BILL}.json")) {
            fs::remove_file(root.join(&name)).with_context(|| format!("remove {name}"))?;
        }
    }
    ended?;
    Ok(without_root(&text.context("read the bill of materials")?, root))
}

/// Where the checkout is says nothing about the release.
fn without_root(text: &str, root: &Path) -> String {
    text.replace(&format!("{}/", root.display()), "")
}

/// What the Debian package has in place of files of the archive, or in addition to them: it wants
/// documents compressed, and cargo-deb does not compress what it finds among cargo's products.
fn write_debian(release: &Release) -> Result<()> {
    let (contents, folder) =
        (release.contents(), release.products(release.platform).join("debian"));
    emptied(&folder, &["man"])?;
    for page in fs::read_dir(contents.join("man"))? {
        let page = page?;
        fs::copy(page.path(), folder.join("man").join(page.file_name()))?;
    }
    fs::copy(contents.join(THIRD_PARTY), folder.join(THIRD_PARTY))?;
    fs::copy(contents.join("CHANGELOG.md"), folder.join("changelog"))?;
    let manifest = release.repository.root().join("crates/trimbench/Cargo.toml");
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(manifest)?)?;
    let maintainer = manifest["package"]["metadata"]["deb"]["maintainer"].as_str();
    let maintainer = maintainer.context("the Debian package has no maintainer")?;
    let time = format!("--date=@{}", release.epoch);
    let date = output(Command::new("date").args(["--utc", "--rfc-email", &time]))?;
    let changelog = format!(
        "trimbench ({VERSION}-1) unstable; urgency=medium\n\n  * Release {VERSION}: \
         /usr/share/doc/trimbench/changelog.gz.\n\n -- {maintainer}  {date}",
    );
    fs::write(folder.join("changelog.Debian"), changelog)?;
    run_well(Command::new("gzip").args(["--recursive", "-9n"]).arg(folder), None).map(drop)
}

/// Makes a folder with nothing in it but these empty folders.
fn emptied(folder: &Path, inner: &[&str]) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    inner.iter().try_for_each(|name| Ok(fs::create_dir_all(folder.join(name))?))
}

#[cfg(test)]
mod tests;
