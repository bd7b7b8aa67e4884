use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use tempfile::TempDir;

use super::draft::Begun;
use super::*;

fn folder() -> (TempDir, OutputDirectory) {
    let folder = tempfile::tempdir().unwrap();
    let directory = OutputDirectory::open(folder.path()).unwrap();
    (folder, directory)
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn pipe(path: &Path) {
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn content_is_replaced_and_nothing_else_is_left() {
    let (folder, directory) = folder();
    directory.write(name("run.json"), b"first", Replaces::Nothing, Durability::Later).unwrap();
    directory.write(name("run.json"), b"2", Replaces::AnyFile, Durability::Durable).unwrap();
    assert_eq!(directory.read(name("run.json")).unwrap(), b"2");
    assert_eq!(names(folder.path()), ["run.json"]);
    let mode = fs::metadata(folder.path().join("run.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777 & !0o22, 0o644, "the umask may take more");
    assert_eq!(mode & 0o133, 0);
}

#[test]
fn what_is_there_stays_until_the_draft_is_committed_and_if_it_never_is() {
    let (folder, directory) = folder();
    directory.write(name("a"), b"old", Replaces::Nothing, Durability::Later).unwrap();
    let draft = directory.begin(name("a"), Replaces::AnyFile).unwrap();
    draft.file().write_all(b"new").unwrap();
    assert_eq!(draft.path().parent(), Some(folder.path()));
    assert_eq!(fs::read(draft.path()).unwrap(), b"new");
    assert_eq!(directory.read(name("a")).unwrap(), b"old");
    drop(draft);
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(directory.read(name("a")).unwrap(), b"old");
}

#[test]
fn a_new_file_takes_the_place_of_nothing_that_came_before_or_meanwhile() {
    let (folder, directory) = folder();
    fs::write(folder.path().join("a"), "theirs").unwrap();
    let before = directory.begin(name("a"), Replaces::Nothing);
    assert!(matches!(before, Err(OutputError::Exists { path }) if path.ends_with("a")));
    let draft = directory.begin(name("b"), Replaces::Nothing).unwrap();
    fs::write(folder.path().join("b"), "theirs").unwrap();
    assert!(matches!(draft.commit(Durability::Later), Err(OutputError::Exists { .. })));
    assert_eq!(names(folder.path()), ["a", "b"]);
    assert_eq!(directory.read(name("b")).unwrap(), b"theirs");
    // Between the look and the renaming.
    let draft = directory.begin(name("c"), Replaces::Nothing).unwrap();
    fs::write(folder.path().join("c"), "theirs").unwrap();
    assert!(matches!(draft.publish(), Err(OutputError::Exists { .. })));
    assert_eq!(directory.read(name("c")).unwrap(), b"theirs");
}

#[test]
fn only_the_file_that_was_looked_at_is_replaced() {
    let (folder, directory) = folder();
    let path = folder.path().join("a");
    fs::write(&path, "seen").unwrap();
    let inode = Inode::of(File::open(&path).unwrap()).unwrap();
    let draft = directory.begin(name("a"), Replaces::File(inode)).unwrap();
    fs::rename(&path, folder.path().join("kept")).unwrap();
    fs::write(&path, "another").unwrap();
    assert!(matches!(draft.commit(Durability::Later), Err(OutputError::Exchanged { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"another");
    fs::rename(folder.path().join("kept"), &path).unwrap();
    let draft = directory.begin(name("a"), Replaces::File(inode)).unwrap();
    draft.file().write_all(b"new").unwrap();
    draft.commit(Durability::Durable).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_file_that_got_the_number_of_the_one_that_was_looked_at_is_another() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let directory = OutputDirectory::open(folder.path()).unwrap();
    let path = folder.path().join("a");
    let seen = directory.write(name("a"), b"ours", Replaces::Nothing, Durability::Later).unwrap();
    let draft = directory.begin(name("a"), Replaces::File(seen)).unwrap();
    fs::remove_file(&path).unwrap();
    // ext4 gives the number again at once; elsewhere this row says little.
    fs::write(&path, "theirs").unwrap();
    assert_ne!(directory.inode_of(name("a")).unwrap(), Some(seen));
    assert!(matches!(draft.commit(Durability::Later), Err(OutputError::Exchanged { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
}

#[test]
fn links_directories_pipes_and_sockets_are_not_replaced() {
    let (folder, directory) = folder();
    fs::write(folder.path().join("precious"), "theirs").unwrap();
    symlink("precious", folder.path().join("link")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    pipe(&folder.path().join("pipe"));
    let _listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    let cases = [
        ("link", "symbolic link"),
        ("dangling", "symbolic link"),
        ("folder", "directory"),
        ("pipe", "pipe"),
        ("socket", "socket"),
    ];
    let before = names(folder.path());
    for (at, expected) in cases {
        let error =
            directory.write(name(at), b"x", Replaces::AnyFile, Durability::Durable).unwrap_err();
        let OutputError::Unfit { kind, path } = &error else { panic!("{at}: {error}") };
        assert_eq!((*kind, path), (expected, &folder.path().join(at)));
        assert!(error.to_string().ends_with(&format!("{at}` is a {expected}")), "{error}");
        if at != "socket" {
            let error = directory.read(name(at)).unwrap_err();
            assert!(
                matches!(error, OutputError::Unfit { kind, .. } if kind == expected),
                "{error}"
            );
        }
    }
    assert_eq!(names(folder.path()), before);
    assert_eq!(directory.read(name("precious")).unwrap(), b"theirs");
}

#[test]
fn a_hard_link_is_replaced_by_name_and_its_file_keeps_its_content() {
    let (folder, directory) = folder();
    fs::write(folder.path().join("precious"), "theirs").unwrap();
    fs::hard_link(folder.path().join("precious"), folder.path().join("run.json")).unwrap();
    directory.write(name("run.json"), b"ours", Replaces::AnyFile, Durability::Durable).unwrap();
    assert_eq!(directory.read(name("precious")).unwrap(), b"theirs");
    assert_eq!(directory.read(name("run.json")).unwrap(), b"ours");
}

#[test]
fn a_renamed_directory_goes_on_receiving_and_what_is_in_its_place_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let (run, moved) = (folder.path().join("run"), folder.path().join("moved"));
    let directory = OutputDirectory::create(&run).unwrap();
    assert_eq!(directory.whereabouts(), run);
    fs::rename(&run, &moved).unwrap();
    fs::create_dir(folder.path().join("other")).unwrap();
    symlink("other", &run).unwrap();
    assert_eq!(directory.whereabouts(), moved.canonicalize().unwrap());
    directory.write(name("a"), b"x", Replaces::Nothing, Durability::Later).unwrap();
    assert_eq!(names(&moved), ["a"]);
    assert_eq!(names(&folder.path().join("other")), [""; 0]);
    assert_eq!(directory.read(name("a")).unwrap(), b"x");
    fs::remove_dir_all(&moved).unwrap();
    let error = directory.write(name("a"), b"x", Replaces::Nothing, Durability::Later).unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOENT)));
    let expected = format!("cannot begin `{}`: {}", run.join("a").display(), Errno(libc::ENOENT));
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_draft_that_was_exchanged_is_neither_committed_nor_removed() {
    let (folder, directory) = folder();
    let draft = directory.begin(name("a"), Replaces::Nothing).unwrap();
    let (own, begun) = (draft.path(), draft.begun());
    fs::remove_file(&own).unwrap();
    fs::write(&own, "theirs").unwrap();
    begun.remove().unwrap();
    assert!(matches!(draft.commit(Durability::Later), Err(OutputError::Exchanged { .. })));
    assert_eq!(fs::read(&own).unwrap(), b"theirs");
    assert_eq!(names(folder.path()).len(), 1);
}

#[test]
fn a_draft_is_removed_by_another_thread_until_it_has_its_name() {
    let (folder, directory) = folder();
    let draft = directory.begin(name("a"), Replaces::Nothing).unwrap();
    let begun: Begun = draft.begun();
    begun.remove().unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
    begun.remove().unwrap();
    assert!(draft.commit(Durability::Later).is_err());
    let draft = directory.begin(name("a"), Replaces::Nothing).unwrap();
    let begun = draft.begun();
    draft.commit(Durability::Later).unwrap();
    begun.remove().unwrap();
    assert_eq!(names(folder.path()), ["a"]);
    // What cannot be told is an error.
    let blocked = Begun { name: OsString::from("a/b"), ..begun };
    let error = blocked.remove().unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOTDIR)), "{error}");
}

#[test]
fn directories_are_made_as_far_as_they_are_missing_and_removed_as_far_as_they_are_empty() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    let inner = folder.path().join("a/b/c");
    let directory = OutputDirectory::create(&inner).unwrap();
    assert_eq!(directory.path(), inner);
    assert!(directory.is_empty().unwrap());
    assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o7022, 0);
    directory.write(name("x"), b"", Replaces::Nothing, Durability::Later).unwrap();
    assert!(!directory.is_empty().unwrap());
    directory.remove_made();
    assert!(inner.exists());
    directory.remove(name("x")).unwrap();
    directory.remove(name("x")).unwrap();
    directory.remove_made();
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(names(&folder.path().join("a")), [""; 0], "what was there before stays");
    // One that is there is opened, by a link too, and is not ours to remove.
    symlink("a", folder.path().join("link")).unwrap();
    OutputDirectory::create(&folder.path().join("link")).unwrap().remove_made();
    assert_eq!(names(folder.path()), ["a", "link"]);
    let parent = OutputDirectory::open(folder.path()).unwrap();
    let error = parent.remove(name("a")).unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::EISDIR)), "{error}");
}

#[test]
fn no_directory_is_made_through_a_link_or_over_something() {
    let folder = tempfile::tempdir().unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let error = OutputDirectory::create(&folder.path().join("dangling")).unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOTDIR)), "{error}");
    fs::write(folder.path().join("file"), "").unwrap();
    let error = OutputDirectory::create(&folder.path().join("file/run")).unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOTDIR)), "{error}");
    let parent = OutputDirectory::open(folder.path()).unwrap();
    let error = parent.make(name("file")).unwrap_err();
    assert!(matches!(&error, OutputError::Exists { path } if path.ends_with("file")), "{error}");
    assert_eq!(error.errno(), None);
    let error = parent.make(name("missing/run")).unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOENT)), "{error}");
    assert_eq!(names(folder.path()), ["dangling", "file"]);
    assert!(matches!(split(Path::new("..")), Err(OutputError::NoFileName { .. })));
    let parent = split(Path::new("run")).unwrap().0;
    assert!(OutputDirectory::open(parent).unwrap().path().as_os_str().is_empty());
}

#[test]
fn what_cannot_be_opened_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    let long = "x".repeat(256);
    for (name, errno) in [("loop", libc::ELOOP), (&long, libc::ENAMETOOLONG)] {
        let path = folder.path().join(name);
        let error = OutputDirectory::create(&path).unwrap_err();
        let expected = format!("cannot open the directory `{}`: {}", path.display(), Errno(errno));
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_directory_is_one_process_s_until_the_last_copy_goes() {
    let (folder, directory) = folder();
    let other = OutputDirectory::open(folder.path()).unwrap();
    let copy = directory.clone();
    assert!(directory.lock());
    drop(directory);
    assert!(!other.lock());
    drop(copy);
    assert!(other.lock());
}

#[test]
fn only_abandoned_drafts_of_our_names_are_swept() {
    let (folder, directory) = folder();
    let at = |name: &str| folder.path().join(name);
    let draft = |number: u32| format!(".run.json.{number:016x}.partial");
    let at_work = directory.begin(name("run.json"), Replaces::AnyFile).unwrap();
    for number in [1, 2] {
        fs::write(at(&draft(number)), "half").unwrap();
    }
    // Two names, links, pipes, directories, and names that are no draft's or another file's.
    fs::write(at("precious"), "theirs").unwrap();
    fs::hard_link(at("precious"), at(&draft(3))).unwrap();
    symlink("precious", at(&draft(4))).unwrap();
    pipe(&at(&draft(5)));
    fs::create_dir(at(&draft(6))).unwrap();
    let others = [
        ".run.json.000000000000000g.partial",
        ".run.json.000000000000000A.partial",
        ".run.json.00000000000000001.partial",
        ".run.json.000000000000001.partial",
        ".run.json.0000000000000001.partia",
        ".run.json.0000000000000001",
        ".trace.log.0000000000000001.partial",
        "run.json.0000000000000001.partial",
        ".run.json.partial",
    ];
    for other in others {
        fs::write(at(other), "theirs").unwrap();
    }
    let before = names(folder.path());
    assert_eq!(directory.sweep(&["host.json", "run.json"]).unwrap(), 2);
    let after = names(folder.path());
    let gone: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
    assert_eq!(gone, [&draft(1), &draft(2)]);
    at_work.commit(Durability::Later).unwrap();
    assert_eq!(directory.read(name("run.json")).unwrap(), b"");
}

#[test]
fn a_place_is_swept_before_it_is_written_but_for_recordings() {
    let (folder, directory) = folder();
    let begin = || match OutputPlace::within(&directory, name("out")).unwrap().begin().unwrap() {
        OutputFile::Draft(draft) => draft,
        OutputFile::Stream(_) => panic!("nothing is there"),
    };
    let recording = begin().lasting().unwrap();
    let kept = recording.path();
    let kept = kept.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(kept.starts_with(".out.") && kept.ends_with(".recording"), "{kept}");
    // As a kill leaves it, and what it leaves of another.
    fs::copy(recording.path(), folder.path().join(".out.0000000000000001.recording")).unwrap();
    fs::write(folder.path().join(".out.0000000000000001.partial"), "half").unwrap();
    let (living, _) = (begin(), begin());
    let living_name = living.path().file_name().unwrap().to_str().unwrap().to_owned();
    let mut expected = vec![kept, living_name, ".out.0000000000000001.recording".to_owned()];
    expected.sort();
    let mut found = names(folder.path());
    found.sort();
    assert_eq!(found, expected);
    recording.commit(Durability::Later).unwrap();
    assert!(names(folder.path()).contains(&"out".to_owned()));
}

#[test]
fn a_draft_of_the_longest_name_has_a_name_and_is_known_by_it() {
    let (folder, directory) = folder();
    let long = "x".repeat(255);
    let draft = directory.begin(name(&long), Replaces::Nothing).unwrap();
    let own = draft.path().file_name().unwrap().to_owned();
    assert!(is_draft_of(&own, name(&long)) && !is_draft_of(&own, name("x")), "{own:?}");
    draft.commit(Durability::Later).unwrap();
    assert_eq!(names(folder.path()), [long]);
}

#[test]
fn a_place_is_new_a_file_or_refused() {
    let (folder, directory) = folder();
    let at = |name: &str| folder.path().join(name);
    let write = |path: &Path| {
        let file = OutputPlace::of(path)?.begin()?;
        file.file().write_all(b"ours").unwrap();
        file.commit(Durability::Later)
    };
    write(&at("new")).unwrap();
    assert_eq!(directory.read(name("new")).unwrap(), b"ours");
    fs::write(at("file"), "theirs").unwrap();
    let OutputPlace::File { inode, mut content, .. } = OutputPlace::of(&at("file")).unwrap() else {
        panic!("a file is there");
    };
    let metadata = fs::metadata(at("file")).unwrap();
    assert_eq!((inode.device, inode.number), (metadata.dev(), metadata.ino()));
    let mut text = String::new();
    content.as_mut().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "theirs");
    write(&at("file")).unwrap();
    assert_eq!(directory.read(name("file")).unwrap(), b"ours");
    symlink("file", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let _listener = UnixListener::bind(at("socket")).unwrap();
    symlink("/dev/random", at("device")).unwrap();
    let cases = [
        ("link", "symbolic link"),
        ("dangling", "symbolic link"),
        ("device", "symbolic link"),
        ("folder", "directory"),
        ("socket", "socket"),
    ];
    let before = names(folder.path());
    for (at, kind) in cases {
        let at = folder.path().join(at);
        let error = write(&at).unwrap_err();
        let OutputError::Unfit { path, kind: is } = &error else { panic!("{error}") };
        assert_eq!((path, *is), (&at, kind));
    }
    let error = write(Path::new("/dev/random")).unwrap_err();
    let is_refused = matches!(error, OutputError::Unfit { kind: "character device", .. });
    assert!(is_refused, "{error}");
    assert!(matches!(write(Path::new("/")), Err(OutputError::NoFileName { .. })));
    assert_eq!(write(&at("missing/x")).unwrap_err().errno(), Some(Errno(libc::ENOENT)));
    assert_eq!(names(folder.path()), before);
}

#[test]
fn pipes_and_devices_that_take_everything_are_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let (itself, link) = (folder.path().join("pipe"), folder.path().join("link"));
    pipe(&itself);
    symlink("pipe", &link).unwrap();
    for path in [&itself, &link] {
        let reader = std::thread::spawn({
            let itself = itself.clone();
            move || fs::read_to_string(itself).unwrap()
        });
        let file = OutputPlace::of(path).unwrap().begin().unwrap();
        assert!(file.begun().is_none());
        file.file().write_all(b"streamed").unwrap();
        file.commit(Durability::Later).unwrap();
        assert_eq!(reader.join().unwrap(), "streamed");
        assert!(fs::symlink_metadata(&itself).unwrap().file_type().is_fifo());
    }
    let null = OutputPlace::of(Path::new("/dev/null")).unwrap().begin().unwrap();
    null.file().write_all(b"x").unwrap();
    let full = OutputPlace::of(Path::new("/dev/full")).unwrap().begin().unwrap();
    assert_eq!(full.file().write_all(b"x").unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    let new = OutputPlace::of(&folder.path().join("new")).unwrap().begin().unwrap();
    new.begun().unwrap().remove().unwrap();
    assert_eq!(names(folder.path()), ["link", "pipe"]);
}

#[test]
fn disks_memory_and_watchdogs_are_no_streams() {
    use rustix::fs::makedev;
    for (major, minor) in [(1, 3), (1, 5), (1, 7), (4, 1), (4, 64), (5, 0), (136, 0), (143, 9)] {
        assert!(super::place::takes_anything(makedev(major, minor)), "{major}:{minor}");
    }
    let others = [(1, 1), (1, 2), (1, 4), (1, 8), (3, 3), (6, 0), (10, 130), (21, 0), (135, 0)];
    for (major, minor) in others.into_iter().chain([(144, 0), (245, 0)]) {
        assert!(!super::place::takes_anything(makedev(major, minor)), "{major}:{minor}");
    }
}

#[test]
fn an_error_of_the_kernel_is_told_with_file_and_step() {
    let (folder, directory) = folder();
    let error = directory.read(name("missing")).unwrap_err();
    let path = folder.path().join("missing");
    assert_eq!(
        error.to_string(),
        format!("cannot read `{}`: {}", path.display(), Errno(libc::ENOENT))
    );
    let full = step("write", &path)(io::Error::from_raw_os_error(libc::ENOSPC));
    assert_eq!(full.errno(), Some(Errno::ENOSPC));
    assert_eq!(step("write", &path)(io::Error::other("x")).errno(), Some(Errno::EIO));
    let error =
        directory.write(name("a/b"), b"", Replaces::AnyFile, Durability::Durable).unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOENT)), "{error}");
}

#[test]
fn what_is_appended_is_there_at_once_and_never_to_a_file_without_a_name() {
    let (folder, directory) = folder();
    directory.write(name("steps"), b"old", Replaces::Nothing, Durability::Later).unwrap();
    let mut file = directory.append_to(name("steps"), Replaces::AnyFile).unwrap();
    assert_eq!(directory.read(name("steps")).unwrap(), b"");
    file.append(b"one\n").unwrap();
    file.append(b"two\n").unwrap();
    assert_eq!(directory.read(name("steps")).unwrap(), b"one\ntwo\n");
    fs::rename(folder.path().join("steps"), folder.path().join("moved")).unwrap();
    file.append(b"three\n").unwrap();
    assert_eq!(fs::read(folder.path().join("moved")).unwrap(), b"one\ntwo\nthree\n");
    fs::remove_file(folder.path().join("moved")).unwrap();
    let error = file.append(b"four\n").unwrap_err();
    assert_eq!(error.errno(), Some(Errno(libc::ENOENT)));
    assert!(error.to_string().contains("steps"), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}
