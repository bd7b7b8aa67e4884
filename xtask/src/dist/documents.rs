//! What goes with the programs: man pages and completions, which they print themselves, licences
//! of dependencies, bills of materials, and changelogs.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{PROGRAMS, Release, Shipped, VERSION};
use crate::process::{output, run_well};

/// As they are in the repository.
const COPIED: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Folders of `packaging` that a release has, too, and a file beside them.
const SERVICE: [&str; 2] = ["systemd", "monitoring"];
const SERVICE_CONFIG: &str = "trimpace.toml";
/// What stands before and behind the program in the name of the script, as each shell wants it, and
/// the shell.
const COMPLETIONS: [(&str, &str, &str); 3] =
    [("", ".bash", "bash"), ("_", "", "zsh"), ("", ".fish", "fish")];
/// The licences of dependencies.
const THIRD_PARTY: &str = "THIRD-PARTY-LICENSES";
/// What cargo-cyclonedx's files are called, as nothing else is.
const BILL: &str = "bill-of-materials-of-dist";

/// Writes them all, and the programs beside them.
pub(super) fn write(release: &Release) -> Result<()> {
    let contents = release.contents();
    emptied(&contents, &[&["man", "completions"][..], &SERVICE].concat())?;
    for name in COPIED {
        fs::copy(release.repository.root().join(name), contents.join(name))?;
    }
    let packaging = release.repository.root().join("packaging");
    fs::copy(packaging.join(SERVICE_CONFIG), contents.join(SERVICE_CONFIG))?;
    for folder in SERVICE {
        for file in fs::read_dir(packaging.join(folder))? {
            let file = file?;
            fs::copy(file.path(), contents.join(folder).join(file.file_name()))?;
        }
    }
    for program in PROGRAMS {
        let name = program.name;
        fs::copy(release.program(program, release.platform), contents.join(name))?;
        write_pages(release, program, &[], &contents.join("man"))?;
        for (before, behind, shell) in COMPLETIONS {
            let mut printer = Command::new(release.printer(program));
            let script = output(printer.args(["completions", shell]))?;
            fs::write(contents.join(format!("completions/{before}{name}{behind}")), script)?;
        }
    }
    let bills = bills_of_materials(release)?;
    for (program, bill) in PROGRAMS.iter().zip(&bills) {
        fs::write(contents.join(format!("{}.cdx.json", program.name)), bill)?;
    }
    fs::write(contents.join(THIRD_PARTY), licences(release, &bills)?)?;
    write_debian(release)
}

/// The page of a command, and those of the commands that it refers to.
fn write_pages(release: &Release, program: Shipped, command: &[&str], folder: &Path) -> Result<()> {
    let page = output(Command::new(release.printer(program)).arg("man").args(command))?;
    let name = [&[program.name], command].concat().join("-");
    for inner in commands(&page, &name, program.section) {
        write_pages(release, program, &[command, &[&inner]].concat(), folder)?;
    }
    fs::write(folder.join(format!("{name}.{}", program.section)), page).context("write a man page")
}

/// The commands of the command `name`, as its page refers to theirs: `trimbench\-trace\-stat(1)`.
fn commands(page: &str, name: &str, section: u8) -> Vec<String> {
    let (head, end) = (format!("{name}-"), format!("({section})"));
    let lines = page.lines().map(|line| line.replace("\\-", "-"));
    lines
        .filter_map(|line| Some(line.strip_prefix(&head)?.strip_suffix(&end)?.to_owned()))
        .collect()
}

/// What is compiled in, by cargo-about, which fails at a licence that is not accepted, and what
/// the report's page has. It reads the first program's manifest: the others contain nothing more.
fn licences(release: &Release, bills: &[String]) -> Result<String> {
    let parts = bills.iter().map(|bill| components(bill)).collect::<Result<Vec<_>>>()?;
    let (first, name) = (&parts[0], PROGRAMS[0].name);
    for part in parts.iter().flatten() {
        ensure!(first.contains(part), "the licence of {part} is not among those of `{name}`");
    }
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

/// By cargo-cyclonedx, which writes one beside the manifest of every member; those of the programs.
fn bills_of_materials(release: &Release) -> Result<Vec<String>> {
    let mut cargo = release.cargo(&["cyclonedx", "--quiet", "--no-build-deps", "--all"])?;
    cargo.args(["--format", "json", "--spec-version", "1.5", "--override-filename", BILL]);
    cargo.args(["--target", release.platform.triple()]);
    cargo.args(["--manifest-path", "crates/trimbench/Cargo.toml"]);
    let ended = run_well(&mut cargo, None);
    let root = release.repository.root();
    let bill = |program: &Shipped| {
        fs::read_to_string(root.join(format!("crates/{}/{BILL}.json", program.name)))
    };
    let bills: std::io::Result<Vec<String>> = PROGRAMS.iter().map(bill).collect();
    for name in release.repository.files()? {
        if name.ends_with(&format!("/{BILL}.json")) {
            fs::remove_file(root.join(&name)).with_context(|| format!("remove {name}"))?;
        }
    }
    ended?;
    let bills = bills.context("read the bills of materials")?;
    Ok(bills.iter().map(|bill| without_root(bill, root)).collect())
}

/// What a bill lists: `NAME VERSION` of each crate in the program.
fn components(bill: &str) -> Result<Vec<String>> {
    let bill: Value = serde_json::from_str(bill).context("read a bill of materials")?;
    let all = bill["components"].as_array().context("a bill of materials without components")?;
    let text = |part: &Value, key: &str| part[key].as_str().unwrap_or_default().to_owned();
    Ok(all.iter().map(|part| text(part, "name") + " " + &text(part, "version")).collect())
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
    emptied(&folder, &["man1", "man8"])?;
    for page in fs::read_dir(contents.join("man"))? {
        let page = page?.path();
        let name = page.file_name().context("a page without a name")?;
        let section = page.extension().context("a page without a section")?.to_string_lossy();
        fs::copy(&page, folder.join(format!("man{section}")).join(name))?;
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
