use std::fs;

use super::*;

const MARK: &[u8] = b"ours";

fn open(path: &Path) -> Result<Option<File>, BackingError> {
    open_backing(path, 8, |head| head.starts_with(MARK))
}

#[test]
fn only_a_file_of_ours_that_nobody_has_is_opened_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    assert!(open(&path).unwrap().is_none());
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(open(&path), Err(BackingError::Foreign { .. })));
    fs::write(&path, "").unwrap();
    assert!(matches!(open(&path), Err(BackingError::Foreign { .. })));
    fs::write(&path, MARK).unwrap();
    let held = open(&path).unwrap().unwrap();
    assert!(matches!(open(&path), Err(BackingError::InUse { .. })), "it is locked");
    drop(held);
    let [link, hard] = ["link", "hard"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(open(&link), Err(BackingError::NoFile { .. })));
    assert!(matches!(open(folder.path()), Err(BackingError::NoFile { .. })));
    fs::hard_link(&path, &hard).unwrap();
    let held = open(&path).unwrap().unwrap();
    assert!(matches!(open(&hard), Err(BackingError::InUse { .. })), "the same by another name");
    drop(held);
    let reader = File::open(&path).unwrap();
    assert!(matches!(open(&path), Err(BackingError::InUse { .. })), "somebody reads it");
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), MARK);
}
