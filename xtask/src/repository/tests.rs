use std::fs;
use std::process::Command;

use super::Repository;
use crate::process::output;

fn git(repository: &Repository, arguments: &[&str]) {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let mut command: Command = repository.command("git", &identity);
    output(command.args(arguments)).unwrap();
}

/// A repository with one source and one document, committed.
fn planted() -> (tempfile::TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    fs::write(folder.path().join("code.rs"), "fn main() {}\n").unwrap();
    fs::write(folder.path().join("page.md"), "# Page\n").unwrap();
    fs::write(folder.path().join(".gitignore"), "/target\n").unwrap();
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message", "first"]);
    (folder, repository)
}

#[test]
fn a_changed_document_leaves_the_sources_as_they_are() {
    let (folder, repository) = planted();
    let before = repository.state().unwrap();
    assert!(!before.dirty);
    assert_eq!(before.label(), before.commit);
    fs::write(folder.path().join("page.md"), "# Another\n").unwrap();
    fs::write(folder.path().join("new.md"), "# New\n").unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("docs/picture.webp"), "picture").unwrap();
    assert_eq!(repository.state().unwrap(), before);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message", "documents"]);
    let after = repository.state().unwrap();
    assert_eq!(after.sources, before.sources);
    assert_ne!(after.commit, before.commit);
}

#[test]
fn a_changed_or_new_or_renamed_source_is_seen() {
    let (folder, repository) = planted();
    let clean = repository.state().unwrap();
    fs::write(folder.path().join("code.rs"), "fn main() { loop {} }\n").unwrap();
    let changed = repository.state().unwrap();
    assert!(changed.dirty);
    assert_ne!(changed.sources, clean.sources);
    assert!(changed.label().contains("-dirty-"), "{}", changed.label());
    git(&repository, &["checkout", "--quiet", "code.rs"]);
    assert_eq!(repository.state().unwrap(), clean);
    for source in ["new.rs", "picture.webp"] {
        fs::write(folder.path().join(source), "").unwrap();
        assert_ne!(repository.state().unwrap().sources, clean.sources, "{source}");
        fs::remove_file(folder.path().join(source)).unwrap();
    }
    fs::rename(folder.path().join("code.rs"), folder.path().join("moved.rs")).unwrap();
    let moved = repository.state().unwrap();
    assert!(moved.dirty);
    assert_ne!(moved.sources, clean.sources);
}

#[test]
fn ignored_and_deleted_files_are_not_listed() {
    let (folder, repository) = planted();
    fs::create_dir(folder.path().join("target")).unwrap();
    fs::write(folder.path().join("target/product"), "").unwrap();
    fs::remove_file(folder.path().join("code.rs")).unwrap();
    assert_eq!(repository.files().unwrap(), [".gitignore", "page.md"]);
}
