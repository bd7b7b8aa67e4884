use trimbench_core::Bytes;

use super::*;

fn drive(issued: u64, waiting: u64) -> DriveDiscards {
    let issued = PolicyCounts { count: issued, bytes: Bytes(issued * 4_096) };
    DriveDiscards { issued, waiting: Bytes(waiting), ..DriveDiscards::default() }
}

#[test]
fn the_rise_of_each_drive_is_noted_and_what_waits_now() {
    let mut step = Step::new("trim", "phase");
    note_discards(&mut step, &[drive(1, 50), drive(2, 50)], &[drive(4, 10), drive(7, 0)]);
    assert_eq!(step.series["issued-count-by-drive"].y, [Some(3.0), Some(5.0)]);
    assert_eq!(step.metric("issued_count"), Some(8.0));
    assert_eq!(step.metric("issued_bytes"), Some(8.0 * 4_096.0));
    assert_eq!(step.metric("waiting_bytes"), Some(10.0));
    assert_eq!(step.metric("skipped_count"), Some(0.0));
}

#[test]
fn nothing_is_noted_of_a_target_that_does_not_count() {
    let mut step = Step::new("trim", "phase");
    note_discards(&mut step, &[], &[]);
    assert_eq!((step.series.len(), step.metrics.len()), (0, 0));
}
