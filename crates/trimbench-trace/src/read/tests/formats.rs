//! Each format of text, as its makers write it; and that it is known by its content.

use super::*;
use crate::format::Format;
use crate::read::{Event, Wait};
use RecordKind::{Discard, Flush, Read, Write};

/// Beyond 4 GiB: what 32 bits do not hold.
const LONG: u64 = (4 << 30) + 4096;

/// A text of each format, and its records.
fn samples() -> Vec<(&'static str, String, Vec<Record>)> {
    let s = 1_000_000_000;
    vec![
        (
            "jedec",
            " Write 8 16\r\n TRIMS 1024 8388616\r\nflush\r\n\tw\t0,\t1\r\nT 5 1\r\nd 5 1\r\n\
             Read 9 1 \n"
                .to_owned(),
            vec![
                record(0, Write, 4096, 8192),
                record(0, Discard, 1024 * 512, LONG),
                record(0, Flush, 0, 0),
                record(0, Write, 0, 512),
                record(0, Discard, 2560, 512),
                record(0, Discard, 2560, 512),
                record(0, Read, 4608, 512),
            ],
        ),
        (
            "blkparse",
            "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
             8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
             8,0    0        3     1.500000001     0  m   N cfq697 insert_request\n\
             8,0    0        3     2.500000001     0  Q  DS 0 + 8388616 [a (b) c]\n\
             259,0 0 3 2.500000001 0 D FN [swapper/0]\n\
             8,0    0        3     2.600000001     0  Q FWS [kworker/1:1H]\n\
             8,0    0        3     2.600000002     0  Q  RA 8 + 8\n\
             CPU0 (sda):\n Reads Queued:         144,     1404KiB\t Writes Queued:         740\n\
             \nTotal (sda):\nThroughput (R/W): 1KiB/s / 2KiB/s\nEvents (sda): 3 entries\n\
             Skips: 0 \n"
                .to_owned(),
            vec![
                record(0, Write, 223_490 * 512, 4096),
                record(2 * s + s / 2 + 1, Discard, 0, LONG),
                record(2_600_000_001, Flush, 0, 0),
                record(2_600_000_002, Read, 4096, 4096),
            ],
        ),
        (
            "iolog",
            format!(
                "fio version 3 iolog\n21 /d add\n114 /d open\n119 /d read 503808 4096\n\
                 20101 /d write 1 2\n20109 /d sync 3940352 0\n20110 /d datasync 0 0\n\
                 20111 /d trim 0 {LONG}\n20112 /d close\n"
            ),
            vec![
                record(119_000, Read, 503_808, 4096),
                record(20_101_000, Write, 1, 2),
                record(20_109_000, Flush, 0, 0),
                record(20_110_000, Flush, 0, 0),
                record(20_111_000, Discard, 0, LONG),
            ],
        ),
    ]
}

/// The same of traces in columns.
fn columns() -> Vec<(&'static str, String, Vec<Record>)> {
    let s = 1_000_000_000;
    vec![
        (
            "msr",
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
             128166372003061629,hm,1,Read,383496192,32768,413\n\
             128166372016382155,hm,1,Write,2822144,4096,2110\n"
                .to_owned(),
            vec![
                record(0, Read, 383_496_192, 32_768),
                record(1_332_052_600, Write, 2_822_144, 4096),
            ],
        ),
        (
            "alibaba",
            "419,W,8792731648,16384,1577808144360767\n419,R,0,4096,1577808144360768\n".to_owned(),
            vec![record(0, Write, 8_792_731_648, 16_384), record(1000, Read, 0, 4096)],
        ),
        (
            "tencent",
            "1538323200,12910952,128,0,1063\n1538323201,8,8388616,1,1063\n".to_owned(),
            vec![record(0, Read, 12_910_952 * 512, 65_536), record(s, Write, 4096, LONG)],
        ),
        (
            "spc",
            "0,20941264,8192,W,0.551706\n0 , 20939840 ,0,w, 0.554041\n0,8,512,r,1.5,more,fields\n"
                .to_owned(),
            vec![
                record(551_706_000, Write, 20_941_264 * 512, 8192),
                record(3 * s / 2, Read, 4096, 512),
            ],
        ),
        (
            "midas",
            "0.146559796 1 0 4096 \n0.146609386 0 1 8182 0\n2 3 2 4096\n".to_owned(),
            vec![
                record(146_559_796, Write, 0, 4096),
                record(146_609_386, Read, 4096, 8182),
                record(2 * s, Discard, 8192, 4096),
            ],
        ),
    ]
}

#[test]
fn each_format_is_known_by_its_content_and_read() {
    for (format, text, expected) in samples().into_iter().chain(columns()) {
        let outcome = read(&[text.as_bytes()], &ReadOptions::default()).unwrap();
        assert_eq!(outcome.format, format);
        assert_eq!(outcome.records, expected, "{format}");
        assert_eq!(outcome.timed, format != "jedec", "{format}");
        assert_eq!(outcome.flaws, [], "{format}");
        // The same without the last end of line.
        let cut = read(&[text.trim_end().as_bytes()], &ReadOptions::default()).unwrap();
        assert_eq!(cut.records, expected, "{format} without its last end of line");
    }
}

#[test]
fn lines_that_fall_on_the_edge_of_the_window_are_whole() {
    // Longer than the window; every line has another length than the one before.
    let line = |number: u64| format!("{number},W,{},512,{}\n", number * 512, number + 10);
    let count = 40_000;
    let content: String = (1..=count).map(|n| line(n).replacen(&format!("{n}"), "7", 1)).collect();
    assert!(content.len() > 3 * super::super::buffer::WINDOW);
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
    let options = ReadOptions { format: Some(Format::Midas), ..ReadOptions::default() };
    let outcome = read(&[content.as_bytes()], &options).unwrap();
    assert_eq!(outcome.records.len(), 2);
}
