//! Checks that two sides agree: pages and methods, exit codes and their table, citations and
//! references, generated documents and their generators.

use std::collections::BTreeSet;

use ::tests::acceptance::KEYS;
use trimbench_methods::METHODS;

use super::text::prose;
use super::{Fault, File, SourceTree};
use crate::docs::{self, methods};
use crate::evidence::page;

const METHOD_PAGES: &str = "docs/methods/";
const EXIT_CODES: &str = "crates/trimbench-core/src/exit.rs";
const EXIT_PAGE: &str = "docs/reference/exit-codes.md";
const REFERENCES: &str = "docs/references.md";
const README: &str = "README.md";
const ALLOWED_SKIPS: &str = "tests/allowed-skips.txt";

/// Each page of a method is that of a method. (A method without a page does not compile.)
pub(super) fn method_pages(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        let Some(name) = file.path.strip_prefix(METHOD_PAGES) else { continue };
        let id = name.trim_end_matches(".md");
        if id != "README" && METHODS.iter().all(|info| info.id != id) {
            findings.push(Fault::of(&file.path, format!("no method is called `{id}`")));
        }
    }
    findings
}

/// Each exit code is in the table of the documents.
pub(super) fn exit_codes(tree: &SourceTree) -> Vec<Fault> {
    let Some(file) = tree.file(EXIT_CODES) else { return Vec::new() };
    let page = tree.file(EXIT_PAGE).and_then(|page| page.text.as_deref()).unwrap_or_default();
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let Some((name, code)) = parse_constant(line) else { continue };
        if !page.contains(&format!("| `{code}` |")) {
            let message = format!("{name} ({code}) is not in {EXIT_PAGE}");
            findings.push(Fault::at(file, number, message));
        }
    }
    findings
}

/// `pub const TARGET: u8 = 3;`
fn parse_constant(line: &str) -> Option<(&str, u8)> {
    let (name, value) = line.trim().strip_prefix("pub const ")?.split_once(": u8 = ")?;
    Some((name, value.strip_suffix(';')?.parse().ok()?))
}

/// Each source cited by its key is in the list of references.
pub(super) fn references(tree: &SourceTree) -> Vec<Fault> {
    let known = tree.file(REFERENCES).map(known_keys).unwrap_or_default();
    let mut findings = Vec::new();
    let mut look = |file: &File, number: usize, text: &str| {
        for key in cited_keys(&without_code(text)) {
            if !known.contains(key) {
                let message = format!("[{key}] is not in {REFERENCES}");
                findings.push(Fault::at(file, number, message));
            }
        }
    };
    for file in &tree.files {
        match file.extension() {
            "rs" => {
                for (number, line) in file.lines() {
                    look(file, number, comment(line).unwrap_or_default());
                }
            }
            "toml" => file.lines().for_each(|(number, line)| look(file, number, line)),
            "md" if file.path != REFERENCES => {
                prose(file).for_each(|(number, line)| look(file, number, line));
            }
            _ => {}
        }
    }
    findings
}

/// The keys that the references define: list items that begin with `**[KEY]**`.
fn known_keys(file: &File) -> BTreeSet<&str> {
    let lines = file.lines();
    lines
        .filter_map(|(_, line)| line.strip_prefix("- **[")?.split_once("]**").map(|it| it.0))
        .collect()
}

/// What stands from `//` on, unless the slashes are within a string.
fn comment(line: &str) -> Option<&str> {
    let quotes = |text: &str| text.replace(r#"'"'"#, "").replace(r#"\""#, "").matches('"').count();
    let slashes = line.match_indices("//").map(|(at, _)| at);
    slashes.into_iter().find(|at| quotes(&line[..*at]).is_multiple_of(2)).map(|at| &line[at..])
}

/// The text without what stands between backticks: code is quoted there, nothing cited.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Keys in brackets. A key is capitals and then digits (`[DESN12]`); after the word "Source" or
/// "Sources" it may also be capitals alone (`[PTS]`). `[N](...)` is a link, `` [`N`] `` an item.
fn cited_keys(text: &str) -> Vec<&str> {
    let is_source = text.contains("Source: ") || text.contains("Sources: ");
    let mut keys = Vec::new();
    for (at, _) in text.match_indices('[') {
        let Some((key, rest)) = text[at + 1..].split_once(']') else { continue };
        let letters = key.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let is_name = !letters.is_empty()
            && letters.chars().all(|letter| letter.is_ascii_uppercase() || letter == '-');
        let has_digits = letters.len() < key.len();
        let is_key = is_name && (has_digits || (is_source && letters.len() > 1));
        if is_key && !rest.starts_with('(') {
            keys.push(key);
        }
    }
    keys
}

/// Generated documents are what their generator writes.
pub(super) fn generated(tree: &SourceTree) -> Vec<Fault> {
    let stale = docs::GENERATED.iter().filter(|document| {
        let present = tree.file(document.path).and_then(|file| file.text.as_deref());
        present != Some((document.text)().as_str())
    });
    let pages = METHODS.iter().map(|info| (methods::path(info), info)).filter(|(path, info)| {
        let present = tree.file(path).and_then(|file| file.text.as_deref());
        present.is_some_and(|page| methods::with_options(page, info).ok().as_deref() != Some(page))
    });
    let paths = stale.map(|document| document.path.to_owned()).chain(pages.map(|(path, _)| path));
    let message = "not what `cargo xtask docs` writes: run it";
    paths.map(|path| Fault::of(&path, message)).collect()
}

/// Each page of evidence says so if it is older than the model, and the README quotes none that is.
pub(super) fn old_evidence(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for key in &KEYS {
        let path = page::path(key);
        let text = tree.file(&path).and_then(|file| file.text.as_deref());
        let Some(text) = text else { continue };
        if page::with_age(text).ok().as_deref() != Some(text) {
            let message = "does not say whether it is older than the model: `cargo xtask docs`";
            findings.push(Fault::of(&path, message));
        }
        let is_quoted = |line: &str| {
            line.split_once("evidence: ").is_some_and(|(_, rest)| {
                rest.split('`').any(|id| key.claims.iter().any(|claim| claim.id == id))
            })
        };
        let readme = tree.file(README).filter(|_| page::is_old(text).unwrap_or(true));
        for (number, line) in readme.into_iter().flat_map(File::lines) {
            if is_quoted(line) {
                let message = format!("quotes {path}, which is older than the model");
                findings.extend(readme.map(|file| Fault::at(file, number, message)));
            }
        }
    }
    findings
}

/// Each test that may skip is a test that exists.
pub(super) fn allowed_skips(tree: &SourceTree) -> Vec<Fault> {
    let Some(file) = tree.file(ALLOWED_SKIPS) else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let name = line.split('#').next().expect("splitting gives at least one part").trim();
        let function = name.rsplit("::").next().expect("splitting gives at least one part");
        if !function.is_empty() && !is_defined(tree, function) {
            findings.push(Fault::at(file, number, format!("no test is called `{name}`")));
        }
    }
    findings
}

/// Whether there is a function of this name, or a row of a table.
fn is_defined(tree: &SourceTree, name: &str) -> bool {
    let definitions = [format!("fn {name}("), format!("\"{name}\",")];
    let mut code = tree.with_extension("rs").filter_map(|file| file.text.as_deref());
    code.any(|text| definitions.iter().any(|definition| text.contains(definition)))
}

#[cfg(test)]
mod tests;
