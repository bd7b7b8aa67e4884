use trimbench_core::exit;

use super::*;

fn identity(keys: &[(&str, &str)]) -> Identity {
    keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// What becomes of a resume on `then` with the changes.
fn resume(then: &[(&str, &str)], changes: &[(&str, &str)]) -> Result<(), String> {
    let (then, mut now) = (identity(then), identity(then));
    now.extend(identity(changes));
    check_same(&then, &now).map_err(|failure| {
        assert_eq!(failure.code, exit::USAGE);
        format!("{}; {}", failure.message(), failure.hint.unwrap())
    })
}

const DISK: [(&str, &str); 7] = [
    ("path", "/dev/nvme0n1"),
    ("device-name", "nvme0n1"),
    ("device-number", "259:0"),
    ("by-id", "/dev/disk/by-id/nvme-A_1"),
    ("serial", "1"),
    ("size-bytes", "1024"),
    ("purged-by", "trim"),
];

#[test]
fn a_disk_that_the_kernel_named_anew_is_the_same_by_its_serial_number() {
    assert_eq!(resume(&DISK, &[]), Ok(()));
    let names = [("path", "/dev/nvme3n1"), ("device-name", "nvme3n1"), ("device-number", "259:7")];
    assert_eq!(resume(&DISK, &names), Ok(()));
    let error = resume(&DISK, &[("serial", "2")]).unwrap_err();
    assert!(error.contains("is not the one") && error.contains("serial differs"), "{error}");
    assert!(resume(&DISK, &[("size-bytes", "2048")]).is_err());
    assert!(resume(&DISK, &[("wwid", "x")]).is_err(), "what came new is a difference");
}

#[test]
fn without_anything_lasting_names_are_all_there_is() {
    let loops = [("path", "/dev/loop0"), ("backing-file", "/a.img"), ("size-bytes", "1024")];
    assert_eq!(resume(&loops, &[]), Ok(()));
    assert!(resume(&loops, &[("path", "/dev/loop1")]).unwrap_err().contains("path differs"));
    assert!(resume(&loops, &[("backing-file", "/b.img")]).is_err());
    // The serial number of a partition or a directory is its disk's.
    assert!(resume(&[("path", "/mnt/a"), ("serial", "1")], &[("path", "/mnt/b")]).is_err());
    let partition = [DISK.as_slice(), &[("partition-of", "nvme0n1")]].concat();
    assert!(resume(&partition, &[("path", "/dev/nvme0n1p2")]).is_err());
}

#[test]
fn another_purge_is_not_another_target() {
    let error = resume(&DISK, &[("purged-by", "format")]).unwrap_err();
    assert!(error.contains("purged by trim") && error.contains("by format"), "{error}");
    assert!(error.contains("--purge") && !error.contains("is not the one"), "{error}");
    let error = resume(&DISK, &[("purged-by", "format"), ("serial", "2")]).unwrap_err();
    assert!(error.contains("serial differs"), "{error}");
}
