//! How much is trimmed, and of what.

use crate::stage::{BTRFS, EXT4, Stage, XFS, apart, run};

/// What the probe's file keeps from being trimmed, with the blocks that say where it is.
const PROBE: u64 = (1 << 20) + (8 << 10);

/// What fstrim and trimpace discard on the same filesystem, mounted anew for each; it is intact
/// afterwards.
fn both(stage: &Stage, check: &[&str]) -> [u64; 2] {
    let sums = stage.checksums();
    let theirs = stage.discarded_by("fstrim", &["-v"]);
    stage.mount_anew();
    let before = stage.discarded();
    let ended = stage.once(&["-v"]);
    let ours = stage.discarded() - before;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains(&format!("({ours} bytes) trimmed\n")), "{ended:?}");
    assert_eq!(stage.checksums(), sums);
    stage.mount_anew();
    assert_eq!(stage.checksums(), sums);
    stage.check(check);
    [theirs, ours]
}

#[test]
fn on_ext4_it_discards_what_fstrim_does() {
    let Some(folder) = apart("amounts::on_ext4_it_discards_what_fstrim_does") else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 512, EXT4) else { return };
    let [theirs, ours] = both(&stage, &["e2fsck", "-fn"]);
    assert!((theirs - PROBE..=theirs).contains(&ours), "{ours} {theirs}");
}

#[test]
fn on_xfs_it_discards_at_least_what_fstrim_does() {
    let Some(folder) = apart("amounts::on_xfs_it_discards_at_least_what_fstrim_does") else {
        return;
    };
    let Some(stage) = Stage::filled(&folder, "xfs", 512, XFS) else { return };
    let [theirs, ours] = both(&stage, &["xfs_repair", "-n"]);
    assert!(ours >= theirs - PROBE, "{ours} {theirs}");
    assert!(ours <= 512 << 20);
}

#[test]
fn on_btrfs_it_discards_what_fstrim_does() {
    let Some(folder) = apart("amounts::on_btrfs_it_discards_what_fstrim_does") else { return };
    let Some(stage) = Stage::filled(&folder, "btrfs", 512, BTRFS) else { return };
    let [theirs, ours] = both(&stage, &["btrfs", "check", "--readonly"]);
    assert!(ours.abs_diff(theirs) <= theirs / 100, "{ours} {theirs}");
}

#[test]
fn each_law_and_option_trims_what_is_left() {
    let Some(folder) = apart("amounts::each_law_and_option_trims_what_is_left") else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    let theirs = stage.discarded_by("fstrim", &[]);
    let laws: [&[&str]; 8] = [
        &["--law", "plain"],
        &["--law", "pieces"],
        &["--law", "talos", "--chunk", "64M", "--delay", "10ms"],
        &["--law", "mean", "--chunk", "256M"],
        &["--share", "5%"],
        &["--deadline", "2s"],
        // Alone, it takes up to 10 s (see the test of `--minimum`, where there is less to do).
        &["--probe", "none", "--deadline", "2s"],
        &["--cover", "99%"],
    ];
    for law in laws {
        stage.mount_anew();
        let before = stage.discarded();
        let ended = stage.once(law);
        assert_eq!(ended.code, Some(0), "{law:?} {ended:?}");
        assert_eq!(ended.out, "", "{law:?}");
        let ours = stage.discarded() - before;
        // The probe's file, if there is one, and with a share the smallest extents are left: those
        // of the time before that file took its place, so a little more than 1 %.
        let least = if law[0] == "--cover" { theirs / 100 * 98 - PROBE } else { theirs - PROBE };
        assert!((least..=theirs).contains(&ours), "{law:?}: {ours} {theirs}");
        assert!(stage.largest() >= 4_294_963_200, "{law:?}");
    }
}

#[test]
fn offset_length_and_minimum_are_those_of_fstrim() {
    let Some(folder) = apart("amounts::offset_length_and_minimum_are_those_of_fstrim") else {
        return;
    };
    let Some(stage) = Stage::filled(&folder, "ext4", 512, EXT4) else { return };
    let parts: [&[&str]; 5] = [
        &["-m", "1M"],
        &["--minimum", "0x10000"],
        &["-o", "128M"],
        &["-l", "256MiB"],
        &["-o", "128M", "-l", "128M", "-m", "64K"],
    ];
    for part in parts {
        stage.mount_anew();
        let theirs = stage.discarded_by("fstrim", part);
        stage.mount_anew();
        let before = stage.discarded();
        let ended = stage.once(&[part, &["--probe", "none"]].concat());
        assert_eq!(ended.code, Some(0), "{part:?} {ended:?}");
        assert_eq!(stage.discarded() - before, theirs, "{part:?}");
        assert!(theirs > 0, "{part:?}");
    }
}

#[test]
fn a_full_filesystem_is_trimmed_without_a_probe_and_that_is_said() {
    let test = "amounts::a_full_filesystem_is_trimmed_without_a_probe_and_that_is_said";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "ext4", 64, EXT4) else { return };
    let hole = stage.place.join("hole");
    run("sh", &["-c", &format!("dd if=/dev/zero of={} bs=64K count=1", hole.display())]);
    let full = format!("dd if=/dev/zero of={}/full bs=4K || true", stage.point());
    run("sh", &["-c", &full]);
    std::fs::remove_file(&hole).unwrap();
    stage.mount_anew();
    let sums = stage.checksums();
    let before = stage.discarded();
    let ended = stage.once(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.errors.contains("no file for probe reads can be made"), "{ended:?}");
    assert!(ended.errors.contains("without a probe the pace is the slowest"), "{ended:?}");
    assert!(stage.discarded() - before >= 64 << 10);
    assert_eq!(stage.checksums(), sums);
}

#[test]
fn a_read_only_mount_is_trimmed_or_not_as_by_fstrim() {
    let test = "amounts::a_read_only_mount_is_trimmed_or_not_as_by_fstrim";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 256, EXT4) else { return };
    run("mount", &["-o", "remount,ro", stage.point()]);
    let theirs = std::process::Command::new("fstrim").arg(stage.point()).output().unwrap();
    let ended = stage.once(&[]);
    assert_eq!(ended.code, theirs.status.code(), "{ended:?} {theirs:?}");
    assert!(ended.errors.contains("probe"), "{ended:?}");
}
