use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;

use super::*;

#[test]
fn an_opening_is_noticed_also_after_it_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let own = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    let opened = Witness::new(own.as_fd(), Offence::Open).unwrap();
    let written = Witness::new(own.as_fd(), Offence::Write).unwrap();
    (&own).write_all(b"our own access").unwrap();
    own.sync_all().unwrap();
    std::fs::metadata(&path).unwrap();
    assert!(!opened.has_seen() && !written.has_seen(), "nobody opened it");
    drop(File::open(&path).unwrap());
    assert!(opened.has_seen() && opened.has_seen(), "and that is not forgotten");
    assert!(!written.has_seen(), "it was opened for reading");
    std::fs::rename(&path, folder.path().join("other")).unwrap();
    drop(File::options().write(true).open(folder.path().join("other")).unwrap());
    assert!(written.has_seen());
}
