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
    // What fails half way is gone as well. Other tests mount and attach meanwhile.
    let failed = std::panic::catch_unwind(|| LoopFilesystem::new("ext4", 64, "no-such-option"));
    let complaint = *failed.unwrap_err().downcast::<String>().unwrap();
    let mut words = complaint.split('"').filter(|word| word.starts_with('/'));
    let (device, folder) = (words.next().unwrap(), words.next().unwrap());
    assert!(!fs::exists(folder).unwrap(), "{complaint}");
    let backing = format!("/sys/block/{}/loop/backing_file", device.trim_start_matches("/dev/"));
    let image = fs::read_to_string(backing).unwrap_or_default();
    // The image is removed either way: whoever is still attached shows that.
    assert!(!image.trim().ends_with("(deleted)"), "{complaint}: {image}");
}
