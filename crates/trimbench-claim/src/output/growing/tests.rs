use std::os::unix::fs::MetadataExt as _;

use super::*;

const MEBIBYTE: u64 = 1 << 20;

#[test]
fn room_is_there_before_it_is_written_and_given_back_with_the_cut() {
    for parent in ["/var/tmp", "/dev/shm"] {
        let folder = tempfile::tempdir_in(parent).unwrap();
        let path = folder.path().join("file");
        let mut file = GrowingFile::new(File::create(&path).unwrap());
        let state = || {
            let found = std::fs::metadata(&path).unwrap();
            (found.len(), found.blocks() * 512)
        };
        file.write_all(b"whole").unwrap();
        file.reserve(5, 100).unwrap();
        let (length, room) = state();
        assert!(length == 5 && room >= MEBIBYTE, "{parent}: {length} {room}");
        // What is reserved already costs nothing more.
        file.reserve(5, 1_000).unwrap();
        assert_eq!(state(), (5, room));
        // Behind that, and no more than what is missing.
        file.reserve(5, 3 * MEBIBYTE).unwrap();
        let room = state().1;
        assert!((3 * MEBIBYTE..4 * MEBIBYTE).contains(&room), "{parent}: {room}");
        file.write_all(b" and half").unwrap();
        file.cut(5).unwrap();
        file.write_all(b"!").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole!");
        assert!(state().1 <= 64 << 10, "{parent}: {:?}", state());
        // After a cut it is reserved anew.
        file.reserve(6, 100).unwrap();
        assert!(state().1 >= MEBIBYTE);
    }
}

#[test]
fn room_that_is_not_there_is_an_error_and_changes_nothing() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut file = GrowingFile::new(File::create(folder.path().join("file")).unwrap());
    // Larger than any filesystem.
    assert!(file.reserve(0, 1 << 62).is_err());
    assert!(file.reserve(0, 1).is_ok());
}
