//! What is written is read again as it was; what a format cannot hold is told.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use trimbench_core::{Bytes, Nanos};

use super::{WriteError, Writer, Written};
use crate::format::{Format, ReadOptions};
use crate::formats::FORMATS;
use crate::formats::own::GROUP;
use crate::input::Input;
use crate::read::Reader;
use crate::record::{Record, RecordKind};
use crate::source::TraceSource;

mod recording;

/// The format of this name.
fn named(id: &str) -> &'static Format {
    Format::from_id(id).unwrap()
}

/// Those that are written.
fn written_formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| format.is_written())
}

/// A file in memory that outlives its writer.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn written(
    format: &'static Format,
    records: &[Record],
    (timed, lenient): (bool, bool),
) -> Result<(Vec<u8>, Written), WriteError> {
    let memory = Memory::default();
    let mut writer = Writer::new(format, Box::new(memory.clone()), timed, lenient)?;
    for batch in records.chunks(1000) {
        writer.write(batch)?;
    }
    let account = writer.finish()?;
    let bytes = std::mem::take(&mut *memory.0.lock().unwrap());
    Ok((bytes, account))
}

fn read(bytes: &[u8], format: Option<&'static Format>) -> Result<(Vec<Record>, bool), String> {
    let options = ReadOptions { format, ..ReadOptions::default() };
    let input = Input::file("written", Cursor::new(bytes.to_vec()));
    let mut reader = Reader::open(vec![input], &options).map_err(|error| error.to_string())?;
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok((records, reader.is_timed()));
        }
        records.append(&mut batch);
    }
}

fn record(time: u64, kind: RecordKind, offset: u64, length: u64) -> Record {
    let (offset, length) = if kind == RecordKind::Flush { (0, 0) } else { (offset, length) };
    Record { time: Nanos(time), kind, offset: Bytes(offset), length: Bytes(length) }
}

/// Records in the order of time, of any size up to the ends of 64 bits; `time_unit` and `unit` are
/// the finest that the format has.
fn records(time_unit: u64, unit: u64) -> impl Strategy<Value = Vec<Record>> {
    let small = 0..100_000_u64;
    let any = prop_oneof![small.clone(), 0..u64::MAX / 2];
    let one = (prop_oneof![Just(0_u64), 0..1_u64 << 40], 0..4_usize, any.clone(), any);
    prop::collection::vec(one, 0..300).prop_map(move |parts| {
        let mut time = 0_u64;
        let whole = |value: u64, unit: u64| value / unit * unit;
        parts
            .into_iter()
            .map(|(gap, kind, offset, length)| {
                time += whole(gap, time_unit);
                let length = whole(length, unit).max(unit);
                record(time, RecordKind::ALL[kind], whole(offset, unit), length)
            })
            .collect()
    })
}

fn check_round_trip(format: &'static Format, records: &[Record]) {
    let (bytes, account) = written(format, records, (true, false)).unwrap();
    let lossless = Written { records: records.len() as u64, ..Written::default() };
    assert_eq!(account, lossless);
    // A text of nothing is an empty file, which is no trace.
    if records.is_empty() && format == named("blkparse") {
        return;
    }
    assert_eq!(read(&bytes, None), Ok((records.to_vec(), true)), "{format:?}");
}

proptest! {
    #[test]
    fn our_own_format_gives_back_what_it_was_given(records in records(1, 1)) {
        check_round_trip(named("trimbench"), &records);
    }

    #[test]
    fn an_iolog_gives_back_whole_microseconds(records in records(1_000, 1)) {
        check_round_trip(named("iolog"), &records);
    }

    #[test]
    fn the_text_of_blkparse_gives_back_whole_sectors(records in records(1, 512)) {
        check_round_trip(named("blkparse"), &records);
    }

    #[test]
    fn an_order_without_stamps_stays_one(records in records(u64::MAX, 512)) {
        for format in [named("trimbench"), named("iolog")] {
            let (bytes, _) = written(format, &records, (false, false)).unwrap();
            prop_assert_eq!(read(&bytes, None), Ok((records.clone(), false)), "{:?}", format);
        }
    }
}

#[test]
fn a_range_that_ends_at_2_to_the_64_is_damage_in_our_own_format() {
    let read_back = |length: u64| {
        let beyond = [record(0, RecordKind::Write, u64::MAX - 511, length)];
        read(&written(named("trimbench"), &beyond, (true, false)).unwrap().0, None)
    };
    assert_eq!(read_back(511).unwrap().0[0].end(), Bytes(u64::MAX));
    for length in [512, u64::MAX] {
        let error = read_back(length).unwrap_err();
        assert!(error.contains("a range ends beyond 2^64"), "{error}");
    }
}

#[test]
fn a_trace_of_several_groups_and_windows_is_whole() {
    let count = 2 * GROUP as u64 + 17;
    let kind = |n: u64| RecordKind::ALL[usize::try_from(n % 4).unwrap()];
    let records: Vec<Record> = (0..count)
        .map(|n| {
            record(n * 1_000, kind(n), n.wrapping_mul(0x9e37_79b9) % (1 << 40) / 512 * 512, 512)
        })
        .collect();
    for format in written_formats() {
        check_round_trip(format, &records);
    }
}

#[test]
fn what_a_format_cannot_hold_is_told() {
    let fine = [record(0, RecordKind::Write, 0, 512), record(1_001, RecordKind::Discard, 0, 512)];
    let (bytes, account) = written(named("iolog"), &fine, (true, false)).unwrap();
    assert_eq!(account, Written { records: 2, rounded_stamps: 1, unaligned: 0 });
    let (read, _) = read(&bytes, None).unwrap();
    assert_eq!(read, [fine[0], record(1_000, RecordKind::Discard, 0, 512)]);

    let odd = [record(0, RecordKind::Write, 0, 512), record(0, RecordKind::Discard, 512, 100)];
    let error = written(named("blkparse"), &odd, (true, false)).unwrap_err().to_string();
    assert!(error.starts_with("record 2 (100 B at byte 512) is not whole sectors"), "{error}");
    let (_, account) = written(named("blkparse"), &odd, (true, true)).unwrap();
    assert_eq!(account, Written { records: 1, rounded_stamps: 0, unaligned: 1 });

    let error = written(named("msr"), &odd, (true, false)).unwrap_err().to_string();
    assert_eq!(error, "`msr` can be read but not written");
}

#[test]
fn a_damaged_file_of_ours_is_an_error_and_never_another_trace() {
    let kind = |n: u64| RecordKind::ALL[usize::try_from(n % 3).unwrap()];
    let records: Vec<Record> =
        (0..40).map(|n| record(n * n, kind(n), n * 7919 * 512, 4096)).collect();
    let (bytes, _) = written(named("trimbench"), &records, (true, false)).unwrap();
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end], Some(named("trimbench"))).is_err(), "cut at {end}");
    }
    let mut unnoticed = 0;
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        match read(&damaged, Some(named("trimbench"))) {
            // Statistics, names and reserved fields are not looked at.
            Ok(found) => {
                assert_eq!(found.0, records, "byte {at}");
                unnoticed += 1;
            }
            Err(error) => assert!(error.starts_with("written"), "{error}"),
        }
    }
    assert!(unnoticed < bytes.len() / 2, "{unnoticed} of {}", bytes.len());
}

#[test]
fn an_iolog_is_what_fio_reads() {
    let records = [
        record(0, RecordKind::Read, 0, 512),
        record(7_000, RecordKind::Discard, 4096, (4 << 30) + 4096),
        record(9_000, RecordKind::Flush, 0, 0),
    ];
    let (bytes, _) = written(named("iolog"), &records, (true, false)).unwrap();
    let expected = "fio version 3 iolog\n0 trace add\n0 trace open\n0 trace read 0 512\n\
                    7 trace trim 4096 4294971392\n9 trace sync 0 0\n";
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}
