//! What others do to the filesystem, its device or its image while it is trimmed.

use std::fs::{self, File};

use trimbench_core::Nanos;
use trimbench_linux::pause;

use crate::endings::{LARGEST, LONG, SLOW, fragmented, large};
use crate::stage::{BTRFS, EXT4, Running, Stage, XFS, apart, holds_within, run, trimpace};

/// Some ten to twenty steps.
const FEW: &[&str] = &["--law", "talos", "--chunk", "16M", "--delay", "40ms"];

/// Begins a slow pass and waits until it has discarded something.
fn under_way(stage: &Stage, law: &[&str]) -> Running {
    let before = stage.counted();
    let running = stage.begin(law);
    assert!(holds_within(Nanos::from_secs(10), || stage.counted() > before));
    running
}

/// It ends soon, fails, and says this.
fn stops(mut running: Running, because: &str) {
    assert!(holds_within(Nanos::from_secs(3), || running.is_over()), "{because}");
    let ended = running.ended();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.errors.contains(because), "{ended:?}");
}

#[test]
fn one_that_becomes_read_only_is_trimmed_no_more() {
    let test = "meanwhile::one_that_becomes_read_only_is_trimmed_no_more";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = fragmented(&folder) else { return };
    let running = under_way(&stage, SLOW);
    run("mount", &["-o", "remount,ro", stage.point()]);
    pause(Nanos::from_millis(200));
    let before = stage.counted();
    stops(running, "stopped: it became read-only");
    assert_eq!(stage.counted(), before);
}

#[test]
fn a_disk_that_is_another_one_now_is_trimmed_no_more() {
    let test = "meanwhile::a_disk_that_is_another_one_now_is_trimmed_no_more";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = fragmented(&folder) else { return };
    let running = under_way(&stage, SLOW);
    stage.pretend("diskseq", "1\n");
    stops(running, "stopped: its disk is another one now");
}

#[test]
fn a_setting_of_a_disk_that_was_exchanged_is_not_touched() {
    let test = "meanwhile::a_setting_of_a_disk_that_was_exchanged_is_not_touched";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = large(&folder) else { return };
    let mut running = stage.begin(LONG);
    assert!(holds_within(Nanos::from_secs(5), || stage.largest() == 4_096));
    stage.pretend("diskseq", "1\n");
    assert!(holds_within(Nanos::from_secs(20), || running.is_over()));
    let ended = running.ended();
    assert!(ended.errors.contains("it is another disk than before"), "{ended:?}");
    assert_eq!(stage.largest(), 4_096);
    assert_eq!(trimpace(&["restore"]).code, Some(0));
    stage.set_largest(LARGEST);
}

#[test]
fn a_call_that_fails_ends_this_filesystem_and_not_the_others() {
    let test = "meanwhile::a_call_that_fails_ends_this_filesystem_and_not_the_others";
    let Some(folder) = apart(test) else { return };
    let Some(broken) = Stage::filled(&folder, "btrfs", 512, BTRFS) else { return };
    let Some(other) = Stage::filled(&folder, "other", 256, EXT4) else { return };
    // The last of a list is the first.
    let lines = [&other, &broken].map(|stage| format!("{} {} auto\n", stage.node, stage.point()));
    let list = folder.join("list");
    fs::write(&list, lines.concat()).unwrap();
    let others = other.counted();
    broken.cut_short(256 << 20);
    let ended = trimpace(&["once", "-I", list.to_str().unwrap(), "--law", "pieces"]);
    broken.cut_short(0);
    assert_eq!(ended.code, Some(64), "{ended:?}");
    assert!(ended.errors.contains("FITRIM ioctl failed: EIO"), "{ended:?}");
    assert!(other.counted() - others > 128 << 20);
    assert!(broken.largest() >= LARGEST && other.largest() >= LARGEST);
}

#[test]
fn what_ext4_says_nothing_of_when_it_fails_is_not_said_to_be_trimmed() {
    let test = "meanwhile::what_ext4_says_nothing_of_when_it_fails_is_not_said_to_be_trimmed";
    let Some(folder) = apart(test) else { return };
    let Some(broken) = fragmented(&folder) else { return };
    let before = broken.discarded();
    broken.cut_short(256 << 20);
    let ended = broken.once(&["-v", "--law", "plain"]);
    broken.cut_short(0);
    let ours = broken.discarded() - before;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains(&format!("({ours} bytes) trimmed\n")), "{ended:?}");
    assert!(ended.errors.contains("or a discard failed"), "{ended:?}");
}

#[test]
fn one_that_grows_is_trimmed_to_its_former_end() {
    let test = "meanwhile::one_that_grows_is_trimmed_to_its_former_end";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "xfs", 320, XFS) else { return };
    let sums = stage.checksums();
    let running = under_way(&stage, FEW);
    let image = File::options().write(true).open(&stage.image).unwrap();
    image.set_len(512 << 20).unwrap();
    run("losetup", &["--set-capacity", &stage.node]);
    run("xfs_growfs", &[stage.point()]);
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.checksums(), sums);
    stage.check(&["xfs_repair", "-n"]);
}

#[test]
fn one_whose_device_becomes_shorter_ends_and_the_setting_is_as_before() {
    let test = "meanwhile::one_whose_device_becomes_shorter_ends_and_the_setting_is_as_before";
    let Some(folder) = apart(test) else { return };
    for law in [FEW, LONG] {
        let Some(stage) = Stage::filled(&folder, &format!("cut-{}", law.len()), 256, EXT4) else {
            return;
        };
        let running = stage.begin(law);
        pause(Nanos::from_millis(150));
        let image = File::options().write(true).open(&stage.image).unwrap();
        image.set_len(64 << 20).unwrap();
        run("losetup", &["--set-capacity", &stage.node]);
        let ended = running.ended();
        assert!(matches!(ended.code, Some(0 | 1)), "{law:?} {ended:?}");
        assert!(!ended.errors.contains("panic"), "{law:?} {ended:?}");
        assert!(stage.largest() >= LARGEST, "{law:?}");
    }
}

#[test]
fn one_that_fills_up_is_trimmed_of_what_is_left() {
    let test = "meanwhile::one_that_fills_up_is_trimmed_of_what_is_left";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let running = stage.begin(&["--share", "10%"]);
    let fill = format!("dd if=/dev/urandom of={}/full bs=64K 2>&1 || true", stage.point());
    let said = run("sh", &["-c", &fill]);
    assert!(said.contains("No space left"), "{said}");
    let sums = stage.checksums();
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.mount_anew();
    assert_eq!(stage.checksums(), sums);
    stage.check(&["e2fsck", "-fn"]);
}
