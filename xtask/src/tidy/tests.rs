use super::{CHECKS, Fault, File, SourceTree};
use crate::Repository;

/// A tree of text files that nobody may execute.
pub(super) fn tree(files: &[(&str, &str)]) -> SourceTree {
    let file = |(path, text): &(&str, &str)| File {
        path: (*path).to_owned(),
        executable: false,
        size: text.len() as u64,
        text: Some((*text).to_owned()),
    };
    SourceTree { files: files.iter().map(file).collect() }
}

/// A repository in which nothing is wrong.
fn clean() -> SourceTree {
    tree(&[
        (
            "crates/trimbench-methods/Cargo.toml",
            "[package]\nname = \"trimbench-methods\"\ndescription = \"Methods\"\n",
        ),
        ("crates/trimbench-core/src/exit.rs", "pub const DONE: u8 = 0;\n"),
        ("docs/reference/exit-codes.md", "# Exit codes\n\n| `0` | done |\n"),
        ("docs/references.md", "# References\n\n- **[S0]** A table.\n"),
        ("crates/a/src/one.rs", "use crate::two::Two;\n"),
        ("crates/trimbench-methods/src/lib.rs", "//! Methods. Source: [S0].\n"),
    ])
}

/// For each check a file that it must refuse.
fn plant(check: &str) -> File {
    let text = |path: &str, text: &str| tree(&[(path, text)]).files.remove(0);
    match check {
        "arrows" => text(
            "crates/a/Cargo.toml",
            "[package]\nname = \"trimbench-core\"\n[dependencies]\ntrimbench-ssd = \"0\"\n",
        ),
        "descriptions" => text("tests/Cargo.toml", "[package]\nname = \"tests\"\n"),
        "type-names" => text("a.rs", "pub struct One;\npub enum One {}\n"),
        "circles" => text("crates/a/src/two.rs", "use crate::one::One;\n"),
        "columns" => text("a.rs", &"x".repeat(101)),
        "file-length" => text("a.rs", &"\n".repeat(1_001)),
        "markers" => text("a.sh", concat!("# FIX", "ME later\n")),
        "headings" => text("a.md", "No title.\n"),
        "machine-paths" => text("a.sh", concat!("cd /wo", "rk/x\n")),
        "registry-hosts" => text("a.sh", concat!("ping static.crates", ".io\n")),
        "large-files" => File { size: 256 * 1024 + 1, ..text("a.bin", "") },
        "modes" => File { executable: true, ..text("a.md", "# Title\n") },
        "exit-codes" => text("crates/trimbench-core/src/exit.rs", "pub const NEW: u8 = 77;\n"),
        "references" => text("a.rs", "// Source: [NONE99].\n"),
        "allowed-skips" => text("tests/allowed-skips.txt", "no_such_test  # gone\n"),
        other => panic!("nothing is planted for `{other}`"),
    }
}

fn find(name: &str, tree: &SourceTree) -> Vec<Fault> {
    let check = CHECKS.iter().find(|check| check.name == name).unwrap();
    (check.find)(tree)
}

#[test]
fn every_check_fires_on_its_planted_fault_and_on_nothing_else() {
    for check in CHECKS {
        assert_eq!(find(check.name, &clean()), [], "{} finds fault with nothing", check.name);
        let mut planted = clean();
        let file = plant(check.name);
        planted.files.retain(|present| present.path != file.path);
        planted.files.push(file);
        let found = find(check.name, &planted);
        assert!(found.iter().any(|finding| finding.fails), "{} finds nothing", check.name);
    }
}

#[test]
fn scripts_are_executable_and_nothing_else_is() {
    let script = |executable| {
        let mut tree = tree(&[(".ci/run", "#!/usr/bin/env bash\n")]);
        tree.files[0].executable = executable;
        find("modes", &tree).len()
    };
    assert_eq!((script(true), script(false)), (0, 1));
    assert_eq!(find("modes", &tree(&[("a.rs", "#![allow(x)]\n")])), []);
}

#[test]
fn the_lock_file_and_vendored_assets_may_be_large() {
    let mut tree = tree(&[("Cargo.lock", ""), ("assets/vendor/a.js", ""), ("docs/a.svg", "")]);
    for file in &mut tree.files {
        file.size = 1 << 20;
    }
    let found = find("large-files", &tree);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "docs/a.svg");
}

#[test]
fn a_finding_says_where_it_is() {
    let file = &tree(&[("a/b.rs", "")]).files[0];
    assert_eq!(Fault::at(file, 7, "wide").to_string(), "a/b.rs:7: error: wide");
    assert_eq!(Fault::of("a", "long").as_advice().to_string(), "a: advice: long");
}

#[test]
fn the_tree_of_this_checkout_holds_this_file() {
    let tree = SourceTree::read(&Repository::here().unwrap()).unwrap();
    let this = tree.file("xtask/src/tidy/tests.rs").unwrap();
    assert!(this.text.as_deref().unwrap().contains("holds_this_file"));
    assert!(!this.executable);
}
