use trimbench_claim::mounts::mount_of;

use super::*;

/// Of a virtio disk, Linux 6.18.
const RECORDED: &str = "   52931     7661  5363818    20632     9228    16062  1229568 \
    3363        0     8272    24222     3754       45   258336      196      976       29\n";

#[test]
fn a_recorded_line_is_parsed() {
    let counters = parse(RECORDED).unwrap();
    assert_eq!(counters.read.completed, 52_931);
    assert_eq!(counters.read.bytes, Bytes(5_363_818 * 512));
    assert_eq!(counters.write.time, Nanos::from_millis(3_363));
    assert_eq!(counters.discard.completed, 3_754);
    assert_eq!(counters.discard.bytes, Bytes(258_336 * 512));
    assert_eq!(counters.discard.time, Nanos::from_millis(196));
    assert_eq!(counters.flush.completed, 976);
    assert_eq!(counters.flush.time, Nanos::from_millis(29));
}

#[test]
fn older_kernels_are_told_by_their_missing_fields() {
    let fields: Vec<&str> = RECORDED.split_ascii_whitespace().collect();
    let before_flushes = fields[..15].join(" ");
    assert_eq!(parse(&before_flushes).unwrap().flush.completed, 0);
    assert_eq!(parse(&before_flushes).unwrap().discard.completed, 3_754);
    assert_eq!(parse(&fields[..11].join(" ")), None);
    assert_eq!(parse("1 2 three"), None);
    assert_eq!(parse(""), None);
}

#[test]
fn written_bytes_of_the_root_filesystem_are_counted() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let mount = mount_of(folder.path()).unwrap();
    if devices_of(&mount).is_empty() {
        eprintln!("SKIP: /var/tmp has no block device");
        return;
    }
    let source = DeviceCounters::open(&mount).unwrap();
    let before = source.read();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let after = source.read();
    assert!(after.write.bytes.0 >= before.write.bytes.0 + (1 << 20));
    assert_eq!(after.outstanding, 0);
}
