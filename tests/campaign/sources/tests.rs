use std::fs;

use super::Sources;
use crate::Repository;
use crate::process::output;

const LISTED: &[&str] = &["src/guard.rs", "src/guard/"];

/// A checkout with these files.
fn planted(files: &[(&str, &str)]) -> (tempfile::TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    output(&mut repository.command("git", &["init", "--quiet"])).unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (folder, repository)
}

const FILES: [(&str, &str); 4] = [
    ("src/guard.rs", "refuse"),
    ("src/guard/names.rs", "by-id"),
    ("src/guard/tests.rs", "assert"),
    ("src/other.rs", "free"),
];

#[test]
fn what_changes_is_named_unless_it_is_a_test_or_no_matter_of_it() {
    let (folder, repository) = planted(&FILES);
    let before = Sources::read(&repository, LISTED).unwrap();
    let after = |path: &str, text: &str| {
        fs::write(folder.path().join(path), text).unwrap();
        let now = Sources::read(&repository, LISTED).unwrap();
        assert_eq!(now.digest() == before.digest(), now == before);
        now.changed_since(&before)
    };
    assert_eq!(after("src/other.rs", "changed"), Vec::<String>::new());
    assert_eq!(after("src/guard/tests.rs", "changed"), Vec::<String>::new());
    assert_eq!(after("src/guard.rs", "let through"), ["src/guard.rs"]);
    assert_eq!(after("src/guard.rs", "refuse"), Vec::<String>::new());
    assert_eq!(after("src/guard/new.rs", ""), ["src/guard/new.rs"]);
    fs::remove_file(folder.path().join("src/guard/new.rs")).unwrap();
    fs::rename(folder.path().join("src/guard/names.rs"), folder.path().join("src/guard/a.rs"))
        .unwrap();
    assert_eq!(after("src/other.rs", ""), ["src/guard/a.rs", "src/guard/names.rs"]);
}

#[test]
fn a_listed_path_that_is_not_there_is_an_error() {
    let (_folder, repository) = planted(&FILES[..1]);
    let error = Sources::read(&repository, LISTED).unwrap_err().to_string();
    assert!(error.contains("src/guard/ is listed"), "{error}");
}

#[test]
fn a_comment_that_is_put_otherwise_changes_nothing_and_code_does() {
    let code = |words: &str, limit: u32| {
        format!("//! {words}.\nconst LIMIT: u32 = {limit};\n    /// {words}.\nfn guard() {{}}\n")
    };
    let (folder, repository) = planted(&[("src/guard.rs", &code("It guards", 3))]);
    let listed = &LISTED[..1];
    let before = Sources::read(&repository, listed).unwrap();
    output(&mut repository.command("git", &["hash-object", "-w", "src/guard.rs"])).unwrap();
    let changed = |text: String| {
        fs::write(folder.path().join("src/guard.rs"), text).unwrap();
        let now = Sources::read(&repository, listed).unwrap();
        now.but_for_comments(&repository, &before).unwrap().changed_since(&before).len()
    };
    assert_eq!(changed(code("It stands guard\n/// at the door", 3)), 0);
    assert_eq!(changed(code("It guards", 4)), 1);
    assert_eq!(changed(code("It guards", 3)), 0);
}
