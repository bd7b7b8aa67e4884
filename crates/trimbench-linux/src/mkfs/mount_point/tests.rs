use super::*;

fn mount(device: (u32, u32), point: &str) -> Mount {
    Mount {
        id: 1,
        device,
        root: "/".into(),
        mount_point: PathBuf::from(point),
        options: "rw".to_owned(),
        filesystem: "ext4".to_owned(),
        source: "none".into(),
    }
}

#[test]
fn only_our_own_filesystem_alone_on_the_place_is_detached() {
    const PLACE: &str = "/run/.trimbench-0/s0";
    let ours = || mount((7, 1), PLACE);
    let elsewhere = || mount((7, 2), "/run/.trimbench-0/s00");
    for (mounts, expected) in [
        (vec![elsewhere(), ours()], true),
        (vec![elsewhere()], false),
        (vec![mount((7, 2), PLACE)], false),
        (vec![mount((0, 60), PLACE)], false),
        (vec![ours(), mount((7, 2), PLACE)], false),
        (vec![ours(), mount((7, 2), "/run/.trimbench-0/s0/below")], false),
        (vec![mount((7, 1), "/run/.trimbench-0/s0/below")], false),
    ] {
        let found = is_ours(&mounts, Path::new(PLACE), &[(7, 0), (7, 1)]);
        assert_eq!(found, expected, "{mounts:?}");
    }
}

#[test]
fn the_marker_says_what_was_to_be_mounted() {
    let marker = "trimbench workspace 2\nname x\npid 1\nmounts 7:12\nmounts 8:x\nmounts 259:3\n";
    assert_eq!(noted(marker), [(7, 12), (259, 3)]);
}

#[test]
fn nothing_but_a_block_device_can_be_expected() {
    assert_eq!(device_of(Path::new("/dev/null")), None);
    assert_eq!(device_of(Path::new("/")), None);
}
