use trimbench_core::Bytes;

use super::*;

fn drive(issued: u64, waiting: u64) -> DriveDiscards {
    let issued = DiscardCounts { count: issued, bytes: Bytes(issued * 4_096) };
    DriveDiscards { issued, waiting: Bytes(waiting), ..DriveDiscards::default() }
}

#[test]
fn the_rise_of_each_drive_is_noted_and_what_waits_now() {
    let found = rises(&[drive(1, 50), drive(2, 50)], &[drive(4, 10), drive(7, 0)]).unwrap();
    assert_eq!(found.issued.count_by_drive.unwrap().y, [Some(3.0), Some(5.0)]);
    assert_eq!((found.issued.count, found.issued.bytes), (8, Bytes(8 * 4_096)));
    assert_eq!((found.waiting_bytes, found.skipped.count), (Bytes(10), 0));
}

#[test]
fn nothing_is_noted_of_a_target_that_does_not_count() {
    assert!(rises(&[], &[]).is_none());
}
