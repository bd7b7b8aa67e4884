use trimbench_core::Nanos;
use trimbench_core::OperationKind::{Discard, Flush, Read, Write};
use trimbench_core::units::narrow;

use super::Happened::{BioEnded, Completed, Issued, Queued, Requeued};
use super::*;

const DISK: u32 = 7 << 20;
const PARTITION: u32 = (7 << 20) | 1;

/// What happened, when, to which class, from which sector to which.
type Event = (Happened, u64, OperationKind, u64, u64);

fn at(time: u64) -> Instant {
    if time == u64::MAX { Instant::NEVER } else { Instant::from_start(Nanos(time)) }
}

fn played(events: &[Event]) -> Requests {
    let disk = Disk { device: 0, numbers: vec![DISK, PARTITION] };
    let mut requests = Requests::new(vec![disk]);
    for (happened, time, kind, start, end) in events.iter().copied() {
        // Bios carry the partition's number.
        let device = if happened == Queued { PARTITION } else { DISK };
        let (at_time, sectors) = (at(time), end - start);
        let task = EventTask { thread: narrow(time), ..EventTask::default() };
        let (at, sector) = (Nanos(time), start);
        let event = BlockEvent { at, happened, device, kind, sector, sectors, task };
        requests.apply(&event, at_time);
    }
    requests
}

/// Asserts the requests as (class, entered, issued, completed).
#[track_caller]
fn check(events: &[Event], expected: &[(OperationKind, u64, u64, u64)]) {
    let mut found = Vec::new();
    played(events).take(&mut found);
    let expected: Vec<BlockRequest> = expected
        .iter()
        .map(|(kind, entered, issued, completed)| BlockRequest {
            device: 0,
            kind: *kind,
            entered: at(*entered),
            issued: at(*issued),
            completed: at(*completed),
        })
        .collect();
    let found: Vec<BlockRequest> = found.iter().map(|it| it.request).collect();
    assert_eq!(found, expected);
}

const NEVER: u64 = u64::MAX;

#[test]
fn a_request_is_told_from_its_entry_to_its_end() {
    let events =
        [(Queued, 1, Write, 8, 16), (Issued, 4, Write, 8, 16), (Completed, 9, Write, 8, 16)];
    check(&events[..1], &[(Write, 1, NEVER, NEVER)]);
    check(&events[..2], &[(Write, 1, 4, NEVER)]);
    check(&events, &[(Write, 1, 4, 9)]);
    // What began before we looked.
    check(&events[1..], &[(Write, 4, 4, 9)]);
    check(&events[2..], &[]);
    let mut requests = played(&events);
    requests.take(&mut Vec::new());
    let mut again = Vec::new();
    requests.take(&mut again);
    assert_eq!(again, [], "what ended is told once");
}

#[test]
fn a_request_has_its_whole_length_and_whoever_gave_its_first_bio() {
    let mut found = Vec::new();
    played(&[
        (Queued, 2, Write, 16, 24),
        (Queued, 3, Write, 8, 16),
        (Issued, 5, Write, 8, 24),
        (Completed, 7, Write, 8, 12),
        (Completed, 8, Write, 12, 24),
    ])
    .take_ended(&mut found);
    let found: Vec<_> = found.iter().map(|it| (it.length, it.task.thread)).collect();
    assert_eq!(found, [(Bytes(16 * 512), 2)]);
}

#[test]
fn merged_bios_are_one_request_that_entered_with_the_first() {
    check(
        &[
            (Queued, 1, Write, 16, 24),
            (Queued, 2, Write, 8, 16),
            (Queued, 3, Write, 32, 40),
            (Queued, 3, Read, 8, 16),
            (Issued, 5, Write, 8, 24),
            (Completed, 7, Write, 8, 24),
        ],
        &[(Write, 1, 5, 7), (Write, 3, NEVER, NEVER), (Read, 3, NEVER, NEVER)],
    );
}

#[test]
fn a_large_bio_becomes_several_requests_in_any_order() {
    check(
        &[
            (Queued, 1, Discard, 0, 300),
            (Issued, 2, Discard, 100, 200),
            (Issued, 3, Discard, 0, 100),
            (Completed, 4, Discard, 0, 100),
            (Issued, 5, Discard, 200, 300),
            (Completed, 6, Discard, 100, 200),
            (Completed, 7, Discard, 200, 300),
        ],
        &[(Discard, 1, 3, 4), (Discard, 1, 2, 6), (Discard, 1, 5, 7)],
    );
}

#[test]
fn of_two_that_want_the_same_each_has_its_own_request() {
    check(
        &[
            (Queued, 1, Read, 0, 8),
            (Queued, 2, Read, 0, 8),
            (Issued, 3, Read, 0, 8),
            (Completed, 4, Read, 0, 8),
            (Issued, 5, Read, 0, 8),
            (Completed, 6, Read, 0, 8),
        ],
        &[(Read, 1, 3, 4), (Read, 2, 5, 6)],
    );
}

#[test]
fn a_part_that_is_done_leaves_the_rest_and_a_requeued_request_waits_again() {
    let events = [
        (Queued, 1, Write, 0, 64),
        (Issued, 2, Write, 0, 64),
        (Completed, 3, Write, 0, 16),
        (Completed, 4, Write, 16, 64),
    ];
    check(&events[..3], &[(Write, 1, 2, NEVER)]);
    check(&events, &[(Write, 1, 2, 4)]);
    let events = [
        (Queued, 1, Write, 0, 8),
        (Issued, 2, Write, 0, 8),
        (Requeued, 3, Write, 0, 8),
        (Issued, 6, Write, 0, 8),
        (Completed, 7, Write, 0, 8),
    ];
    check(&events[..3], &[(Write, 1, NEVER, NEVER)]);
    check(&events, &[(Write, 1, 6, 7)]);
}

#[test]
fn one_flush_of_the_device_serves_all_that_wait() {
    check(
        &[
            (Queued, 1, Flush, 0, 0),
            (Queued, 2, Flush, 0, 0),
            (Issued, 3, Flush, 0, 0),
            (Queued, 4, Flush, 0, 0),
            (Completed, 5, Flush, 0, 0),
        ],
        &[(Flush, 1, 3, 5), (Flush, 4, NEVER, NEVER)],
    );
}

#[test]
fn bios_that_end_without_a_request_wait_no_more() {
    // It would have had to wait for a tag and may not; then it is queued again, and may.
    check(
        &[(Queued, 1, Write, 8, 16), (BioEnded, 2, Write, 8, 16), (Queued, 3, Write, 8, 16)],
        &[(Write, 3, NEVER, NEVER)],
    );
    // A discard of two ranges: the request shows the first one.
    check(
        &[
            (Queued, 1, Discard, 0, 8),
            (Queued, 1, Discard, 80, 96),
            (Issued, 2, Discard, 0, 24),
            (Completed, 5, Discard, 0, 24),
            (BioEnded, 5, Discard, 96, 96),
        ],
        &[(Discard, 1, 2, 5)],
    );
}

#[test]
fn after_a_loss_nothing_is_held_for_ever() {
    let mut requests = played(&[(Queued, 1, Write, 0, 8), (Issued, 2, Write, 0, 8)]);
    requests.lose(3);
    let mut found = Vec::new();
    requests.take(&mut found);
    assert_eq!((found.len(), requests.lost()), (0, 3));
    // So it is with a device that never issues what it is given.
    let queued = (0..=WAITING_MAX as u64).map(|n| (Queued, n, Write, n, n + 1));
    let mut requests = played(&queued.collect::<Vec<_>>());
    requests.take(&mut found);
    assert_eq!((found.len(), requests.lost()), (0, 1));
}
