use std::mem::offset_of;

use super::*;

#[test]
fn structures_have_the_sizes_that_the_kernel_copies() {
    assert_eq!(size_of::<Fsmap>(), 64);
    assert_eq!(size_of::<FsmapHead>(), 192);
    assert_eq!(offset_of!(FsmapQuery, records), 192);
    assert_eq!(FS_IOC_GETFSMAP >> 16 & 0x3fff, 192);
    assert_eq!(size_of::<XfsGeometryV1>(), 112);
    assert_eq!(XFS_IOC_FSGEOMETRY >> 16 & 0x3fff, 112);
}

#[test]
fn ranges_are_clipped_and_those_that_touch_are_one() {
    let mut free = Vec::new();
    for (start, length) in [(0, 5), (5, 20), (25, 5), (40, 100), (200, 5)] {
        push_clipped(&mut free, start, length, 10..50);
    }
    let ranges: Vec<_> = free.iter().map(|range| (range.start, range.length)).collect();
    assert_eq!(ranges, [(10, 20), (40, 10)]);
}

#[test]
fn device_numbers_are_encoded_as_the_kernel_does() {
    assert_eq!(encoded(7, 3), 0x703);
    assert_eq!(encoded(259, 0x1234), 0x0121_0334);
}
