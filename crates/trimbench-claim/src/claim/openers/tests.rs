use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use super::*;
use crate::testing::{Holder, folder_apart, requires, run_apart, skip};

/// Set in a child that is to play a part in a test.
const ROLE: &str = "TRIMBENCH_TEST_OPENERS";

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
    let holder = Holder::of(fs::File::open(file.path()).unwrap(), Stdio::null());
    let found = openers(&wanted).list;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].process, found[0].command.as_str()), (holder.0.id(), "sleep"));
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

#[test]
fn a_child_that_still_runs_our_program_does_not_count() {
    let test = "a_child_that_still_runs_our_program_does_not_count";
    if std::env::var_os(ROLE).is_some() {
        // Until it is killed, or the parent has died of a panic.
        let _ = io::Read::read(&mut io::stdin(), &mut [0]);
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let status = file.as_file().metadata().unwrap();
    let wanted = Wanted { files: vec![(status.dev(), status.ino())], ..Wanted::default() };
    let error = Stdio::from(fs::File::open(file.path()).unwrap());
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "--nocapture", &format!("claim::openers::tests::{test}")]);
    program.env(ROLE, "waits").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(error);
    let mut child = program.spawn().unwrap();
    let found = openers(&wanted).list;
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let own = std::process::id();
    let is_forking = [is_forking(&folder, own), is_forking(&folder, own + 1)];
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, []);
    assert_eq!(is_forking, [true, false], "a child of ours, and one of another");
}

#[test]
fn a_file_that_is_mapped_and_not_open_is_found() {
    let test = "a_file_that_is_mapped_and_not_open_is_found";
    if !rustix::process::geteuid().is_root() {
        skip(test, "not root, who alone may follow what is mapped");
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = fs::canonicalize(folder.path()).unwrap().join("cat");
    // Copied by another process: a child of another test could keep our opening for writing.
    let copied = Command::new("cp").arg("/bin/cat").arg(&program).status().unwrap();
    assert!(copied.success());
    let status = fs::metadata(&program).unwrap();
    let mut cat = Command::new(&program);
    let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It has been mapped once it answers.
    io::Write::write_all(child.stdin.as_mut().unwrap(), b"x").unwrap();
    io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let wanted = |device| Wanted { files: vec![(device, status.ino())], ..Wanted::default() };
    let found = openers(&wanted(status.dev())).list;
    let elsewhere = openers(&wanted(status.dev() + 1)).list;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!found.is_empty());
    for opener in &found {
        let expected = Opener {
            process: child.id(),
            command: "cat".to_owned(),
            path: program.clone(),
            writes: false,
            is_file: true,
        };
        assert_eq!(*opener, expected);
    }
    assert_eq!(elsewhere, [], "a file of the same inode number on another filesystem");
}

#[test]
fn a_device_is_told_from_a_file_and_from_other_devices() {
    let test = "a_device_is_told_from_a_file_and_from_other_devices";
    let nodes = crate::sysfs::names_in(Path::new("/sys/class/block")).into_iter();
    let mut nodes = nodes.map(|name| Path::new("/dev").join(name));
    let device = |node: PathBuf| fs::metadata(&node).ok().map(|status| (node, status.rdev()));
    let Some((node, number)) = nodes.find_map(device) else {
        skip(test, "there is no block device");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // Like a descriptor in `/proc`, without opening the device.
    let link = folder.path().join("3");
    std::os::unix::fs::symlink(&node, &link).unwrap();
    let numbers = (rustix::fs::major(number), rustix::fs::minor(number));
    let matches = |numbers| {
        let wanted = Wanted { devices: vec![numbers], ..Wanted::default() };
        Openers::default().matches(&link, &wanted)
    };
    assert_eq!(matches(numbers), Some(false));
    assert_eq!(matches((numbers.0, numbers.1 + 1)), None);
}

#[test]
fn where_proc_shows_less_than_everything_no_list_is_taken_for_whole() {
    let test = "where_proc_shows_less_than_everything_no_list_is_taken_for_whole";
    if folder_apart().is_some() {
        let unseen = Unseen { path: PathBuf::from("/proc"), errno: Errno(libc::EACCES) };
        assert_eq!(hidden(true), Some(unseen.clone()));
        assert_eq!(openers(&Wanted::default()).unseen, Some(unseen));
        return;
    }
    let script = "mount -t proc -o subset=pid proc /proc";
    if requires(test, &[&["unshare", "--mount", "sh", "-c", script]]) {
        run_apart(module_path!(), test, Path::new("/"), script);
    }
}
