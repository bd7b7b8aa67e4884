use super::*;

fn mounted(options: &str) -> Mount {
    Mount {
        id: 1,
        device: (0, 0),
        root: "/".into(),
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
        assert_eq!(mount_discard(&mounted(options)), expected, "{options}");
    }
}

#[test]
fn each_filesystem_has_the_rule_of_its_first_row_that_fits() {
    for (index, row) in DRAIN_RULES.iter().enumerate() {
        let mount = row.mount.unwrap_or(MountDiscard::AtCommit);
        for filesystem in row.types {
            assert_eq!(drain_rule(filesystem, mount), row.rule(), "{filesystem}");
        }
        assert_eq!(row.types.is_empty(), index + 1 == DRAIN_RULES.len(), "{row:?}");
    }
    let others = DRAIN_RULES.last().unwrap();
    assert_eq!(drain_rule("unknown", MountDiscard::Deferred), others.rule());
    assert!(others.latest_start > Nanos::from_secs(30), "the longest commit interval in use");
}

#[test]
fn a_mount_that_defers_discards_waits_longer_than_one_that_does_not() {
    let rule = |mount| drain_rule("btrfs", mount).latest_start;
    assert!(rule(MountDiscard::Deferred) > Nanos::from_secs(120));
    for mount in [MountDiscard::AtCommit, MountDiscard::Off] {
        assert_eq!(rule(mount), Nanos::from_secs(1), "{mount:?}");
    }
}
