use std::fs::{File, create_dir, hard_link, write};
use std::os::unix::fs::symlink;

use super::*;

fn filled(path: &Path, kib: usize) {
    write(path, vec![1; kib << 10]).unwrap();
    File::open(path).unwrap().sync_all().unwrap();
}

#[test]
fn typical_is_where_half_of_the_bytes_lie_and_each_file_counts_once() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let below = folder.path().join("below");
    create_dir(&below).unwrap();
    assert_eq!(FileSizes::below(folder.path(), LookLimits::default()), Ok(None));
    // 64 files of 16 KiB, 4 of 128 KiB, one of 1 MiB: 1 MiB, 0.5 MiB and 1 MiB.
    (0..64).for_each(|index| filled(&below.join(format!("small-{index}")), 16));
    (0..4).for_each(|index| filled(&folder.path().join(format!("middle-{index}")), 128));
    filled(&folder.path().join("large"), 1_024);
    hard_link(folder.path().join("large"), below.join("the same")).unwrap();
    symlink("/", below.join("everything")).unwrap();
    // As large as it looks, and without a block.
    File::create(below.join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let found = FileSizes::below(folder.path(), LookLimits::default()).unwrap().unwrap();
    assert_eq!((found.files, found.bytes), (69, Bytes(2_560 << 10)));
    assert_eq!((found.typical, found.largest), (Bytes(128 << 10), Bytes(1 << 20)));
    assert_eq!((found.is_complete, found.unread), (true, 0));
}

#[test]
fn a_look_ends_at_its_limits_and_says_so() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    (0..20).for_each(|index| filled(&folder.path().join(index.to_string()), 4));
    let look = |entries, time| {
        FileSizes::below(folder.path(), LookLimits { entries, time }).unwrap().unwrap()
    };
    let hour = Nanos::from_secs(3_600);
    assert_eq!((look(20, hour).files, look(20, hour).is_complete), (20, true));
    assert_eq!((look(10, hour).files, look(10, hour).is_complete), (10, false));
    let none = FileSizes::below(folder.path(), LookLimits { entries: 20, time: Nanos::ZERO });
    assert_eq!(none, Ok(None));
    let missing = FileSizes::below(&folder.path().join("missing"), LookLimits::default());
    assert_eq!(missing, Err(Errno(libc::ENOENT)));
}
