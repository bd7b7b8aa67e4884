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
    assert_eq!(openers(&wanted).list, []);
    let input = Stdio::from(fs::File::open(file.path()).unwrap());
    let mut child = Command::new("sleep").arg("60").stdin(input).spawn().unwrap();
    let found = openers(&wanted).list;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].process, found[0].command.as_str()), (child.id(), "sleep"));
    assert!(found[0].is_file && !found[0].writes);
    assert_eq!(found[0].path, fs::canonicalize(file.path()).unwrap());
}

#[test]
fn a_proc_that_hides_processes_or_files_is_known_by_its_options() {
    for (options, is_privileged, expected) in [
        ("rw,relatime,rw", false, false),
        ("rw,hidepid=0", false, false),
        ("rw,hidepid=off,rw", false, false),
        ("rw,hidepid=invisible", false, true),
        ("rw,hidepid=2,gid=7", false, true),
        ("rw,hidepid=invisible", true, false),
        ("rw,subset=pid", true, true),
    ] {
        assert_eq!(hides(options, is_privileged), expected, "{options} {is_privileged}");
    }
}

#[test]
fn what_cannot_be_read_is_remembered_unless_the_process_has_ended() {
    let error = |code| io::Error::from_raw_os_error(code);
    let mut openers = Openers::default();
    for ended in [libc::ENOENT, libc::ESRCH, libc::EINVAL] {
        openers.misses(Path::new("/proc/1/fd"), &error(ended));
        assert_eq!(openers.unseen, None, "{ended}");
    }
    openers.misses(Path::new("/proc/2/fd"), &error(libc::EACCES));
    openers.misses(Path::new("/proc/3/fd"), &error(libc::EPERM));
    let first = Unseen { path: PathBuf::from("/proc/2/fd"), errno: Errno(libc::EACCES) };
    assert_eq!(openers.unseen, Some(first));
    let gone = tempfile::tempdir().unwrap();
    let mut openers = Openers::default();
    assert!(openers.descriptors(gone.path()).is_empty() && openers.unseen.is_none());
    fs::write(gone.path().join("fd"), "no folder").unwrap();
    assert!(openers.descriptors(gone.path()).is_empty());
    assert_eq!(openers.unseen.unwrap().errno, Errno(libc::ENOTDIR));
}

#[test]
fn only_init_may_be_kept_from_the_privileged() {
    let unseen = |errno| Some(Unseen { path: PathBuf::from("/proc/1/fd/0"), errno });
    let denied = unseen(Errno(libc::EACCES));
    assert!(is_shielded(1, denied.as_ref(), true));
    assert!(is_shielded(1, unseen(Errno(libc::EPERM)).as_ref(), true));
    assert!(!is_shielded(1, denied.as_ref(), false), "as any user");
    assert!(!is_shielded(2, denied.as_ref(), true), "another process");
    assert!(!is_shielded(1, unseen(Errno::EIO).as_ref(), true), "another error");
    assert!(!is_shielded(1, None, true), "nothing");
}
