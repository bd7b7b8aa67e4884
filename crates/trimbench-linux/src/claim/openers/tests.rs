use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use super::*;

#[test]
fn modes_of_opening_are_read_from_recorded_texts() {
    for (info, expected) in [
        ("pos:\t0\nflags:\t0100000\nmnt_id:\t27\n", false),
        ("pos:\t0\nflags:\t0100002\nmnt_id:\t27\n", true),
        ("pos:\t0\nflags:\t02100001\n", true),
        ("", true),
    ] {
        assert_eq!(may_write(info), expected, "{info}");
    }
}

#[test]
fn recorded_mappings_are_read() {
    let shared = "7f0c4a000000-7f0c4a021000 rw-s 00000000 fe:00 1057 /var/tmp/image";
    assert_eq!(mapping(shared), Some(("7f0c4a000000-7f0c4a021000", 1057, true)));
    let private = "7f0c4a000000-7f0c4a021000 rw-p 00000000 fe:00 1057 /var/tmp/image";
    assert!(!mapping(private).unwrap().2);
    assert_eq!(mapping("7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0 [stack]"), None);
}

#[test]
fn a_process_that_reads_a_file_is_found_and_this_one_is_not() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let status = file.as_file().metadata().unwrap();
    let wanted = Wanted { files: vec![(status.dev(), status.ino())], ..Wanted::default() };
    assert_eq!(openers(&wanted), []);
    let input = Stdio::from(fs::File::open(file.path()).unwrap());
    let mut child = Command::new("sleep").arg("60").stdin(input).spawn().unwrap();
    let found = openers(&wanted);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].process, found[0].command.as_str()), (child.id(), "sleep"));
    assert!(found[0].is_file && !found[0].writes);
    assert_eq!(found[0].path, fs::canonicalize(file.path()).unwrap());
}
