use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let entries = folder.path().join("entries");
    (folder, entries)
}

fn take(entries: &Path) -> Result<RegistryJournal, JournalError> {
    RegistryJournal::take_in(entries, RegistryKind::Setting, "loop9")
}

fn names(entries: &Path) -> Vec<String> {
    let listed = fs::read_dir(entries).unwrap();
    let mut names: Vec<_> =
        listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_journal_outlives_its_holder_and_the_lock_does_not() {
    let (_folder, entries) = place();
    let first = take(&entries).unwrap();
    assert_eq!(first.read().unwrap(), None);
    first.write(b"one").unwrap();
    first.write(b"two").unwrap();
    drop(first);
    assert_eq!(names(&entries), ["setting-loop9.json"]);
    let things = RegistryJournal::things_in(&entries, RegistryKind::Setting).unwrap();
    assert_eq!(things, ["loop9"]);
    let second = take(&entries).unwrap();
    assert_eq!(second.read().unwrap().unwrap(), b"two");
    second.remove().unwrap();
    second.remove().unwrap();
    drop(second);
    assert_eq!(names(&entries), Vec::<String>::new());
}

#[test]
fn a_second_holder_is_refused_and_told_who_has_it() {
    let (_folder, entries) = place();
    let first = take(&entries).unwrap();
    let Err(JournalError::Held { process }) = take(&entries) else { panic!("taken twice") };
    assert_eq!(process, Some(std::process::id()));
    let other = RegistryJournal::take_in(&entries, RegistryKind::Setting, "loop10").unwrap();
    drop((first, other));
    take(&entries).expect("it is free again");
}

#[test]
fn what_is_a_link_or_foreign_or_too_long_is_not_read() {
    let (folder, entries) = place();
    let journal = take(&entries).unwrap();
    let outside = folder.path().join("outside");
    fs::write(&outside, "other").unwrap();
    symlink(&outside, journal.path()).unwrap();
    assert_eq!(journal.read(), Err(Errno(libc::EPERM)));
    fs::remove_file(journal.path()).unwrap();
    fs::hard_link(&outside, journal.path()).unwrap();
    assert_eq!(journal.read(), Err(Errno(libc::EPERM)));
    journal.write(b"ours").unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "other", "what was linked is not written");
    assert_eq!(journal.read().unwrap().unwrap(), b"ours");
    fs::write(journal.path(), vec![b' '; 4097]).unwrap();
    assert_eq!(journal.read(), Err(Errno(libc::EFBIG)));
    fs::remove_file(journal.path()).unwrap();
    fs::create_dir(journal.path()).unwrap();
    assert_eq!(journal.read(), Err(Errno(libc::EPERM)));
}

#[test]
fn a_lock_that_is_a_link_is_refused_and_nothing_behind_it_is_written() {
    let (folder, entries) = place();
    drop(take(&entries).unwrap());
    let (outside, lock) = (folder.path().join("outside"), entries.join("setting-loop9.lock"));
    fs::write(&outside, "other").unwrap();
    symlink(&outside, &lock).unwrap();
    assert!(matches!(take(&entries), Err(JournalError::Lock { .. })));
    fs::remove_file(&lock).unwrap();
    fs::hard_link(&outside, &lock).unwrap();
    let Err(JournalError::Lock { errno, .. }) = take(&entries) else { panic!("hard link taken") };
    assert_eq!(errno, Errno(libc::EPERM));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "other");
}

#[test]
fn a_folder_that_a_link_leads_to_is_refused_and_a_missing_one_has_no_journals() {
    let (folder, entries) = place();
    assert_eq!(RegistryJournal::things_in(&entries, RegistryKind::Setting), Ok(Vec::new()));
    let real = folder.path().join("real");
    drop(take(&real).unwrap());
    symlink(&real, &entries).unwrap();
    assert!(matches!(take(&entries), Err(JournalError::Lock { .. })));
    assert!(RegistryJournal::things_in(&entries, RegistryKind::Setting).is_err());
}

#[test]
fn only_journals_of_the_kind_are_listed() {
    let (_folder, entries) = place();
    drop(take(&entries).unwrap());
    for name in ["setting-.json", "setting-a.lock", "socket-b.json", "setting-c.json", "x.json"] {
        fs::write(entries.join(name), "").unwrap();
    }
    let things = RegistryJournal::things_in(&entries, RegistryKind::Setting).unwrap();
    assert_eq!(things, ["c"]);
}

#[test]
fn many_takers_never_hold_it_at_once() {
    let (_folder, entries) = place();
    drop(take(&entries).unwrap());
    let count = std::sync::atomic::AtomicU32::new(0);
    let holders = &std::sync::atomic::AtomicU32::new(0);
    let ordering = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    match take(&entries) {
                        Ok(journal) => {
                            assert_eq!(holders.fetch_add(1, ordering), 0, "two hold it");
                            count.fetch_add(1, ordering);
                            holders.fetch_sub(1, ordering);
                            drop(journal);
                        }
                        Err(JournalError::Held { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(count.into_inner() > 0);
}
