use std::os::unix::fs::FileExt as _;

use super::*;

fn units(log: &WriteLog, cut: usize, keeps: impl FnMut() -> bool) -> Vec<u8> {
    let image = tempfile::tempfile().unwrap();
    image.set_len(4 * UNIT as u64).unwrap();
    log.crash(cut, &image, keeps);
    (0..4_u64)
        .map(|unit| {
            let mut byte = [0];
            image.read_exact_at(&mut byte, unit * UNIT as u64).unwrap();
            byte[0]
        })
        .collect()
}

fn write(log: &WriteLog, offset: u64, data: &[u8]) {
    log.note(Request::Write { offset, data });
}

#[test]
fn what_was_flushed_is_there_and_of_the_rest_any_part() {
    let log = WriteLog::default();
    write(&log, 0, &[1; 2 * UNIT]);
    log.note(Request::Flush);
    log.mark(7);
    write(&log, UNIT as u64, &[2; 3 * UNIT]);
    log.note(Request::Discard { offset: 0, length: UNIT as u64 });
    assert_eq!(units(&log, log.len(), || false), [1, 1, 0, 0]);
    assert_eq!(units(&log, log.len(), || true), [0, 2, 2, 2]);
    let mut turn = false;
    let every_other = || {
        turn = !turn;
        turn
    };
    assert_eq!(units(&log, log.len(), every_other), [1, 2, 0, 2]);
    assert_eq!(units(&log, 1, || false), [0, 0, 0, 0], "not flushed yet");
    assert_eq!(units(&log, 3, || false), [1, 1, 0, 0]);
    assert_eq!((log.last_mark(2), log.last_mark(3)), (None, Some(7)));
}

#[test]
fn a_flush_makes_older_writes_and_discards_safe() {
    let log = WriteLog::default();
    write(&log, 0, &[1; UNIT]);
    log.note(Request::Discard { offset: 0, length: UNIT as u64 });
    write(&log, UNIT as u64, &[3; UNIT]);
    log.note(Request::Flush);
    assert_eq!(units(&log, log.len(), || false), [0, 3, 0, 0]);
}
