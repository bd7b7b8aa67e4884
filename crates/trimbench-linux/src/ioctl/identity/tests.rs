use std::fs::File;
use std::os::fd::AsFd;

use super::*;

/// A file on a disk or in memory, open for writing.
fn file() -> tempfile::NamedTempFile {
    tempfile::NamedTempFile::new_in("/var/tmp").unwrap()
}

#[test]
fn another_opening_of_a_file_is_noticed_for_as_long_as_it_lasts() {
    let file = file();
    assert_eq!(is_open_elsewhere(file.as_file().as_fd()), Ok(false));
    let reader = File::open(file.path()).unwrap();
    assert_eq!(is_open_elsewhere(file.as_file().as_fd()), Ok(true));
    drop(reader);
    assert_eq!(is_open_elsewhere(file.as_file().as_fd()), Ok(false));
    // The same opening under a second number is not another one, and no lease stays behind.
    let same = file.as_file().try_clone().unwrap();
    assert_eq!(is_open_elsewhere(same.as_fd()), Ok(false));
    File::options().write(true).open(file.path()).unwrap();
}

#[test]
fn a_lock_belongs_to_the_opening_and_not_to_the_process() {
    let file = file();
    let second = File::options().write(true).open(file.path()).unwrap();
    lock_whole(file.as_file().as_fd()).unwrap();
    lock_whole(file.as_file().as_fd()).unwrap();
    assert_eq!(lock_whole(second.as_fd()), Err(Errno(libc::EAGAIN)));
    drop(file);
    lock_whole(second.as_fd()).unwrap();
}

#[test]
fn regular_files_have_no_answers_of_devices() {
    let file = file();
    let descriptor = file.as_file().as_fd();
    assert_eq!(disk_sequence(descriptor), Err(Errno(libc::ENOTTY)));
    assert_eq!(is_read_only(descriptor), Err(Errno(libc::ENOTTY)));
    assert_eq!(loop_status(descriptor), Err(Errno(libc::ENOTTY)));
}
