use super::*;

#[test]
fn a_range_as_long_as_the_minimum_is_discarded() {
    let range = |start, length| FreeRange { start, length };
    let extents = extents_of(&[range(0, 9), range(20, 10), range(40, 11)], Bytes(10));
    let extent = |start, length| FreeExtent { start, length: Bytes(length) };
    assert_eq!(extents, [extent(20, 10), extent(40, 11)]);
}

#[test]
fn a_map_that_cannot_be_read_is_not_one_that_is_missing() {
    assert!([Errno::EOPNOTSUPP, Errno::EINVAL, ENOTTY].into_iter().all(has_no_map));
    assert!(!has_no_map(Errno::EIO) && !has_no_map(Errno(1)));
}
