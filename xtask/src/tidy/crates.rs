//! Checks of the manifests: the arrows between crates, and a description of each crate.

use toml::{Table, Value};

use super::{Fault, File, SourceTree};

/// Which of our crates a crate may use. Source: ARCHITECTURE.md; a new arrow is a design change.
/// Arrows of tests (`dev-dependencies`, and optional ones of a feature `testing`) are free: a test
/// may look sideways.
const ARROWS: [(&str, &[&str]); 21] = [
    ("trimbench-core", &[]),
    ("trimbench-ssd", &["trimbench-core"]),
    ("trimbench-policy", &["trimbench-core"]),
    ("trimbench-trace", &["trimbench-core"]),
    ("trimbench-results", &["trimbench-core"]),
    ("trimbench-claim", &["trimbench-core"]),
    ("trimbench-log-pages", &["trimbench-core"]),
    ("trimbench-linux", &["trimbench-core", "trimbench-claim", "trimbench-log-pages"]),
    (
        "trimbench-doctor",
        &[
            "trimbench-core",
            "trimbench-results",
            "trimbench-claim",
            "trimbench-log-pages",
            "trimbench-linux",
        ],
    ),
    ("trimbench-block", &["trimbench-core"]),
    ("trimbench-fs", &["trimbench-core", "trimbench-block", "trimbench-policy"]),
    (
        "trimbench-attach",
        &["trimbench-core", "trimbench-ssd", "trimbench-claim", "trimbench-linux"],
    ),
    ("trimbench-engine", &["trimbench-core", "trimbench-results", "trimbench-trace"]),
    (
        "trimbench-methods",
        &[
            "trimbench-core",
            "trimbench-policy",
            "trimbench-results",
            "trimbench-trace",
            "trimbench-engine",
        ],
    ),
    ("trimbench-report", &["trimbench-core", "trimbench-results"]),
    (
        "trimbench-devices",
        &[
            "trimbench-core",
            "trimbench-ssd",
            "trimbench-block",
            "trimbench-fs",
            "trimbench-policy",
            "trimbench-claim",
            "trimbench-linux",
            "trimbench-attach",
        ],
    ),
    (
        "trimbench-nbdkit",
        &["trimbench-core", "trimbench-ssd", "trimbench-attach", "trimbench-devices"],
    ),
    (
        "trimbench-fit",
        &[
            "trimbench-core",
            "trimbench-ssd",
            "trimbench-results",
            "trimbench-trace",
            "trimbench-engine",
            "trimbench-methods",
            "trimbench-devices",
        ],
    ),
    (
        "trimbench-app",
        &[
            "trimbench-core",
            "trimbench-ssd",
            "trimbench-results",
            "trimbench-trace",
            "trimbench-engine",
            "trimbench-methods",
            "trimbench-claim",
            "trimbench-linux",
            "trimbench-devices",
        ],
    ),
    ("trimpace", &["trimbench-core", "trimbench-policy", "trimbench-claim", "trimbench-linux"]),
    ("trimbench-py", LIBRARIES),
];

/// Every library: what the command line may use.
const LIBRARIES: &[&str] = &[
    "trimbench-core",
    "trimbench-ssd",
    "trimbench-policy",
    "trimbench-block",
    "trimbench-fs",
    "trimbench-trace",
    "trimbench-results",
    "trimbench-engine",
    "trimbench-methods",
    "trimbench-claim",
    "trimbench-log-pages",
    "trimbench-linux",
    "trimbench-doctor",
    "trimbench-attach",
    "trimbench-devices",
    "trimbench-report",
    "trimbench-fit",
    "trimbench-app",
];

/// Each crate uses only those of ours that the design lets it use.
pub(super) fn arrows(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in manifests(tree).filter(|file| file.path.starts_with("crates/")) {
        let manifest = match parse(file) {
            Ok(manifest) => manifest,
            Err(finding) => {
                findings.push(finding);
                continue;
            }
        };
        let name = package(&manifest, "name").unwrap_or_default();
        let Some(allowed) = allowed(name) else {
            let message = format!("no arrows are known for `{name}`: design them, then list them");
            findings.push(Fault::of(&file.path, message));
            continue;
        };
        for used in dependencies(&manifest).filter(|used| is_ours(used)) {
            if !allowed.contains(&used) {
                let message = format!("`{name}` may not use `{used}` (the arrows of the design)");
                findings.push(Fault::of(&file.path, message));
            }
        }
    }
    findings
}

/// Each crate says what it is.
pub(super) fn descriptions(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in manifests(tree) {
        match parse(file) {
            Ok(manifest) if manifest.contains_key("package") => {
                if package(&manifest, "description").is_none_or(|text| text.trim().is_empty()) {
                    findings.push(Fault::of(&file.path, "the package has no description"));
                }
            }
            Ok(_) => {}
            Err(finding) => findings.push(finding),
        }
    }
    findings
}

fn manifests(tree: &SourceTree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"))
}

fn parse(file: &File) -> Result<Table, Fault> {
    let text = file.text.as_deref().unwrap_or_default();
    text.parse().map_err(|error| Fault::of(&file.path, format!("not TOML: {error}")))
}

fn package<'a>(manifest: &'a Table, key: &str) -> Option<&'a str> {
    manifest.get("package")?.get(key)?.as_str()
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    if name == "trimbench" {
        return Some(LIBRARIES);
    }
    ARROWS.iter().find(|(from, _)| *from == name).map(|(_, to)| *to)
}

fn is_ours(name: &str) -> bool {
    name.starts_with("trimbench") || name == "trimpace"
}

/// Names of the packages that a build needs, on whatever platform and whatever they are renamed to.
fn dependencies(manifest: &Table) -> impl Iterator<Item = &str> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    let tables = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let tables = std::iter::once(manifest).chain(tables);
    let kinds =
        tables.flat_map(|table| [table.get("dependencies"), table.get("build-dependencies")]);
    let entries = kinds.flatten().filter_map(Value::as_table).flatten();
    let testing = manifest.get("features").and_then(|features| features.get("testing"));
    let testing = testing.and_then(Value::as_array).into_iter().flatten();
    let testing: Vec<&str> = testing.filter_map(Value::as_str).collect();
    let of_tests = move |name: &str| testing.contains(&format!("dep:{name}").as_str());
    let entries = entries.filter(move |(name, _)| !of_tests(name));
    entries.map(|(name, how)| how.get("package").and_then(Value::as_str).unwrap_or(name))
}

#[cfg(test)]
mod tests;
