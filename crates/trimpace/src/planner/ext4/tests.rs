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
