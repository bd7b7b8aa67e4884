use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{FileType, Mode, mknodat};
use rustix::io::Errno;

use super::*;

#[test]
fn nothing_that_is_opened_is_left_to_another_program() {
    for flags in [READ, READ_THROUGH, WRITE, MAKE, STREAM, HOLD, DIRECTORY, SUBDIRECTORY] {
        assert!(flags.contains(OFlags::CLOEXEC), "{flags:?}");
    }
}

#[test]
fn a_link_is_not_what_it_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("file", at("to-file")).unwrap();
    symlink("folder", at("to-folder")).unwrap();
    symlink("nothing", at("to-nothing")).unwrap();
    let open = |name: &str, flags| rustix::fs::open(at(name), flags, Mode::RUSR).map(drop);
    for flags in [READ, WRITE] {
        assert_eq!(open("file", flags), Ok(()));
        assert_eq!(open("to-file", flags), Err(Errno::LOOP));
    }
    assert_eq!(open("folder", SUBDIRECTORY), Ok(()));
    assert_eq!(open("file", SUBDIRECTORY), Err(Errno::NOTDIR));
    // The kernel finds that a link is no directory before it finds that it is a link.
    assert_eq!(open("to-folder", SUBDIRECTORY), Err(Errno::NOTDIR));
    assert_eq!(open("to-folder", DIRECTORY), Ok(()));
    assert_eq!(open("to-file", READ_THROUGH), Ok(()));
    assert_eq!(open("to-nothing", MAKE), Err(Errno::EXIST));
    assert_eq!(open("file", MAKE), Err(Errno::EXIST));
    assert_eq!(open("new", MAKE), Ok(()));
    assert!(!at("nothing").exists());
}

#[test]
fn nothing_waits_for_the_other_end_of_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
    for flags in [READ, READ_THROUGH, HOLD] {
        rustix::fs::open(&pipe, flags, Mode::empty()).unwrap();
    }
}
