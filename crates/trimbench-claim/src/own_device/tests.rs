use std::fs::File;
use std::path::PathBuf;

use super::*;
use crate::testing::requires;
use crate::{LoopIo, attach_loop_device};

/// A new loop device over an image without a name.
fn attached() -> (OwnedFd, PathBuf) {
    let image = tempfile::tempfile().unwrap();
    image.set_len(8 << 20).unwrap();
    attach_loop_device(&image.into(), LoopIo::Cached).unwrap()
}

#[test]
fn a_loop_device_of_ours_is_had_alone_and_a_writer_is_noticed() {
    let test = "a_loop_device_of_ours_is_had_alone_and_a_writer_is_noticed";
    if !requires(test, &[&["losetup", "--find"]]) {
        return;
    }
    let (device, node) = attached();
    let (file, guard) = OwnDevice::over(device.as_fd()).unwrap().into_parts();
    let again = OwnDevice::over(device.as_fd()).unwrap_err();
    assert!(matches!(again, OwnDeviceError::Refused { errno: Errno::EBUSY }), "{again}");
    drop(File::open(&node).unwrap());
    guard.check().unwrap();
    drop(File::options().write(true).open(&node).unwrap());
    let error = guard.check().unwrap_err();
    assert!(error.to_string().contains("had it open for writing"), "{error}");
    drop((file, guard));
    OwnDevice::over(device.as_fd()).unwrap();
}

#[test]
fn what_was_not_open_for_writing_or_is_no_loop_device_is_not_ours() {
    let file = tempfile::tempfile().unwrap();
    let refused = |file: &File| OwnDevice::over(file.as_fd()).unwrap_err();
    assert!(matches!(refused(&file), OwnDeviceError::NotOurs));
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    assert!(matches!(refused(&null), OwnDeviceError::NotOurs));
    let test = "what_was_not_open_for_writing_or_is_no_loop_device_is_not_ours";
    if !requires(test, &[&["losetup", "--find"]]) {
        return;
    }
    let (_device, node) = attached();
    let reader = File::open(&node).unwrap();
    assert!(matches!(refused(&reader), OwnDeviceError::NotOurs));
}
