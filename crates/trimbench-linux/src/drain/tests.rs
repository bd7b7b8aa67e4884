use super::*;

fn mounted(options: &str) -> Mount {
    Mount {
        id: 1,
        device: (0, 0),
        mount_point: "/".into(),
        options: options.to_owned(),
        filesystem: "btrfs".to_owned(),
        source: "/dev/loop0".into(),
    }
}

#[test]
fn mount_options_are_told_apart() {
    for (options, expected) in [
        ("rw,relatime", MountDiscard::Off),
        ("rw,nodiscard", MountDiscard::Off),
        ("rw,relatime,rw,discard,errors=remount-ro", MountDiscard::AtCommit),
        ("rw,discard=sync", MountDiscard::AtCommit),
        ("rw,ssd,discard=async", MountDiscard::Deferred),
    ] {
        assert_eq!(MountDiscard::of(&mounted(options)), expected, "{options}");
    }
}

#[test]
fn only_xfs_needs_its_log_forced_and_only_deferring_filesystems_long_waits() {
    let rule = |filesystem| drain_rule(filesystem, MountDiscard::AtCommit);
    assert_eq!(rule("xfs").force, ForceDiscards::FsyncDirtyFile);
    assert_eq!(rule("ext4").force, ForceDiscards::Sync);
    assert_eq!(rule("ext4").latest_start, Nanos::from_secs(1));
    assert_eq!(rule("btrfs").latest_start, Nanos::from_secs(1));
    assert!(drain_rule("btrfs", MountDiscard::Deferred).latest_start > Nanos::from_secs(120));
    assert!(rule("f2fs").latest_start > Nanos::from_secs(30));
}
