//! What a newcomer relies on: a type has one name in the whole workspace, and the modules of a
//! crate use each other in one direction.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fault, File, SourceTree};

/// Words that a public type begins with.
const TYPES: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// No two public types of the workspace have the same name.
pub(super) fn type_names(tree: &SourceTree) -> Vec<Fault> {
    let mut first: BTreeMap<&str, &File> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        for (number, line) in file.lines() {
            let Some(name) = public_type(line) else { continue };
            if let Some(other) = first.insert(name, file) {
                let message = format!("{} has a public type `{name}`, too", other.path);
                findings.push(Fault::at(file, number, message));
            }
        }
    }
    findings
}

/// `Name` of `pub struct Name<T> {`.
fn public_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    TYPES.contains(&kind).then(|| rest.split(|c| !is_word(c)).next().unwrap_or_default())
}

/// Top-level modules of a crate (a file and the folder of its name) use each other in no circle.
/// Within a folder they may; tests may use whatever they like.
pub(super) fn circles(tree: &SourceTree) -> Vec<Fault> {
    let mut crates: BTreeMap<&str, Vec<(&str, &File)>> = BTreeMap::new();
    for file in tree.with_extension("rs") {
        let Some((name, path)) = file.path.split_once("/src/") else { continue };
        if !path.split('/').any(|part| part == "tests" || part == "tests.rs") {
            crates.entry(name).or_default().push((path, file));
        }
    }
    crates.into_iter().filter_map(|(name, files)| circle_in(name, &files)).collect()
}

fn circle_in(name: &str, files: &[(&str, &File)]) -> Option<Fault> {
    let mut modules: BTreeSet<&str> = files.iter().map(|(path, _)| top(path)).collect();
    modules.retain(|module| !["lib", "main", "testing"].contains(module));
    let root = files.iter().find(|(path, _)| ["lib.rs", "main.rs"].contains(path));
    let exported = root.map(|(_, file)| exported(&code(file))).unwrap_or_default();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, file) in files {
        let from = top(path);
        for word in used(&code(file), path.matches('/').count() + 1) {
            let to = exported.get(&word).unwrap_or(&word);
            if let Some(to) = modules.get(to.as_str())
                && modules.contains(from)
                && *to != from
            {
                uses.entry(from).or_default().insert(to);
            }
        }
    }
    let circle: Vec<&str> =
        modules.into_iter().filter(|module| reaches(&uses, module, module)).collect();
    let message = format!(
        "modules use each other in a circle: {}; move what they share below them",
        circle.join(", ")
    );
    (!circle.is_empty()).then(|| Fault::of(&format!("{name}/src"), message))
}

/// `ftl` of `ftl.rs` and of `ftl/cache.rs`.
fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// Whether `from` uses `to`, directly or through others.
fn reaches(uses: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if *used == to {
                return true;
            }
            if seen.insert(*used) {
                next.push(used);
            }
        }
    }
    false
}

/// The text without comments.
fn code(file: &File) -> String {
    let lines = file.lines().map(|(_, line)| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Names that the crate's root exports from its modules, and the module of each.
fn exported(root: &str) -> BTreeMap<String, String> {
    let statements = root.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let paths = statements.filter_map(|statement| statement.split_once("::"));
    let names = paths.flat_map(|(module, rest)| {
        words(rest).map(move |word| (word.to_owned(), module.trim().to_owned()))
    });
    names.collect()
}

/// Words behind `crate::`, or as many `super::` as lead there from a file this deep: each may be a
/// module, or a name that the root exports.
fn used(code: &str, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&root) {
            if code[..at].ends_with(|c| is_word(c) || c == ':') {
                continue;
            }
            let rest = &code[at + root.len()..];
            let end = match rest.strip_prefix('{') {
                Some(_) => rest.find(';').unwrap_or(rest.len()),
                None => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            };
            found.extend(words(&rest[..end]).map(str::to_owned));
        }
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests;
