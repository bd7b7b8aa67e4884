use super::*;

#[test]
fn places_of_a_file_are_found_on_its_device_and_holes_are_left_out() {
    let extents = [
        FileExtent { logical: 0, physical: 1 << 20, length: 8_192 },
        FileExtent { logical: 16_384, physical: 9 << 20, length: 6_000 },
    ];
    let found = map(&[0, 4_096, 8_192, 16_384, 20_480], &extents);
    // 8,192 is a hole; a read at 20,480 would end behind its extent.
    assert_eq!(found, [1 << 20, (1 << 20) + 4_096, 9 << 20]);
}
