//! Each format of text, as its makers write it; and that it is known by its content.

use super::*;
use crate::format::{Event, Format, Wait};
use crate::formats::FORMATS;
use RecordKind::{Discard, Flush, Read, Write};

#[test]
fn every_sample_is_known_by_its_content_and_read_whole() {
    for format in FORMATS.iter().filter(|format| format.is_text()) {
        let outcome = text(format.sample).unwrap();
        assert_eq!(outcome.format, format.id);
        assert!(!outcome.records.is_empty() && outcome.flaws.is_empty(), "{format:?}");
        assert_eq!(outcome.timed, format.clock.is_some(), "{format:?}");
        let discards = outcome.records.iter().any(|record| record.kind == Discard);
        assert_eq!(discards, format.has_discards, "{format:?}");
    }
}

#[test]
fn an_example_is_read_as_the_records_that_it_was_made_of() {
    let made: Vec<Record> = (0..100)
        .map(|n| {
            let kind = RecordKind::ALL[usize::try_from(n % 4).unwrap()];
            let (offset, length) =
                if kind == Flush { (0, 0) } else { (4096 * (100 - n), 4096 * (1 + n)) };
            record(n * 1_000_000_000, kind, offset, length)
        })
        .collect();
    let ranges = |records: &[Record]| -> Vec<_> {
        records.iter().map(|record| (record.kind, record.offset, record.length)).collect()
    };
    for format in FORMATS {
        let Some(example) = format.example(&made) else { continue };
        let outcome = read(&[&example], &ReadOptions::default()).unwrap();
        assert_eq!((outcome.format, outcome.flaws.as_slice()), (format.id, &[][..]));
        let expressible = |it: &&Record| format.example(&[**it]).is_some_and(|it| !it.is_empty());
        let wanted: Vec<Record> = made.iter().filter(expressible).copied().collect();
        assert_eq!(ranges(&outcome.records), ranges(&wanted), "{format:?}");
        if outcome.timed {
            assert_eq!(outcome.records, wanted, "{format:?}");
        }
    }
}

#[test]
fn lines_that_fall_on_the_edge_of_the_window_are_whole() {
    // Longer than the window; every line has another length than the one before.
    let line = |number: u64| format!("{number},W,{},512,{}\n", number * 512, number + 10);
    let count = 40_000;
    let content: String = (1..=count).map(|n| line(n).replacen(&format!("{n}"), "7", 1)).collect();
    assert!(content.len() > 3 * crate::format::buffer::WINDOW);
    let outcome = text(&content).unwrap();
    let expected: Vec<Record> =
        (1..=count).map(|n| record((n - 1) * 1000, Write, n * 512, 512)).collect();
    assert_eq!(outcome.records, expected);
}

#[test]
fn parts_are_read_one_after_the_other_on_one_clock() {
    let parts: [&[u8]; 3] = [b"1,W,0,512,1000\n", b"", b"1,R,0,512,1500\n"];
    let outcome = read(&parts, &ReadOptions::default()).unwrap();
    let expected = [record(0, Write, 0, 512), record(500_000, Read, 0, 512)];
    assert_eq!(outcome.records, expected);
    let mixed: [&[u8]; 2] = [b"1,W,0,512,1000\n", b"Flush\n"];
    let error = read(&mixed, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "file1: its format is `jedec`, but the previous file's is `alibaba`");
}

#[test]
fn a_wait_is_what_the_documents_say_or_what_fio_does() {
    let log = "fio version 2 iolog\n/d add\n/d open\n/d write 0 512\n/d wait 2000 0\n\
               /d write 512 512\n/d wait 99 0\n/d wait 3000 0\n/d trim 0 512\n/d close\n";
    let times = |wait| {
        let options = ReadOptions { wait, ..ReadOptions::default() };
        let outcome = read(&[log.as_bytes()], &options).unwrap();
        assert!(outcome.timed);
        outcome.records.iter().map(|record| record.time.0).collect::<Vec<_>>()
    };
    assert_eq!(times(Wait::Documented), [0, 2_000_000, 5_000_000]);
    assert_eq!(times(Wait::Fio), [0, 2_000_000_000, 3_000_000_000]);
    let untimed = text("fio version 2 iolog\n/d add\n/d write 0 512\n").unwrap();
    assert!(!untimed.timed, "without waits there is an order only");
}

#[test]
fn issued_commands_are_others_than_queued_ones() {
    let content = "8,0 0 1 0.5 1 Q W 0 + 8 [a]\n8,0 0 1 0.6 1 Q W 8 + 8 [a]\n\
                   8,0 0 1 0.7 1 D W 0 + 16 [a]\n8,0 0 1 0.8 1 C W 0 + 16 [0]\n";
    let options = ReadOptions { event: Event::Issue, ..ReadOptions::default() };
    let outcome = read(&[content.as_bytes()], &options).unwrap();
    assert_eq!(outcome.records, [record(700_000_000, Write, 0, 8192)]);
    assert_eq!(outcome.ignored, [(Ignored::OtherEvent, 3)]);
}

#[test]
fn one_device_is_read_and_several_must_be_chosen_from() {
    let content = "3,W,0,512,1000\n4,W,512,512,1001\n3,R,0,512,1002\n";
    let error = text(content).unwrap_err().to_string();
    assert_eq!(
        error,
        "file0, line 2: `4,W,512,512,1001`; expected the device of the commands before: choose one"
    );
    let options = ReadOptions { device: Some("4".to_owned()), ..ReadOptions::default() };
    let outcome = read(&[content.as_bytes()], &options).unwrap();
    assert_eq!(outcome.records, [record(0, Write, 512, 512)]);
    assert_eq!(outcome.ignored, [(Ignored::OtherDevice, 2)]);
    let outcome = read(&[content.as_bytes()], &lenient()).unwrap();
    assert_eq!(outcome.records.len(), 2);
    assert_eq!(outcome.flaws, [(Flaw::Device, 1)]);
}

#[test]
fn a_format_that_is_named_is_not_guessed() {
    // Whole seconds could be any four numbers.
    let content = "5 1 0 4096\n6 3 0 4096\n";
    let error = text(content).unwrap_err().to_string();
    assert_eq!(error, "file0: it begins with `5 1 0 4096`, which is no known format");
    let options = ReadOptions { format: Format::from_id("midas"), ..ReadOptions::default() };
    let outcome = read(&[content.as_bytes()], &options).unwrap();
    assert_eq!(outcome.records.len(), 2);
}
