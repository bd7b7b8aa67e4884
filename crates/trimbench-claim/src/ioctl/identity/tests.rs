use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;

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

/// A loop device over this file of ours. The kernel detaches it when it is closed; should it not,
/// this does.
struct Attached {
    device: File,
    file: (u64, u64),
}

impl Drop for Attached {
    fn drop(&mut self) {
        /// `LOOP_CLR_FD`.
        const DETACH: libc::c_ulong = 0x4C01;
        let device = self.device.as_fd();
        if loop_status(device).is_ok_and(|status| status.file == self.file) {
            let _ = call_for_value(device, DETACH, &mut 0_u64);
        }
    }
}

#[test]
fn free_loop_devices_are_attached_one_after_the_other_and_let_go_of_by_themselves() {
    let test = "free_loop_devices_are_attached_one_after_the_other_and_let_go_of_by_themselves";
    let open = |path: &str| File::options().read(true).write(true).open(path);
    let Ok(control) = open("/dev/loop-control") else {
        crate::testing::skip(test, "it needs root and loop devices");
        return;
    };
    let image = file();
    image.as_file().set_len(1 << 20).unwrap();
    let data = image.as_file().metadata().unwrap();
    let file = (data.dev(), data.ino());
    // Others may be quicker to take the free one.
    let attach = || {
        (0..16).find_map(|_| {
            let number = free_loop(control.as_fd()).unwrap();
            let device = open(&format!("/dev/loop{number}")).unwrap();
            match attach_loop(device.as_fd(), image.as_file().as_fd(), LoopIo::Cached) {
                Ok(()) => Some((number, Attached { device, file })),
                Err(errno) => {
                    assert_eq!(errno, Errno(libc::EBUSY));
                    None
                }
            }
        })
    };
    let first = attach().expect("one is free");
    let second = attach().expect("another is free");
    assert_ne!(first.0, second.0);
    for (number, attached) in [&first, &second] {
        let device = attached.device.as_fd();
        assert_eq!(loop_status(device), Ok(LoopStatus { file, offset: 0, size_limit: 0 }));
        assert_eq!(is_read_only(device), Ok(false));
        let autoclear = format!("/sys/block/loop{number}/loop/autoclear");
        assert_eq!(std::fs::read_to_string(autoclear).unwrap(), "1\n");
    }
}
