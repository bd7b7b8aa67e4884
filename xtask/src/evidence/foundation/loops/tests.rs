use std::fs;
use std::path::Path;
use std::time::Duration;

use super::LoopFilesystem;
use crate::evidence::Context;
use crate::steps::Deadline;
use crate::{Repository, setup};

#[test]
fn a_filesystem_on_a_loop_device_is_gone_when_dropped() {
    let is_root = rustix::process::geteuid().is_root();
    let has_loops = Path::new("/dev/loop-control").exists();
    if !(is_root && has_loops && setup::is_there("mkfs.ext4")) {
        let name = "a_filesystem_on_a_loop_device_is_gone_when_dropped";
        eprintln!("SKIP {name}: it needs root, loop devices and mkfs.ext4");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    let deadline = Deadline::after(Duration::from_secs(30));
    let context = Context::new(&repository, folder.path(), true, deadline);
    let mounts = || fs::read_to_string("/proc/mounts").unwrap();
    let made = LoopFilesystem::make(&context, "ext4", ("ext4", "discard")).unwrap();
    let (mount_point, device) = (made.path().to_owned(), made.device.clone().unwrap());
    let name = device.rsplit('/').next().unwrap().to_owned();
    let backing = format!("/sys/block/{name}/loop/backing_file");
    let image = mount_point.with_file_name("image");
    assert!(mounts().contains(mount_point.to_str().unwrap()));
    assert_eq!(fs::read_to_string(&backing).unwrap().trim(), image.to_str().unwrap());
    drop(made);
    assert!(!mounts().contains(mount_point.to_str().unwrap()));
    let now = fs::read_to_string(&backing).unwrap_or_default();
    assert_ne!(now.trim(), image.to_str().unwrap(), "{device} is still attached");
    assert!(!image.exists());
    // What fails half way is gone as well.
    let failed = LoopFilesystem::make(&context, "bad", ("ext4", "no-such-option"));
    assert!(failed.unwrap_err().to_string().contains("mount"));
    assert!(!mounts().contains("trimbench-loop-bad"));
}
