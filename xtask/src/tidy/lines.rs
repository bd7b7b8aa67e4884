//! Counts lines of Rust per crate, comments and empty lines included.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::SourceTree;

/// Lines outside of test files, and in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    code: usize,
    tests: usize,
}

/// A line for each crate and one for all. Test files are `tests.rs` and `testing.rs`, folders
/// `tests`, `testing` and `benches`, and the whole package `tests`.
pub(super) fn table(tree: &SourceTree) -> String {
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    for file in tree.with_extension("rs") {
        let mut folders = file.path.split('/');
        let name = match folders.next() {
            Some("crates") => folders.next(),
            top => top,
        };
        for counted in [name.unwrap_or_default(), "all"] {
            let lines = crates.entry(counted).or_default();
            let part = if is_test(&file.path) { &mut lines.tests } else { &mut lines.code };
            *part += file.lines().count();
        }
    }
    // The sum comes last.
    let all = crates.remove("all").unwrap_or_default();
    let mut text = format!("{:20} {:>8} {:>8}\n", "lines of Rust", "outside", "in tests");
    for (name, Lines { code, tests }) in crates.into_iter().chain([("all", all)]) {
        writeln!(text, "{name:20} {code:8} {tests:8}").expect("a string takes everything");
    }
    text
}

fn is_test(path: &str) -> bool {
    let is =
        |part: &str| matches!(part, "tests" | "benches" | "testing" | "tests.rs" | "testing.rs");
    path.split('/').any(is)
}

#[cfg(test)]
mod tests;
