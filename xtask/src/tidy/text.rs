//! Checks of lines: width, length, markers of unfinished work, headings, private paths, hosts.

use super::{Fault, File, SourceTree};

/// Columns of a source line, in characters.
const COLUMNS: usize = 100;
/// Lines of a source file: the aim, and the limit.
const LINES_AIM: usize = 500;
const LINES_LIMIT: usize = 1_000;

// These lists are written in pieces so that this file does not hold what it looks for.
const MARKERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const MACROS: [&str; 4] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("d", "bg!("),
    concat!("#[ig", "nore"),
];
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
const HOSTS: [&str; 9] = [
    concat!("crates", ".io"),
    concat!("py", "pi.org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("deb.", "debian.org"),
    concat!("archive.", "ubuntu.com"),
    concat!("docker", ".io"),
    concat!("proxy.", "golang.org"),
];
/// What cargo itself writes into the lock file on every machine.
const LOCK_SOURCE: &str = concat!("registry+https://github.com/rust-lang/crates", ".io-index");

/// Source lines fit the column limit (rustfmt leaves comments and strings alone).
pub(super) fn columns(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        for (number, line) in file.lines() {
            let columns = line.chars().count();
            if columns > COLUMNS {
                let message = format!("{columns} columns; at most {COLUMNS}");
                findings.push(Fault::at(file, number, message));
            }
        }
    }
    findings
}

/// Source files have at most 1,000 lines; above 500 it is time to look for a seam.
pub(super) fn file_length(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        let lines = file.lines().count();
        if lines > LINES_LIMIT {
            let message = format!("{lines} lines; at most {LINES_LIMIT}");
            findings.push(Fault::of(&file.path, message));
        } else if lines > LINES_AIM {
            let message = format!("{lines} lines; the aim is {LINES_AIM}");
            findings.push(Fault::of(&file.path, message).as_advice());
        }
    }
    findings
}

/// Nothing is left for later, and no test is switched off.
pub(super) fn markers(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            let found = MARKERS.iter().find(|marker| holds_marker(line, marker));
            let in_code = || MACROS.iter().find(|word| line.contains(**word));
            let found = found.or_else(|| in_code().filter(|_| file.extension() == "rs"));
            if let Some(found) = found {
                findings.push(Fault::at(file, number, format!("leftover `{found}`")));
            }
        }
    }
    findings
}

/// The word in capitals anywhere, or in any case when a colon follows it at once.
fn holds_marker(line: &str, marker: &str) -> bool {
    let upper = line.to_ascii_uppercase();
    words(&upper, marker).any(|at| {
        let end = at + marker.len();
        line[at..end] == *marker || line[end..].starts_with(':')
    })
}

/// Where `word` stands in `line` with no letter, digit or underscore beside it.
fn words<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    line.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let (before, after) = (&line[..*at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// A Markdown file has one title.
pub(super) fn headings(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        let titles = prose(file).filter(|(_, line)| line.starts_with("# ")).count();
        if titles != 1 {
            let message = format!("{titles} headings of the first level; exactly one is a title");
            findings.push(Fault::of(&file.path, message));
        }
    }
    findings
}

/// The lines of a Markdown file outside fenced code.
pub(super) fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    file.lines().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !(in_code || is_fence)
    })
}

/// No file names a place that exists on one machine only.
pub(super) fn machine_paths(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| holds_path(line, path)) {
                let message = format!("`{path}` is a path of one machine");
                findings.push(Fault::at(file, number, message));
            }
        }
    }
    findings
}

/// Whether an absolute path begins with `path`: not within a longer path or an address.
fn holds_path(line: &str, path: &str) -> bool {
    let continues = |letter: char| letter.is_alphanumeric() || "_-.}/>".contains(letter);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(continues))
}

/// No file names the host of a package registry: where packages come from is the machine's affair.
pub(super) fn registry_hosts(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            let line = line.replace(LOCK_SOURCE, "");
            if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
                findings.push(Fault::at(file, number, format!("names the registry `{host}`")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
