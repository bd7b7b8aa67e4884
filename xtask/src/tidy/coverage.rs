//! Checks that two sides agree: exit codes and their table, citations and references, tests and the
//! list of those that may skip.

use std::collections::BTreeSet;

use super::text::prose;
use super::{Fault, File, SourceTree};

const EXIT_CODES: &str = "crates/trimbench-core/src/exit.rs";
const EXIT_PAGE: &str = "docs/reference/exit-codes.md";
const REFERENCES: &str = "docs/references.md";
const ALLOWED_SKIPS: &str = "tests/allowed-skips.txt";

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
