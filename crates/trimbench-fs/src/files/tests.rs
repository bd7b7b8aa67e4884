use super::*;

/// The numbers and sizes of all files.
fn sizes(files: &Files) -> Vec<(u32, u64)> {
    files.iter().map(|(id, file)| (id.0, file.size)).collect()
}

#[test]
fn files_are_found_by_number_and_listed_in_order() {
    let mut files = Files::default();
    for number in [255, 0, 1_000_000, 256, 70_000] {
        files.or_default(FileId(number)).size = u64::from(number) + 1;
    }
    let expected = [(0, 1), (255, 256), (256, 257), (70_000, 70_001), (1_000_000, 1_000_001)];
    assert_eq!(sizes(&files), expected);
    assert_eq!(files.or_default(FileId(256)).size, 257, "it is not made anew");
    files.get_mut(FileId(256)).unwrap().size = 5;
    assert_eq!(files[FileId(256)].size, 5);
    files.remove(FileId(255));
    files.remove(FileId(5_000_000));
    assert!(files.get(FileId(255)).is_none() && files.get(FileId(1)).is_none());
    assert_eq!(sizes(&files), [(0, 1), (256, 5), (70_000, 70_001), (1_000_000, 1_000_001)]);
}

#[test]
fn the_file_of_the_largest_number_is_the_last_of_the_list() {
    let mut files = Files::default();
    files.or_default(FileId(u32::MAX)).size = 7;
    files.or_default(FileId(u32::MAX - 256)).size = 6;
    assert_eq!(sizes(&files), [(u32::MAX - 256, 6), (u32::MAX, 7)]);
}
