use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::*;

/// What is there, held in a way in which the kernel syncs nothing: the error shows the attempt.
fn unsyncable(path: &Path) -> std::os::fd::OwnedFd {
    rustix::fs::open(path, opening::HOLD, Mode::empty()).unwrap()
}

/// The step at which the disk was waited for, and failed.
fn waited(committed: Result<(), OutputError>) -> Option<&'static str> {
    let Err(error) = committed else { return None };
    match error {
        OutputError::Step { step, errno: trimbench_core::Errno(libc::EBADF), .. } => Some(step),
        other => panic!("{other}"),
    }
}

#[test]
fn content_is_on_the_disk_before_its_name_if_it_is_durable_or_replaces_something() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let directory = OutputDirectory::open(folder.path()).unwrap();
    fs::write(at("old"), "old").unwrap();
    let old = Replaces::File(Inode::of(File::open(at("old")).unwrap()).unwrap());
    for (name, replaces, durability, waits) in [
        ("new", Replaces::Nothing, Durability::Later, false),
        ("durable", Replaces::Nothing, Durability::Durable, true),
        ("old", Replaces::AnyFile, Durability::Later, true),
        ("old", Replaces::AnyFile, Durability::Durable, true),
        ("old", old, Durability::Later, true),
        ("old", old, Durability::Durable, true),
    ] {
        let mut draft = directory.begin(OsStr::new(name), replaces).unwrap();
        draft.file().write_all(b"new").unwrap();
        draft.file = File::from(unsyncable(&draft.path()));
        let expected = waits.then_some("write");
        assert_eq!(
            waited(draft.commit(durability)),
            expected,
            "{name} {replaces:?} {durability:?}"
        );
    }
    // What could not be brought to the disk has got no name.
    assert!(!at("durable").exists());
    assert_eq!(fs::read(at("old")).unwrap(), b"old");
    assert_eq!(fs::read(at("new")).unwrap(), b"new");
}

#[test]
fn a_name_is_on_the_disk_once_it_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let directory = OutputDirectory::of(folder.path().to_owned(), unsyncable(folder.path()));
    for (durability, expected) in
        [(Durability::Later, None), (Durability::Durable, Some("make the directory durable of"))]
    {
        for replaces in [Replaces::Nothing, Replaces::AnyFile] {
            let name = OsString::from(format!("{durability:?} {replaces:?}"));
            let draft = directory.begin(&name, replaces).unwrap();
            assert_eq!(waited(draft.commit(durability)), expected, "{name:?}");
            assert!(folder.path().join(name).exists());
        }
    }
}
