use std::fs::File;

use super::*;

fn superblock(fields: &[(usize, u32)]) -> [u8; SUPERBLOCK_BYTES] {
    let mut bytes = [0; SUPERBLOCK_BYTES];
    bytes[0x38..0x3a].copy_from_slice(&MAGIC.to_le_bytes());
    for (at, value) in fields {
        bytes[*at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn groups_of_small_blocks_begin_at_block_one_and_the_last_is_shorter() {
    let fields = [(0x4, 20_000), (0x14, 1), (0x18, 0), (0x20, 8192)];
    let layout = parse(&superblock(&fields)).unwrap();
    let blocks: Vec<_> =
        layout.regions().iter().map(|it| (it.start / 1024, it.length.0 / 1024)).collect();
    assert_eq!(blocks, [(1, 8192), (8193, 8192), (16385, 3615)]);
    assert_eq!(layout.largest_minimum(), Bytes::mib(8));
    assert_eq!(layout.effective_minimum(Bytes(5000)), Bytes(4096));
}

#[test]
fn the_high_half_of_the_block_count_holds_only_with_64bit() {
    let mut fields = vec![(0x4, 5), (0x18, 2), (0x20, 32768), (0x150, 1)];
    assert_eq!(parse(&superblock(&fields)).unwrap().fs_block_count, 5);
    fields.push((0x60, INCOMPAT_64BIT));
    assert_eq!(parse(&superblock(&fields)).unwrap().fs_block_count, (1 << 32) + 5);
}

#[test]
fn with_bigalloc_a_minimum_is_whole_clusters() {
    let fields = [(0x4, 1 << 20), (0x18, 2), (0x1c, 6), (0x20, 1 << 19), (0x64, 0x200)];
    let layout = parse(&superblock(&fields)).unwrap();
    assert_eq!(layout.cluster_fs_blocks, 16);
    assert_eq!(layout.effective_minimum(Bytes::kib(65)), Bytes::kib(64));
    assert_eq!(layout.effective_minimum(Bytes::kib(68)), Bytes::kib(128));
    assert_eq!(layout.effective_minimum(Bytes(0)), Bytes(0));
    assert_eq!(layout.largest_minimum(), Bytes::gib(2));
}

#[test]
fn what_is_no_superblock_is_refused() {
    assert_eq!(parse(&[0; SUPERBLOCK_BYTES]), None);
    assert_eq!(parse(&superblock(&[(0x18, 7), (0x20, 1)])), None);
    let mut other = superblock(&[(0x18, 2), (0x20, 1)]);
    assert!(parse(&other).is_some());
    other[0x38] = 0;
    assert_eq!(parse(&other), None);
    assert_eq!(parse(&superblock(&[(0x18, 2), (0x20, 0)])), None);
}

#[test]
fn blocks_of_64_kib_and_clusters_of_512_mib_are_the_largest() {
    assert_eq!(parse(&superblock(&[(0x18, 6), (0x20, 1)])).unwrap().fs_block_bytes, 65536);
    let clusters = |log| parse(&superblock(&[(0x18, 0), (0x1c, log), (0x20, 1), (0x64, 0x200)]));
    assert_eq!(clusters(19).unwrap().cluster_fs_blocks, 1 << 19);
    assert_eq!(clusters(20), None);
    // Without bigalloc the field says nothing.
    let plain = parse(&superblock(&[(0x18, 0), (0x1c, 25), (0x20, 1)])).unwrap();
    assert_eq!(plain.cluster_fs_blocks, 1);
}

#[test]
fn addresses_that_64_bits_do_not_hold_are_refused() {
    let high = |blocks| {
        parse(&superblock(&[(0x18, 6), (0x20, 1), (0x60, INCOMPAT_64BIT), (0x150, blocks)]))
    };
    assert!(high(0xffff).is_some());
    assert_eq!(high(0x1_0000), None);
}

#[test]
fn a_filesystem_without_a_map_has_groups_whose_extents_nobody_says() {
    let layout = parse(&superblock(&[(0x4, 3), (0x18, 2), (0x20, 2)])).unwrap();
    // It knows no ioctl of the map.
    let directory = Arc::new(File::open("/proc").unwrap().into());
    let (regions, minimum) = (layout.regions(), Bytes(0));
    let planner = Ext4 { directory, layout, regions, minimum, trimmed_with: None };
    let region = |start: u64, length: u64| Region { start, length: Bytes(length) };
    assert_eq!(planner.regions(), [region(0, 8192), region(8192, 4096)]);
    assert_eq!(planner.free_extents(planner.regions()[0]), Ok(None));
    assert_eq!(planner.largest_minimum(), Some(Bytes(8192)));
    let cutting = planner.cutting();
    assert!(cutting.joins_regions && cutting.between_extents && !cutting.within_extents);
}
