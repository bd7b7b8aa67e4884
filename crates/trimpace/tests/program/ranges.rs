//! Ranges, minimum lengths and what the kernel remembers as trimmed: what fails with fstrim fails
//! here, and what fstrim trims is trimmed.

use crate::stage::{BTRFS, BareDevice, EXT4, Stage, XFS, apart, run};

#[test]
fn what_the_filesystem_does_not_take_is_the_error_that_fstrim_has() {
    let test = "ranges::what_the_filesystem_does_not_take_is_the_error_that_fstrim_has";
    let Some(folder) = apart(test) else { return };
    let wrong: [&[&str]; 7] = [
        // Above a group; below a block; behind the end; as far as numbers go.
        &["-m", "1G"],
        &["-l", "100"],
        &["-l", "0"],
        &["-o", "1T"],
        &["-o", "18446744073709551615"],
        &["-o", "18446744073709551615", "-l", "18446744073709551615"],
        &["-o", "128M", "-l", "18446744073709551615"],
    ];
    for (name, mkfs) in [("ext4", EXT4), ("xfs", XFS), ("btrfs", BTRFS)] {
        let Some(stage) = Stage::filled(&folder, name, 320, mkfs) else { continue };
        for part in wrong {
            let theirs = std::process::Command::new("fstrim");
            let theirs = { theirs }.args(part).arg(stage.point()).output().unwrap();
            let ended = stage.once(&[part, &["--law", "plain"]].concat());
            assert_eq!(ended.code, theirs.status.code(), "{name} {part:?} {ended:?} {theirs:?}");
        }
    }
}

#[test]
fn a_part_of_a_group_of_ext4_is_trimmed_as_by_fstrim() {
    let test = "ranges::a_part_of_a_group_of_ext4_is_trimmed_as_by_fstrim";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    for part in [["-o", "8M", "-l", "16M"], ["-o", "100M", "-l", "60M"]] {
        stage.mount_anew();
        let theirs = stage.discarded_by("fstrim", &part);
        stage.mount_anew();
        let before = stage.discarded();
        let ended = stage.once(&[&part[..], &["--law", "talos", "--delay", "1ms"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(stage.discarded() - before, theirs, "{part:?}");
        assert!(theirs > 0);
    }
}

#[test]
fn what_is_remembered_as_trimmed_is_not_said_to_be_trimmed() {
    let test = "ranges::what_is_remembered_as_trimmed_is_not_said_to_be_trimmed";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    run("fstrim", &[stage.point()]);
    let before = stage.discarded();
    let ended = stage.once(&["-v", "--law", "plain"]);
    let ours = stage.discarded() - before;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains(&format!("({ours} bytes) trimmed\n")), "{ended:?}");
    assert!(ours < 1 << 20, "{ours}");
    assert!(ended.errors.contains("may remember the rest as"), "{ended:?}");
}

#[test]
fn what_a_trim_with_a_larger_minimum_left_is_trimmed() {
    let test = "ranges::what_a_trim_with_a_larger_minimum_left_is_trimmed";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 512, EXT4) else { return };
    let theirs = stage.discarded_by("fstrim", &[]);
    stage.mount_anew();
    run("fstrim", &["-m", "8M", stage.point()]);
    let before = stage.discarded();
    let ended = stage.once(&["--law", "talos", "--chunk", "128M", "--delay", "1ms"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.discarded() - before, theirs);
    // Once more, it is remembered.
    let before = stage.discarded();
    assert_eq!(stage.once(&["--law", "talos", "--delay", "1ms"]).code, Some(0));
    assert_eq!(stage.discarded(), before);
}

#[test]
fn a_btrfs_on_two_devices_is_trimmed_once_on_both() {
    let test = "ranges::a_btrfs_on_two_devices_is_trimmed_once_on_both";
    let Some(folder) = apart(test) else { return };
    let second = BareDevice::new(&folder, "second", 256);
    let Some(stage) = Stage::filled(&folder, "btrfs", 256, BTRFS) else { return };
    run("btrfs", &["device", "add", "-f", "-K", &second.node, stage.point()]);
    stage.mount_anew();
    let again = folder.join("again");
    std::fs::create_dir(&again).unwrap();
    run("mount", &["--bind", stage.point(), again.to_str().unwrap()]);
    let list = folder.join("list");
    let line = |point: &str| format!("{} {point} btrfs\n", stage.node);
    std::fs::write(&list, [line(stage.point()), line(again.to_str().unwrap())].concat()).unwrap();
    let before = [stage.discarded(), second.counted()];
    let ended = crate::stage::trimpace(&["once", "-v", "-I", list.to_str().unwrap()]);
    let after = [stage.discarded(), second.counted()];
    run("umount", &[again.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let [first, other] = [after[0] - before[0], after[1] - before[1]];
    assert!(first > 64 << 20 && other > 64 << 20, "{first} {other}");
    assert_eq!(ended.out.lines().count(), 1, "{ended:?}");
    assert!(ended.out.contains(&format!("({} bytes) trimmed", first + other)), "{ended:?}");
    // The stage goes first: the device is in use until then.
    stage.unmount();
}

#[test]
fn a_btrfs_that_lacks_a_device_is_not_trimmed() {
    let test = "ranges::a_btrfs_that_lacks_a_device_is_not_trimmed";
    let Some(folder) = apart(test) else { return };
    let second = BareDevice::new(&folder, "second", 512);
    let mkfs = ["mkfs.btrfs", "-q", "-K", "-m", "raid1", "-d", "raid1", &second.node];
    let Some(stage) = Stage::new(&folder, "btrfs", 512, &mkfs) else { return };
    stage.unmount();
    drop(second);
    run("btrfs", &["device", "scan", "--forget"]);
    run("mount", &["-o", "degraded", &stage.node, stage.point()]);
    let before = stage.discarded();
    let list = folder.join("list");
    std::fs::write(&list, format!("{} {} btrfs\n", stage.node, stage.point())).unwrap();
    let listed = crate::stage::trimpace(&["once", "-v", "-I", list.to_str().unwrap()]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.errors.contains("lacks a device"), "{listed:?}");
    let named = stage.once(&[]);
    assert_eq!(named.code, Some(1), "{named:?}");
    assert!(named.errors.contains("lacks a device"), "{named:?}");
    assert_eq!(stage.discarded(), before);
}
