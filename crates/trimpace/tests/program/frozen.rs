//! Frozen filesystems: to write to them, and to remove a file that is open, waits in the kernel
//! until the thaw. They are thawed when the stage is dropped, at the latest.

use trimbench_core::Nanos;
use trimbench_linux::pause;

use crate::endings::LARGEST;
use crate::stage::{BTRFS, EXT4, Running, Stage, XFS, apart, holds_within, run};

/// It must end while the filesystem is still frozen.
fn ends_by_sigterm(stage: &Stage, mut running: Running) {
    running.signal("TERM");
    let is_over = holds_within(Nanos::from_secs(6), || running.is_over());
    run("fsfreeze", &["--unfreeze", stage.point()]);
    assert!(is_over, "it waits for the thaw");
    assert_eq!(running.ended().code, Some(130));
    assert!(stage.largest() >= LARGEST);
    // Nobody keeps it busy.
    assert!(holds_within(Nanos::from_secs(2), || {
        let unmounted = std::process::Command::new("umount").arg(stage.point()).output();
        unmounted.unwrap().status.success()
    }));
    stage.mount();
}

#[test]
fn on_a_frozen_filesystem_sigterm_ends_it() {
    let Some(folder) = apart("frozen::on_a_frozen_filesystem_sigterm_ends_it") else { return };
    for (name, mkfs) in [("ext4", EXT4), ("xfs", XFS), ("btrfs", BTRFS)] {
        let Some(stage) = Stage::filled(&folder, name, 320, mkfs) else { continue };
        // In a call of FITRIM without a probe, and waiting for the file of one.
        let laws: [&[&str]; 2] = [&["--law", "talos", "--chunk", "4M"], &[]];
        for law in if name == "ext4" { &laws[..] } else { &laws[1..] } {
            run("fsfreeze", &["--freeze", stage.point()]);
            let running = stage.begin(law);
            pause(Nanos::from_millis(500));
            ends_by_sigterm(&stage, running);
        }
    }
}

#[test]
fn one_that_is_frozen_midway_is_left_by_sigterm_too() {
    let test = "frozen::one_that_is_frozen_midway_is_left_by_sigterm_too";
    let Some(folder) = apart(test) else { return };
    for (name, mkfs) in [("ext4", EXT4), ("xfs", XFS), ("btrfs", BTRFS)] {
        let Some(stage) = Stage::filled(&folder, name, 320, mkfs) else { continue };
        // With a probe, whose file is open, and so slow that it is still at work.
        let running = stage.begin(&["--share", "1%"]);
        pause(Nanos::from_millis(400));
        run("fsfreeze", &["--freeze", stage.point()]);
        ends_by_sigterm(&stage, running);
    }
}

#[test]
fn the_others_of_a_list_go_on() {
    let Some(folder) = apart("frozen::the_others_of_a_list_go_on") else { return };
    let Some(frozen) = Stage::new(&folder, "frozen", 64, EXT4) else { return };
    let Some(other) = Stage::filled(&folder, "other", 256, EXT4) else { return };
    let lines = [&other, &frozen].map(|stage| format!("{} {} ext4\n", stage.node, stage.point()));
    let list = folder.join("list");
    std::fs::write(&list, lines.concat()).unwrap();
    let before = other.discarded();
    run("fsfreeze", &["--freeze", frozen.point()]);
    // The last of a list is the first. The law wants a probe, and takes each in one call.
    let running = Running::begin(&["once", "-I", list.to_str().unwrap(), "--law", "mean"]);
    let ended = running.ended();
    run("fsfreeze", &["--unfreeze", frozen.point()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.errors.contains("is it frozen?"), "{ended:?}");
    assert!(other.discarded() - before > 128 << 20);
}
