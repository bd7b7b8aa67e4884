use std::fs::File;

use super::*;

const GEOMETRY: XfsGeometry = XfsGeometry {
    fs_block_bytes: 4096,
    group_fs_blocks: 1000,
    group_count: 3,
    data_fs_blocks: 2100,
    has_realtime: false,
};

fn planner(release: (u32, u32)) -> Xfs {
    Xfs {
        directory: Arc::new(File::open("/").unwrap().into()),
        geometry: GEOMETRY,
        regions: regions(&GEOMETRY),
        release,
        minimum: Bytes(0),
    }
}

#[test]
fn regions_begin_behind_the_first_block_and_the_last_group_is_shorter() {
    let blocks: Vec<_> =
        regions(&GEOMETRY).iter().map(|it| (it.start / 4096, it.length.0 / 4096)).collect();
    assert_eq!(blocks, [(1, 999), (1001, 999), (2001, 99)]);
}

#[test]
fn releases_are_compared_by_number() {
    assert_eq!(parse_release("6.10.3-1-amd64"), Some((6, 10)));
    assert_eq!(parse_release("6.9-rc1"), Some((6, 9)));
    assert_eq!(parse_release("7.0"), Some((7, 0)));
    assert_eq!(parse_release("6.12rc3"), Some((6, 12)));
    assert_eq!(parse_release("unknown"), None);
    assert!(release() > (5, 0));
}

#[test]
fn older_kernels_are_given_whole_groups_with_a_warning() {
    for (release, cuts, early) in [((5, 15), false, false), ((6, 9), false, true)] {
        let cutting = planner(release).cutting();
        assert_eq!((cutting.between_extents, cutting.within_extents), (cuts, cuts));
        assert_eq!(cutting.returns_early, early);
        assert!(planner(release).hazards()[0].contains("before Linux 6.10"));
    }
    let new = planner((6, 10));
    assert!(new.cutting().between_extents && new.cutting().within_extents);
    assert!(new.cutting().returns_early && new.hazards().is_empty());
}

#[test]
fn the_largest_minimum_is_half_a_group() {
    assert_eq!(planner((6, 10)).largest_minimum(), Some(Bytes(500 * 4096)));
}

#[test]
fn a_group_of_one_block_has_no_region() {
    let geometry = XfsGeometry { data_fs_blocks: 2001, ..GEOMETRY };
    assert_eq!(regions(&geometry).len(), 2);
}

#[test]
fn a_realtime_section_is_said_to_be_left_out() {
    let geometry = XfsGeometry { has_realtime: true, ..GEOMETRY };
    let hazards = Xfs { geometry, ..planner((6, 10)) }.hazards();
    assert!(hazards.len() == 1 && hazards[0].contains("realtime"), "{hazards:?}");
}

#[test]
fn a_filesystem_without_a_map_does_not_say_its_extents() {
    // It knows no ioctl of the map.
    let directory = Arc::new(File::open("/proc").unwrap().into());
    let planner = Xfs { directory, ..planner((6, 10)) };
    assert_eq!(planner.free_extents(planner.regions()[0]), Ok(None));
}
