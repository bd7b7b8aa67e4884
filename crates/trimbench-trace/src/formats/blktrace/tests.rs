//! blktrace's binary: both byte orders, sets of files, what is no command, what is broken.

use trimbench_core::Nanos;

use crate::format::ReadOptions;
use crate::read::tests::{latencies, lenient, read, record};
use crate::record::RecordKind;
use crate::tally::{Flaw, Ignored};
use Ignored::{Empty, Notice, OtherEvent, Passthrough};
use RecordKind::{Discard, Flush, Read, Write};

const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;
const PASSTHROUGH: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

/// An event, as the kernel writes it on a machine of this byte order.
fn event(big: bool, time: u64, (action, sector, bytes): (u32, u64, u32), behind: &[u8]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let double = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut event = Vec::new();
    event.extend(word(0x6561_7407));
    event.extend(word(1));
    event.extend(double(time));
    event.extend(double(sector));
    for value in [bytes, action, 42, 259 << 20 | 3, 0] {
        event.extend(word(value));
    }
    event.extend(half(0));
    event.extend(half(u16::try_from(behind.len()).unwrap()));
    event.extend(behind);
    event
}

fn queued(time: u64, kind: u32, sector: u64, bytes: u32) -> Vec<u8> {
    event(false, time, (QUEUE | kind, sector, bytes), &[])
}

#[test]
fn issues_and_completions_of_one_file_are_paired() {
    let events = [
        event(false, 100, (ISSUE | READ, 8, 4096), &[]),
        event(false, 150, (ISSUE | WRITE | DISCARD, 64, 4096), &[]),
        event(false, 200, (COMPLETE | READ, 8, 4096), &[]),
        event(false, 350, (COMPLETE | WRITE | DISCARD, 64, 4096), &[]),
        event(false, 400, (ISSUE | WRITE, 8, 4096), &[]),
        event(false, 430, (COMPLETE | WRITE, 8, 4096), &[]),
        queued(500, READ, 8, 4096),
    ];
    let options = ReadOptions { latencies: true, ..ReadOptions::default() };
    let found = latencies(&events.concat(), &options).unwrap();
    assert_eq!(found.of(Read, true).longest(), Nanos(100));
    assert_eq!(found.of(Discard, true).longest(), Nanos(200));
    assert_eq!(found.of(Write, false).longest(), Nanos(30));
    assert_eq!(found.unpaired(), 0);
}

#[test]
fn events_of_both_byte_orders_are_commands_or_counted() {
    for big in [false, true] {
        let events = [
            event(big, 400, (NOTIFY | QUEUE, 0, 0), b"process"),
            event(big, 500, (READ | 2, 0, 0), &[]),
            event(big, 600, (READ | QUEUE, 8, 4096), &[]),
            event(big, 700, (WRITE | FLUSH | QUEUE, 1 << 40, 512), &[]),
            event(big, 700, (WRITE | DISCARD | QUEUE, 16, u32::MAX - 511), &[]),
            event(big, 800, (FLUSH | WRITE | QUEUE, 0, 0), &[]),
            event(big, 900, (PASSTHROUGH | READ | QUEUE, 0, 512), b"command"),
            event(big, 900, (READ | QUEUE, 0, 0), &[]),
        ];
        let outcome = read(&[&events.concat()], &ReadOptions::default()).unwrap();
        let expected = [
            record(100, Read, 4096, 4096),
            record(200, Write, 512 << 40, 512),
            record(200, Discard, 8192, (4 << 30) - 512),
            record(300, Flush, 0, 0),
        ];
        assert_eq!((outcome.format, outcome.timed), ("blktrace", true));
        assert_eq!(outcome.records, expected, "big endian: {big}");
        let ignored = [(OtherEvent, 1), (Notice, 1), (Passthrough, 1), (Empty, 1)];
        assert_eq!(outcome.ignored, ignored);
        let named = |name: &str| {
            let options = ReadOptions { device: Some(name.to_owned()), ..ReadOptions::default() };
            read(&[&events.concat()], &options).unwrap().records.len()
        };
        assert_eq!((named("259,3"), named("259,4")), (4, 0));
    }
}

#[test]
fn files_of_processors_are_merged_by_time() {
    // Longer than a batch, so that files are read on in between.
    let count = 20_000_u64;
    let file = |offset: u64, step: u64| {
        let time = move |n: u64| 1_000 + offset + n * step;
        (0..count).flat_map(|n| queued(time(n), WRITE, time(n), 512)).collect::<Vec<u8>>()
    };
    let files = [file(10, 7), Vec::new(), file(3, 11), file(4, 7)];
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let outcome = read(&files, &ReadOptions::default()).unwrap();
    assert_eq!(outcome.records.len(), 60_000);
    assert!(outcome.records.iter().map(|record| record.time).is_sorted());
    assert_eq!(outcome.records[0], record(0, Write, 1_003 * 512, 512));
    let mut sectors: Vec<u64> = outcome.records.iter().map(|it| it.offset.0 / 512).collect();
    let times: Vec<u64> = outcome.records.iter().map(|it| it.time.0 + 1_003).collect();
    assert_eq!(sectors, times, "each record has kept its time");
    sectors.dedup();
    assert!(sectors.len() < 60_000, "some are of the same time");
}

#[test]
fn broken_events_are_named_with_their_byte_or_skipped_and_counted() {
    let good = [queued(500, WRITE, 0, 512), queued(600, WRITE, 1, 512)].concat();
    let other = event(true, 700, (QUEUE | WRITE, 2, 512), &[]);
    let last = queued(800, WRITE, 3, 512);
    let behind = event(false, 900, (QUEUE | WRITE, 0, 512), &[0; 100]);
    let cases = [
        (
            [&good[..], &other, &last].concat(),
            "file0, byte 96: an event of the other byte order; expected one byte order",
            (Flaw::ByteOrder, 3),
        ),
        (
            [&good[..], b"garbage", &last].concat(),
            "file0, byte 96: `garb`; expected an event of blktrace's version 7",
            (Flaw::Magic, 3),
        ),
        (
            [&good[..], &last[..20]].concat(),
            "file0, byte 96: 20 bytes of an event; expected the whole event",
            (Flaw::Cut, 2),
        ),
        (
            [&good[..], &behind[..100]].concat(),
            "file0, byte 96: 100 bytes of an event; expected the whole event",
            (Flaw::Cut, 2),
        ),
        (
            [&good[..], &queued(550, WRITE, 2, 512), &last].concat(),
            "file0, byte 96: a stamp before that of the command before; expected events in the \
             order of time: sort them by `blkparse -d`",
            (Flaw::Order, 4),
        ),
        (
            [&good[..], &queued(700, WRITE, 1 << 55, 512), &last].concat(),
            "file0, byte 96: a range beyond 2^64; expected ranges below 2^64",
            (Flaw::Beyond, 3),
        ),
        (
            [&good[..], &queued(700, WRITE, (1 << 55) - 1, 512), &last].concat(),
            "file0, byte 96: a range beyond 2^64; expected ranges below 2^64",
            (Flaw::Beyond, 3),
        ),
    ];
    for (content, error, (flaw, kept)) in cases {
        let found = read(&[&content], &ReadOptions::default()).unwrap_err();
        assert_eq!(found.to_string(), error);
        let outcome = read(&[&content], &lenient()).unwrap();
        assert_eq!((outcome.flaws, outcome.records.len()), (vec![(flaw, 1)], kept), "{error}");
        assert!(outcome.records.iter().map(|record| record.time).is_sorted());
    }
    let files: [&[u8]; 2] = [&good, &other];
    let error = read(&files, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "file1, byte 0: events of the other byte order; expected the byte order of the files before"
    );
}
