use std::os::fd::AsFd as _;

use trimbench_core::Errno;

use super::*;

fn pieces_in_mib(size: u64) -> Vec<u64> {
    let pieces = pieces(size);
    assert!(pieces.iter().all(|offset| offset % MIB == 0 && *offset < size));
    pieces.into_iter().map(|offset| offset / MIB).collect()
}

#[test]
fn both_edges_and_the_copies_of_btrfs_are_read_and_nothing_beyond_the_end() {
    for (size, expected) in [
        (0, vec![]),
        (1, vec![0]),
        (4096, vec![0]),
        (5 * MIB, vec![0, 1, 2, 3, 4]),
        (5 * MIB + 1, vec![0, 1, 2, 3, 4, 5]),
        (20 * MIB, vec![0, 1, 2, 3, 4, 15, 16, 17, 18, 19]),
        // An odd size: what lies 5 MiB before the end is within a piece.
        (20 * MIB + 512, vec![0, 1, 2, 3, 4, 15, 16, 17, 18, 19, 20]),
        (64 * MIB + 512, vec![0, 1, 2, 3, 4, 59, 60, 61, 62, 63, 64]),
        (100 * MIB, vec![0, 1, 2, 3, 4, 64, 95, 96, 97, 98, 99]),
        (
            300 * 1024 * MIB,
            vec![0, 1, 2, 3, 4, 64, 262_144, 307_195, 307_196, 307_197, 307_198, 307_199],
        ),
    ] {
        assert_eq!(pieces_in_mib(size), expected, "{size}");
    }
}

/// A file of `size` bytes with marks at these places.
fn marked(size: u64, marks: &[u64]) -> File {
    let file = tempfile::tempfile_in("/var/tmp").expect("/var/tmp is writable");
    file.set_len(size).expect("a sparse file");
    for place in marks {
        file.write_all_at(b"mark", *place).expect("there is room");
    }
    file
}

fn read(file: &File, place: u64) -> [u8; 4] {
    let mut mark = [0; 4];
    file.read_exact_at(&mut mark, place).expect("within the file");
    mark
}

#[test]
fn a_copy_is_as_long_and_has_what_lies_in_the_areas() {
    let size = (256 << 30) + 20 * MIB + 511;
    let areas = [0, 4 * MIB + 4096, 64 * MIB, 256 << 30, size - 5 * MIB, size - 4];
    let elsewhere = 32 * MIB;
    let file = marked(size, &[&areas[..], &[elsewhere]].concat());
    let copy = copy_of_areas(file.as_fd(), "image").expect("it can be read");
    assert_eq!(copy.metadata().expect("it is ours").len(), size);
    for place in areas {
        assert_eq!(&read(&copy, place), b"mark", "{place}");
    }
    assert_eq!(read(&copy, elsewhere), [0; 4], "that takes room for nothing");
}

#[test]
fn what_cannot_be_read_or_ends_too_early_is_an_error() {
    let (reader, _writer) = io::pipe().expect("a pipe");
    let error = copy_of_areas(reader.as_fd(), "pipe").expect_err("a pipe has no size");
    assert!(matches!(error, ProbeError::Unreadable { errno: Errno(libc::ESPIPE), .. }), "{error}");
    let unreadable = tempfile::NamedTempFile::new().expect("a folder for temporary files");
    unreadable.as_file().set_len(MIB).expect("a sparse file");
    let write_only = File::options().write(true).open(unreadable.path()).expect("it is ours");
    let error = copy_of_areas(write_only.as_fd(), "file").expect_err("it is not open for reading");
    assert!(matches!(error, ProbeError::Unreadable { errno: Errno(libc::EBADF), .. }), "{error}");

    let short = marked(1000, &[]);
    let mut buffer = [0; 4096];
    read_at_least(&short, &mut buffer, 1000, 0).expect("it is as long");
    let error = read_at_least(&short, &mut buffer, 1001, 0).expect_err("a byte is missing");
    assert_eq!(error.raw_os_error(), Some(libc::ENODATA));
}
