use std::fs;

use super::LoopFilesystem;
use crate::Need::{Filesystem, Loop, Program, Root};
use crate::requires;

#[test]
fn a_filesystem_on_a_loop_device_is_gone_when_dropped() {
    let name = "a_filesystem_on_a_loop_device_is_gone_when_dropped";
    if !requires(name, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    let mounts = || fs::read_to_string("/proc/mounts").unwrap();
    let made = LoopFilesystem::new("ext4", 64, "discard");
    let (mount_point, device) = (made.path().to_owned(), made.device_name().to_owned());
    let backing = format!("/sys/block/{device}/loop/backing_file");
    let image = fs::read_to_string(&backing).unwrap();
    assert!(mounts().contains(mount_point.to_str().unwrap()));
    drop(made);
    assert!(!mounts().contains(mount_point.to_str().unwrap()));
    assert_ne!(fs::read_to_string(&backing).unwrap_or_default(), image, "{device} is attached");
    assert!(!fs::exists(image.trim()).unwrap());
    // What fails half way is gone as well.
    let before = mounts();
    let failed = std::panic::catch_unwind(|| LoopFilesystem::new("ext4", 64, "no-such-option"));
    assert!(failed.is_err());
    assert_eq!(mounts(), before);
}
