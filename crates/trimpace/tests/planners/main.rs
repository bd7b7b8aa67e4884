//! What the planners say, against what filesystems on loop devices really discard.
//!
//! A loop device counts discards exactly: `/sys/block/loopN/stat` has the sectors that it was asked
//! to discard.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "tests report what they skip")]

#[path = "../common/mod.rs"]
mod common;
mod scene;

use scene::{Scene, all_extents, sum, within_one_percent};
use trimbench_core::{Bytes, Errno};
use trimbench_linux::{BtrfsChunk, btrfs_chunks, free_space_map, trim_range};
use trimpace::planner::Region;

const EXT4: &[&str] = &["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0"];
const XFS: &[&str] = &["mkfs.xfs", "-q", "-K"];
const BTRFS: &[&str] = &["mkfs.btrfs", "-q", "-K", "-m", "single", "-d", "single"];
/// Of the image: four block groups, four allocation groups.
const SIZE: Bytes = Bytes::mib(512);
const FILES: u32 = 1600;

#[test]
fn ext4_lists_what_one_call_over_everything_discards() {
    let test = "ext4_lists_what_one_call_over_everything_discards";
    let Some(mut scene) = Scene::new(test, SIZE, EXT4) else { return };
    scene.fill(FILES);
    // The gaps that deleted files leave are shorter than the second.
    for minimum in [Bytes(0), Bytes::mib(1)] {
        scene.mount_anew();
        let extents = all_extents(&*scene.planner(Bytes(0)));
        assert!(extents.len() > 200, "deleted files leave gaps: {}", extents.len());
        assert_eq!(sum(&extents), whole_map(&scene), "in one call, of several pages");
        let listed = sum(&all_extents(&*scene.planner(minimum)));
        let discarded = scene.discarded(|directory| {
            trim_range(directory, 0, u64::MAX, minimum.0).unwrap();
        });
        assert!(within_one_percent(listed, discarded), "{minimum}: {listed} {discarded}");
    }
}

#[test]
fn ext4_calls_that_end_between_extents_discard_exactly_these() {
    let test = "ext4_calls_that_end_between_extents_discard_exactly_these";
    let Some(mut scene) = Scene::new(test, SIZE, EXT4) else { return };
    scene.fill(FILES);
    let planner = scene.planner(Bytes(0));
    for region in planner.regions() {
        let extents = planner.free_extents(*region).unwrap().unwrap();
        for two in extents.chunks(2) {
            let last = two[two.len() - 1];
            let length = last.start + last.length.0 - two[0].start;
            let discarded = scene.discarded_at_once(|directory| {
                trim_range(directory, two[0].start, length, 0).unwrap();
            });
            assert_eq!(discarded, sum(two), "{two:?}");
        }
    }
}

#[test]
fn ext4_refuses_a_minimum_above_a_group_and_the_planner_caps_it() {
    let test = "ext4_refuses_a_minimum_above_a_group_and_the_planner_caps_it";
    let mkfs = [EXT4, &["-O", "^has_journal"]].concat();
    let Some(scene) = Scene::new(test, SIZE, &mkfs) else { return };
    let huge = Bytes::gib(1);
    let planner = scene.planner(huge);
    let largest = planner.largest_minimum().unwrap();
    assert_eq!(largest, Bytes::mib(128));
    let trim = |minimum: u64| trim_range(scene.directory(), 0, u64::MAX, minimum);
    assert_eq!(trim(largest.0 + 4096), Err(Errno::EINVAL));
    trim(largest.0).unwrap();
    // One group has no metadata: it is a free extent of its own.
    let whole_groups = all_extents(&*planner);
    assert!(!whole_groups.is_empty() && whole_groups.iter().all(|it| it.length == largest));
}

#[test]
fn ext4_with_blocks_of_1_kib_and_bigalloc_lists_what_is_discarded() {
    let test = "ext4_with_blocks_of_1_kib_and_bigalloc_lists_what_is_discarded";
    let kinds: [&[&str]; 2] = [&["-b", "1024"], &["-O", "bigalloc", "-C", "65536"]];
    for options in kinds {
        let mkfs = [EXT4, options].concat();
        let Some(mut scene) = Scene::new(test, Bytes::mib(200), &mkfs) else { return };
        scene.fill(FILES / 4);
        let planner = scene.planner(Bytes(0));
        let listed = sum(&all_extents(&*planner));
        let discarded = scene.discarded(|directory| {
            for region in planner.regions() {
                trim_range(directory, region.start, region.length.0, 0).unwrap();
            }
        });
        assert!(within_one_percent(listed, discarded), "{options:?}: {listed} {discarded}");
    }
}

#[test]
fn xfs_lists_what_calls_over_its_regions_discard() {
    let test = "xfs_lists_what_calls_over_its_regions_discard";
    // With a reverse map the free space is listed among the extents of all files.
    for reverse_map in ["rmapbt=0", "rmapbt=1"] {
        let mkfs = [XFS, &["-m", reverse_map]].concat();
        let Some(mut scene) = Scene::new(test, SIZE, &mkfs) else { return };
        scene.fill(FILES);
        let planner = scene.planner(Bytes(0));
        let extents = all_extents(&*planner);
        assert!(extents.len() > 200, "deleted files leave gaps: {}", extents.len());
        let listed = sum(&extents);
        assert_eq!(listed, whole_map(&scene), "in one call, of several pages");
        let discarded = scene.discarded(|directory| {
            for region in planner.regions() {
                trim_range(directory, region.start, region.length.0, 0).unwrap();
            }
        });
        assert!(within_one_percent(listed, discarded), "{reverse_map}: {listed} {discarded}");
    }
}

#[test]
fn xfs_calls_discard_single_extents_and_parts_of_them() {
    let test = "xfs_calls_discard_single_extents_and_parts_of_them";
    let Some(mut scene) = Scene::new(test, SIZE, XFS) else { return };
    scene.fill(FILES);
    let planner = scene.planner(Bytes(0));
    if !planner.cutting().within_extents {
        eprintln!("SKIP {test}: the kernel is older than 6.10");
        return;
    }
    let extents = all_extents(&*planner);
    let some: Vec<_> = extents.into_iter().filter(|extent| extent.length.0 >= 8192).collect();
    let (one_by_one, halved) = some.split_at(some.len() / 2);
    let discarded = scene.discarded(|directory| {
        for extent in one_by_one {
            trim_range(directory, extent.start, extent.length.0, 0).unwrap();
        }
    });
    assert_eq!(discarded, sum(one_by_one));
    let half = |length: u64| length / 2 / 4096 * 4096;
    let discarded = scene.discarded(|directory| {
        for extent in halved {
            trim_range(directory, extent.start, half(extent.length.0), 0).unwrap();
        }
    });
    assert_eq!(discarded, halved.iter().map(|extent| half(extent.length.0)).sum::<u64>());
}

#[test]
fn xfs_takes_the_largest_minimum_that_the_planner_allows() {
    let test = "xfs_takes_the_largest_minimum_that_the_planner_allows";
    let Some(scene) = Scene::new(test, SIZE, XFS) else { return };
    let planner = scene.planner(Bytes::gib(4));
    let largest = planner.largest_minimum().unwrap();
    trim_range(scene.directory(), 0, u64::MAX, largest.0).unwrap();
    assert_eq!(trim_range(scene.directory(), 0, u64::MAX, SIZE.0), Err(Errno::EINVAL));
}

#[test]
fn btrfs_by_chunks_discards_all_free_space_and_a_fixed_step_does_not() {
    let test = "btrfs_by_chunks_discards_all_free_space_and_a_fixed_step_does_not";
    let Some(mut scene) = Scene::new(test, Bytes::gib(1), BTRFS) else { return };
    // Enough for three data chunks of 112 MiB, of which one crosses a step.
    scene.fill(3 * FILES);
    let planner = scene.planner(Bytes(0));
    assert_eq!(planner.hazards().len(), 1, "{:?}", planner.hazards());
    // No chunk begins here: only unallocated space is trimmed.
    let far = 1 << 60;
    let unallocated = scene.discarded(|directory| {
        trim_range(directory, far, Bytes::mib(1).0, 0).unwrap();
    });
    assert!(unallocated > Bytes::mib(64).0, "{unallocated}");
    let listed = sum(&all_extents(&*planner));
    let trim_all = |ranges: &[Region]| {
        scene.discarded(|directory| {
            for range in ranges {
                trim_range(directory, range.start, range.length.0, 0).unwrap();
            }
        })
    };
    let whole = trim_all(&[Region { start: 0, length: Bytes(u64::MAX) }]);
    assert!(within_one_percent(listed, whole), "{listed} {whole}");
    let by_chunk = trim_all(planner.regions());
    assert!(within_one_percent(listed, by_chunk), "{listed} {by_chunk}");
    let step = Bytes::mib(128);
    let last = planner.regions().last().unwrap();
    let count = (last.start + last.length.0).div_ceil(step.0);
    let steps: Vec<_> =
        (0..count).map(|index| Region { start: index * step.0, length: step }).collect();
    let by_step = trim_all(&steps);
    assert!(by_step < listed / 10 * 9, "a step misses what begins before it: {by_step} {listed}");
}

#[test]
fn btrfs_without_a_free_space_tree_lists_no_extents() {
    let test = "btrfs_without_a_free_space_tree_lists_no_extents";
    let mkfs = [BTRFS, &["-R", "^free-space-tree"]].concat();
    let Some(scene) = Scene::new(test, SIZE, &mkfs) else { return };
    let planner = scene.planner(Bytes(0));
    let chunks = btrfs_chunks(scene.directory()).unwrap();
    assert_eq!(planner.regions().len(), chunks.len());
    assert!(chunks.iter().any(BtrfsChunk::is_data));
    assert_eq!(planner.free_extents(planner.regions()[0]), Ok(None));
}

/// Free bytes of ext4 or XFS.
fn whole_map(scene: &Scene) -> u64 {
    let free = free_space_map(scene.directory(), 0, u64::MAX).unwrap();
    free.iter().map(|range| range.length).sum()
}
