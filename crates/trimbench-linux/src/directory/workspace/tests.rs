use std::fs;

use super::*;

fn abandoned(parent: &Path, digit: char, marker: Option<&str>) -> PathBuf {
    let path = parent.join(format!("{PREFIX}{}", String::from(digit).repeat(16)));
    fs::create_dir(&path).unwrap();
    if let Some(text) = marker {
        fs::write(path.join(MARKER), text).unwrap();
    }
    fs::write(path.join("file-1"), b"data").unwrap();
    path
}

fn marker() -> String {
    format!("{MARKER_TEXT}\npid 1\n")
}

#[test]
fn names_are_told_apart() {
    for (name, expected) in [
        (".trimbench-0123456789abcdef", true),
        (".trimbench-0123456789ABCDEF", false),
        (".trimbench-0123456789abcde", false),
        (".trimbench-0123456789abcdef0", false),
        ("trimbench-0123456789abcdef", false),
        (".trimbench-", false),
    ] {
        assert_eq!(is_workspace_name(name), expected, "{name}");
    }
}

#[test]
fn a_workspace_is_removed_with_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = Workspace::create(folder.path()).unwrap();
    fs::write(workspace.path().join("file-1"), b"data").unwrap();
    fs::write(workspace.path().join(PROBE), b"").unwrap();
    for name in ["17", "s0/18", "s12/19"] {
        let path = workspace.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"data").unwrap();
    }
    workspace.remove().unwrap();
    workspace.remove().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_a_crash_left_is_cleaned_and_a_living_workspace_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let living = Workspace::create(folder.path()).unwrap();
    let dead = abandoned(folder.path(), 'a', Some(&marker()));
    assert_eq!(clean_leftovers(folder.path(), |_| ()).unwrap(), vec![dead.clone()]);
    assert!(!dead.exists());
    assert!(living.path().join(MARKER).exists());
    assert_eq!(clean_leftovers(folder.path(), |_| ()).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn nothing_that_is_not_ours_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = abandoned(
        tempfile::tempdir_in(folder.path()).unwrap().keep().as_path(),
        'f',
        Some(&marker()),
    );
    let unmarked = abandoned(folder.path(), 'a', None);
    let other_text = abandoned(folder.path(), 'b', Some("something else\n"));
    let link = folder.path().join(format!("{PREFIX}{}", "c".repeat(16)));
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    let foreign = abandoned(folder.path(), 'd', Some(&marker()));
    fs::write(foreign.join("thesis.txt"), b"precious").unwrap();
    fs::create_dir(foreign.join("file-9")).unwrap();
    let nested = abandoned(folder.path(), 'e', Some(&marker()));
    fs::create_dir(nested.join("s0")).unwrap();
    fs::write(nested.join("s0/thesis.txt"), b"precious").unwrap();
    assert_eq!(clean_leftovers(folder.path(), |_| ()).unwrap(), Vec::<PathBuf>::new());
    for kept in [&elsewhere, &unmarked, &other_text] {
        assert!(kept.join("file-1").exists(), "{}", kept.display());
    }
    assert!(link.is_symlink());
    assert_eq!(fs::read(foreign.join("thesis.txt")).unwrap(), b"precious");
    assert_eq!(fs::read(nested.join("s0/thesis.txt")).unwrap(), b"precious");
    assert!(foreign.join("file-9").is_dir());
    assert!(foreign.join(MARKER).exists(), "still known as ours for the day the file is gone");
}
