use std::mem::offset_of;

use super::*;

#[test]
fn structures_have_the_sizes_that_the_kernel_copies() {
    assert_eq!(size_of::<SearchKey>(), 104);
    assert_eq!(size_of::<SearchHead>(), 112);
    assert_eq!(offset_of!(Search, buffer), 112);
    assert_eq!(BTRFS_IOC_TREE_SEARCH_V2 >> 16 & 0x3fff, 112);
    assert_eq!(size_of::<DeviceInfo>(), 4096);
    assert_eq!(BTRFS_IOC_DEV_INFO >> 16 & 0x3fff, 4096);
    assert_eq!(size_of::<FilesystemInfo>(), 1024);
    assert_eq!(BTRFS_IOC_FS_INFO >> 16 & 0x3fff, 1024);
}

#[test]
fn the_key_after_one_carries_from_the_offset_to_the_type_and_the_object() {
    assert_eq!(following(5, 199, 8), Some((5, 199, 9)));
    assert_eq!(following(5, 199, u64::MAX), Some((5, 200, 0)));
    assert_eq!(following(5, 255, u64::MAX), Some((6, 0, 0)));
    assert_eq!(following(u64::MAX, 255, u64::MAX), None);
}

#[test]
fn set_bits_of_a_bitmap_are_free_sectors() {
    let content = [0b1100_0110, 0b0000_0001];
    let item = Item { object: 4096, kind: FREE_SPACE_BITMAP, offset: 16 * 4096, content: &content };
    let mut free = Vec::new();
    push_bitmap(&mut free, &item, 4096, &(0..u64::MAX));
    let sectors: Vec<_> =
        free.iter().map(|range| (range.start / 4096, range.length / 4096)).collect();
    assert_eq!(sectors, [(2, 2), (7, 3)]);
}

#[test]
fn items_are_split_until_the_buffer_ends_within_one() {
    let mut bytes = vec![0; HEADER];
    bytes[8] = 7;
    bytes[16] = 9;
    bytes[24] = 199;
    bytes[28] = 2;
    bytes.extend([3, 4]);
    let (item, rest) = split_item(&bytes).unwrap();
    assert_eq!((item.object, item.kind, item.offset), (7, 199, 9));
    assert_eq!(item.content, [3, 4]);
    assert!(rest.is_empty() && split_item(rest).is_none() && split_item(&bytes[..33]).is_none());
}
