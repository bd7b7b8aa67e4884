//! What is wrong is named with its place, or skipped and counted.

use super::*;
use crate::format::Format;
use crate::format::buffer::WINDOW;
use crate::formats::FORMATS;

/// A text, the error of reading it strictly, and what reading it leniently counts and keeps.
#[rustfmt::skip]
fn table() -> Vec<(&'static str, &'static str, Flaw, usize)> {
    vec![
        ("Write 0 8\nWrite 0\n",
         "file0, line 2: `Write 0`; expected `Write LBA COUNT`, `Trim LBA COUNT`, \
          `Read LBA COUNT` or `Flush`",
         Flaw::Shape, 1),
        ("Write 0 8\nErase 0 8\n",
         "file0, line 2: `Erase 0 8`; expected `Write LBA COUNT`, `Trim LBA COUNT`, \
          `Read LBA COUNT` or `Flush`",
         Flaw::Operation, 1),
        ("Write 0 8\nWrite -8 8\n",
         "file0, line 2: `Write -8 8`; expected numbers that are not negative",
         Flaw::Negative, 1),
        ("Write 0 8\nTrim 36028797018963967 2\n",
         "file0, line 2: `Trim 36028797018963967 2`; expected numbers and ranges \
          below 2^64",
         Flaw::Beyond, 1),
        ("Write 0 8\nTrim 99999999999999999999 1\n",
         "file0, line 2: `Trim 99999999999999999999 1`; expected numbers and ranges \
          below 2^64",
         Flaw::Beyond, 1),
        ("1,W,0,512,1000\n1,W,0,512,2000\n1,W,0,512,1500\n",
         "file0, line 3: `1,W,0,512,1500`; expected a stamp that is not before \
          that of the command before",
         Flaw::Order, 3),
        ("1,W,0,512,1000\n1,W,0,512,999\n",
         "file0, line 2: `1,W,0,512,999`; expected a stamp that is not before \
          that of the command before",
         Flaw::Order, 2),
        ("0,8,512,W,0.5\n0,8,512,X,0.6\n",
         "file0, line 2: `0,8,512,X,0.6`; expected `unit,sector,bytes,R or W,seconds`",
         Flaw::Operation, 1),
        ("fio version 3 iolog\n5 f write 0 512\n5 f write 0\n",
         "file0, line 3: `5 f write 0`; expected `[microseconds] file action \
          [offset length]`, as fio writes them",
         Flaw::Shape, 1),
        ("8,0 0 1 0.5 1 Q W 0 + 8 [a]\n8,0 0 1 0.5 1 Q W 0 - 8 [a]\n",
         "file0, line 2: `8,0 0 1 0.5 1 Q W 0 - 8 [a]`; expected `major,minor cpu \
          sequence seconds pid event RWBS sector + sectors`, as blkparse prints",
         Flaw::Shape, 1),
    ]
}

#[test]
fn what_is_wrong_is_named_with_its_line_or_skipped_and_counted() {
    for (content, error, flaw, kept) in table() {
        let lines: Vec<&str> = content.lines().collect();
        let format = match lines[0] {
            line if line.starts_with("Write") => "jedec",
            line if line.starts_with("fio") => "iolog",
            line if line.starts_with("8,0") => "blkparse",
            line if line.starts_with("0,") => "spc",
            _ => "alibaba",
        };
        let options = ReadOptions { format: Format::from_id(format), ..ReadOptions::default() };
        let found = read(&[content.as_bytes()], &options).unwrap_err();
        assert_eq!(found.to_string(), error);
        let options = ReadOptions { lenient: true, ..options };
        let outcome = read(&[content.as_bytes()], &options).unwrap();
        assert_eq!((outcome.flaws.as_slice(), outcome.records.len()), (&[(flaw, 1)][..], kept));
        let times: Vec<u64> = outcome.records.iter().map(|record| record.time.0).collect();
        assert!(times.is_sorted(), "{content}: what is kept is in order: {times:?}");
    }
}

/// A text of one write of 4 KiB that begins so many bytes below 2^64.
fn near_the_end(format: &'static Format, below: u64) -> Vec<u8> {
    let start = u64::MAX - (below - 1);
    let write = record(0, RecordKind::Write, start, 4096);
    format.example(&[write]).unwrap_or_else(|| match format.id {
        "iolog" => format!("fio version 3 iolog\n5 f write {start} 4096\n").into_bytes(),
        "blkparse" => format!("8,0 0 1 0.5 1 Q W {} + 8 [a]\n", start / 512).into_bytes(),
        other => panic!("{other} is no text"),
    })
}

#[test]
fn a_range_that_ends_at_2_to_the_64_is_refused_in_every_text() {
    for format in FORMATS.iter().copied().filter(|format| format.is_text()) {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let below = read(&[&near_the_end(format, 2 * 4096)], &options).unwrap();
        let ends: Vec<u64> = below.records.iter().map(|record| record.end().0).collect();
        assert_eq!(ends, [u64::MAX - 4095], "{format:?}");
        let error = read(&[&near_the_end(format, 4096)], &options).unwrap_err().to_string();
        assert!(error.ends_with("expected numbers and ranges below 2^64"), "{format:?}: {error}");
    }
}

#[test]
fn what_is_no_trace_is_said_to_be_none() {
    let tar = [&[b'a'; 257][..], b"ustar\x0000"].concat();
    let cases: [(&[u8], &str); 4] = [
        (b"", "file0: it is empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "file0: it is no text and no binary trace"),
        (b"hello\nworld\n", "file0: it begins with `hello`"),
        (&tar, "file0: it is a tar archive: extract it first, as by `tar -xO`"),
    ];
    for (content, start) in cases {
        let error = read(&[content], &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(error, format!("{start}, which is no known format"));
    }
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let mut content = b"Write 0 8\n".to_vec();
    content.resize(3 * WINDOW, b'1');
    content.extend_from_slice(b"\nWrite 8 8\n");
    let options = ReadOptions { format: Format::from_id("jedec"), ..ReadOptions::default() };
    let error = read(&[&content], &options).unwrap_err().to_string();
    assert!(error.starts_with("file0, line 2: `1111") && error.ends_with("less than 256 KiB"));
    let outcome = read(&[&content], &ReadOptions { lenient: true, ..options }).unwrap();
    assert_eq!((outcome.flaws, outcome.records.len()), (vec![(Flaw::Long, 1)], 2));
}

#[test]
fn a_wait_that_comes_late_needs_a_word() {
    let mut log = b"fio version 2 iolog\n".to_vec();
    while log.len() < 2 * WINDOW {
        log.extend_from_slice(b"/d write 0 512\n");
    }
    log.extend_from_slice(b"/d wait 2000 0\n/d write 0 512\n");
    let error = read(&[&log], &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with("expected no first wait this late: say what `wait` means"), "{error}");
}

#[test]
fn of_a_pipe_our_own_format_cannot_be_read() {
    let input = Input::stream("pipe", Cursor::new(b"PAR1PAR1PAR1".to_vec()));
    let error = Reader::open(vec![input], &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, TraceError::Pipe { .. }), "{error}");
}
