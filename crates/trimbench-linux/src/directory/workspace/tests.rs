use std::fs;

use super::*;

/// A workspace as a killed run leaves it.
fn abandoned(parent: &Path) -> PathBuf {
    let mut workspace = Workspace::create(parent).unwrap();
    fs::write(workspace.path().join("file-1"), b"data").unwrap();
    workspace.removed = true;
    workspace.path().to_owned()
}

fn rewrite(workspace: &Path, from: &str, to: &str) {
    let marker = workspace.join(MARKER);
    let text = fs::read_to_string(&marker).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&marker, text.replace(from, to)).unwrap();
}

fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
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
    let dead = abandoned(folder.path());
    assert_eq!(clean_leftovers(folder.path(), |_, _| ()).unwrap(), vec![dead.clone()]);
    assert!(!dead.exists());
    assert!(living.path().join(MARKER).exists());
    assert_eq!(clean_leftovers(folder.path(), |_, _| ()).unwrap(), Vec::<PathBuf>::new());
}

/// Each row makes of a leftover something that is not ours to remove.
#[test]
fn a_leftover_in_which_anything_disagrees_stays() {
    type Change = fn(&Path);
    let rows: [(&str, Change); 10] = [
        ("no marker", |it| fs::remove_file(it.join(MARKER)).unwrap()),
        ("another text", |it| rewrite(it, "workspace 2", "workspace 1")),
        ("another token", |it| rewrite(it, PREFIX, ".trimbench-0")),
        ("another directory", |it| rewrite(it, "\ndirectory ", "\ndirectory 1")),
        ("marker with a second name", |it| {
            fs::hard_link(it.join(MARKER), it.join("file-2")).unwrap();
        }),
        ("marker by a link", |it| {
            fs::rename(it.join(MARKER), it.join("file-2")).unwrap();
            std::os::unix::fs::symlink("file-2", it.join(MARKER)).unwrap();
        }),
        ("marker of no text", |it| {
            fs::remove_file(it.join(MARKER)).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, it.join(MARKER), Mode::RUSR).unwrap();
        }),
        ("others write to the marker", |it| mode(&it.join(MARKER), 0o620)),
        ("others write to the directory", |it| mode(it, 0o702)),
        ("another name", |it| {
            fs::rename(it, it.with_file_name(format!("{PREFIX}{}", "0".repeat(16)))).unwrap();
        }),
    ];
    for (row, change) in rows {
        let folder = tempfile::tempdir().unwrap();
        let path = abandoned(folder.path());
        change(&path);
        let cleaned = clean_leftovers(folder.path(), |_, _| panic!("{row}: taken for ours"));
        assert_eq!(cleaned.unwrap(), Vec::<PathBuf>::new(), "{row}");
        let name = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        assert_eq!(fs::read(name.join("file-1")).unwrap(), b"data", "{row}");
    }
}

#[test]
fn what_was_left_before_it_had_a_marker_is_removed_if_nothing_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |digit: &str| folder.path().join(format!("{PREFIX}{}", digit.repeat(16)));
    for digit in ["a", "b", "c", "d", "e"] {
        fs::create_dir(at(digit)).unwrap();
    }
    fs::write(at("b").join(MARKER), "").unwrap();
    // Not empty, being made at this moment, and open to others.
    fs::write(at("c").join(MARKER), "").unwrap();
    fs::write(at("c").join("file-1"), b"data").unwrap();
    let being_made = fs::File::create(at("d").join(MARKER)).unwrap();
    being_made.lock().unwrap();
    mode(&at("e"), 0o777);
    let cleaned = clean_leftovers(folder.path(), |_, _| panic!("nothing was mounted yet"));
    assert_eq!(cleaned.unwrap(), [at("a"), at("b")]);
    assert!(at("c").join("file-1").exists() && at("d").join(MARKER).exists() && at("e").exists());
}

#[test]
fn a_workspace_is_made_while_others_clean() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let cleans = || (0..300).for_each(|_| drop(clean_leftovers(folder.path(), |_, _| ())));
        let cleaning = scope.spawn(cleans);
        while !cleaning.is_finished() {
            let made = Workspace::create(folder.path()).unwrap();
            assert!(made.path().join(MARKER).exists());
        }
    });
}

#[test]
fn what_is_in_a_leftover_and_not_ours_stays_with_it() {
    type Change = fn(&Path, &Path);
    let rows: [(&str, Change); 9] = [
        ("file", |it, _| fs::write(it.join("thesis.txt"), b"precious").unwrap()),
        ("number never reached", |it, _| fs::write(it.join("77777"), b"precious").unwrap()),
        ("the same, at the top", |it, _| fs::write(it.join("file-1024"), b"precious").unwrap()),
        ("the same, below", |it, _| {
            fs::create_dir(it.join("s3")).unwrap();
            fs::write(it.join("s3/1024"), b"precious").unwrap();
        }),
        ("second link", |it, kept| fs::hard_link(kept, it.join("file-7")).unwrap()),
        ("second link below", |it, kept| {
            fs::create_dir(it.join("s0")).unwrap();
            fs::hard_link(kept, it.join("s0/7")).unwrap();
        }),
        ("symbolic link", |it, kept| {
            std::os::unix::fs::symlink(kept, it.join("file-7")).unwrap();
        }),
        ("directory", |it, _| fs::create_dir(it.join("file-7")).unwrap()),
        ("link to a directory", |it, kept| {
            std::os::unix::fs::symlink(kept.parent().unwrap(), it.join("s0")).unwrap();
        }),
    ];
    for (row, change) in rows {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // Both on one filesystem, and the precious file with a name that targets make.
        let kept = other.path().join("17");
        fs::write(&kept, b"precious").unwrap();
        let path = abandoned(folder.path());
        change(&path, &kept);
        let content = || fs::read_dir(&path).unwrap().count();
        let before = content();
        assert_eq!(clean_leftovers(folder.path(), |_, _| ()).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(fs::read(&kept).unwrap(), b"precious", "{row}");
        assert!(path.join(MARKER).exists(), "{row}: still known as ours");
        assert!(content() >= before - 1, "{row}");
    }
}

#[test]
fn numbers_up_to_the_highest_that_was_expected_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = {
        let mut workspace = Workspace::create(folder.path()).unwrap();
        for number in [7, 1_023, 1_024, 3_000, 100_000] {
            workspace.expect_number(number).unwrap();
            fs::write(workspace.path().join(number.to_string()), b"").unwrap();
        }
        let path = workspace.path().to_owned();
        // As if it were killed: what holds the lock is dropped, and nothing removed.
        workspace.removed = true;
        path
    };
    let marker = fs::read_to_string(path.join(MARKER)).unwrap();
    assert!(
        marker.ends_with("names below 2048\nnames below 4096\nnames below 131072\n"),
        "{marker}"
    );
    assert_eq!(clean_leftovers(folder.path(), |_, _| ()).unwrap(), [path]);
}

#[test]
fn a_copy_a_link_and_what_lies_deeper_are_no_leftovers() {
    let folder = tempfile::tempdir().unwrap();
    let below = tempfile::tempdir_in(folder.path()).unwrap();
    let original = abandoned(below.path());
    let copy = folder.path().join(original.file_name().unwrap());
    fs::create_dir(&copy).unwrap();
    for name in [MARKER, "file-1"] {
        fs::copy(original.join(name), copy.join(name)).unwrap();
    }
    let link = folder.path().join(format!("{PREFIX}{}", "c".repeat(16)));
    std::os::unix::fs::symlink(&original, &link).unwrap();
    assert_eq!(clean_leftovers(folder.path(), |_, _| ()).unwrap(), Vec::<PathBuf>::new());
    assert!(copy.join("file-1").exists() && original.join("file-1").exists() && link.is_symlink());
}

#[test]
fn notes_are_read_by_whoever_cleans() {
    let folder = tempfile::tempdir().unwrap();
    let mut workspace = Workspace::create(folder.path()).unwrap();
    workspace.note("mounts 7:1").unwrap();
    workspace.removed = true;
    let path = workspace.path().to_owned();
    drop(workspace);
    let notes = std::cell::RefCell::new(Vec::new());
    let cleaned = clean_leftovers(folder.path(), |path, marker| {
        let note = marker.lines().last().unwrap().to_owned();
        notes.borrow_mut().push((path.to_owned(), note));
    });
    assert_eq!(cleaned.unwrap(), std::slice::from_ref(&path));
    assert_eq!(notes.into_inner(), [(path, "mounts 7:1".to_owned())]);
}
