use std::ffi::OsString;
use std::fs::File;

use super::*;

#[test]
fn an_open_file_goes_from_one_process_to_the_other_with_what_is_said_of_it() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(12_345).unwrap();
    let what = HandOver { node: "/dev/loop3".into(), socket: "/run/socket".into() };
    send(&theirs, file.as_fd(), &what).unwrap();
    let (said, received) = receive(&ours).unwrap();
    assert_eq!((said.node, said.socket), (what.node, what.socket));
    assert_eq!(File::from(received).metadata().unwrap().len(), 12_345);
}

#[test]
fn an_owner_is_gone_once_his_end_is_closed() {
    let (owner, link) = UnixStream::pair().unwrap();
    link.set_nonblocking(true).unwrap();
    let seen = DriveOwner { link };
    assert!(!seen.is_gone());
    drop(owner);
    assert!(seen.is_gone());
}

#[test]
fn a_server_that_ends_says_why() {
    let server = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        DriveProcess::start(command).unwrap_err().to_string()
    };
    assert_eq!(server("echo 'error: no room' >&2; echo 'hint: none' >&2; exit 3"), "no room");
    assert!(server("exit 0").contains("the process that is to serve the drive"));
}

#[test]
fn only_what_a_run_mounted_of_its_own_device_is_unmounted() {
    let mount = |place: &str| Mount {
        id: 1,
        // No device of this machine: it is found by what was mounted.
        device: (0, 40),
        root: OsString::from("/"),
        mount_point: place.into(),
        options: String::new(),
        filesystem: "ext4".to_owned(),
        source: OsString::from("/dev/nowhere"),
    };
    let node = Path::new("/dev/nowhere");
    for place in ["/run/.trimbench-0123/s0", "/mnt", "/"] {
        assert!(!is_leftover(&mount(place), node), "{place}: no such device");
    }
}
