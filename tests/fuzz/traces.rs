//! Traces of every format and packing.

use std::io::Cursor;

use trimbench_core::{BlockSize, Nanos};
use trimbench_trace::stat::StatisticsCollector;
use trimbench_trace::{Event, FORMATS, Input, ReadOptions, Reader, TraceError, TraceSource, Wait};

use crate::damage;
use crate::harness::{Draw, Drawn, InputBytes, Watched};

mod corpus;

/// Records for each byte of a file that no packing, however good, gets beyond: deflate reaches
/// about 1000 bytes for one, and no record is shorter than the two bytes of `F` and its line end.
const RECORDS_PER_BYTE: u64 = 600;
/// Rows that our own format may say in a few bytes, because a run of equal ones is one entry.
const OWN_ROWS: u64 = 1 << 24;
/// In one of so many the statistics are made, too: they take longer than the reading.
const STATISTICS: usize = 50;

/// The files of one trace, and how they are read.
#[derive(Clone, Debug)]
struct DrawnTrace {
    files: Vec<InputBytes>,
    options: ReadOptions,
    statistics: bool,
}

#[test]
fn damaged_traces_are_read_in_order_or_refused_by_name() {
    let corpus = corpus::files();
    let watched = Watched::new("traces");
    bolero::check!()
        .with_iterations(100_000)
        .with_generator(Drawn(|draw: &mut dyn Draw| draw_trace(&corpus, draw)))
        .for_each(|trace| watched.read(trace, is_read));
    watched.expect_understood(0.1..0.9);
}

fn draw_trace(corpus: &[Vec<u8>], draw: &mut dyn Draw) -> DrawnTrace {
    let count = if draw.one_in(8) { 2 + draw.below(2) } else { 1 };
    let files = (0..count).map(|_| InputBytes(damage::file(corpus, draw))).collect();
    let options = ReadOptions {
        // Garbage reaches a reader only if it is told which.
        format: draw.one_in(2).then(|| *draw.pick(FORMATS)),
        lenient: draw.one_in(2),
        device: draw.one_in(8).then(|| "8,0".to_owned()),
        event: *draw.pick(&[Event::Queue, Event::Issue]),
        wait: *draw.pick(&[Wait::Documented, Wait::Fio]),
        latencies: draw.one_in(2),
    };
    DrawnTrace { files, options, statistics: draw.one_in(STATISTICS) }
}

/// Reads a trace; whether that went on to its end.
fn is_read(trace: &DrawnTrace) -> bool {
    let DrawnTrace { files, options, statistics } = trace;
    let length: u64 = files.iter().map(|file| file.0.len() as u64).sum();
    let input = |file: &InputBytes| Input::file("file", Cursor::new(file.0.clone()));
    let mut reader = match Reader::open(files.iter().map(input).collect(), options) {
        Ok(reader) => reader,
        Err(error) => return refused(&error),
    };
    let mut collector = statistics.then(|| StatisticsCollector::new(BlockSize::SECTOR));
    let (mut batch, mut last, mut records) = (Vec::new(), Nanos::ZERO, 0);
    loop {
        match reader.read(&mut batch) {
            Err(error) => return refused(&error),
            Ok(()) if batch.is_empty() => break,
            Ok(()) => {}
        }
        for record in &batch {
            assert!(record.time >= last, "{record:?} is before {last}");
            assert!(record.offset.0.checked_add(record.length.0).is_some(), "{record:?} ends late");
            last = record.time;
        }
        records += batch.len() as u64;
        let most = length * RECORDS_PER_BYTE + OWN_ROWS;
        assert!(records <= most, "{records} records of {length} bytes");
        if let Some(collector) = &mut collector {
            collector.add(&batch);
        }
    }
    assert_eq!(reader.tally().records, records);
    drop(collector.map(StatisticsCollector::finish));
    true
}

/// An error must say which file, and what was expected.
fn refused(error: &TraceError) -> bool {
    let text = error.to_string();
    let is_named = text.starts_with("file") && text.len() > "file: ".len();
    assert!(is_named, "an error that does not name its file: {text}");
    false
}
