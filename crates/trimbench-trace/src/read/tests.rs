//! Every format as its makers write it, and as nobody should.

mod bad;
mod formats;

use std::io::Cursor;

use trimbench_core::{Bytes, Nanos};

use super::Reader;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::latency::TraceLatencies;
use crate::record::{Record, RecordKind};
use crate::source::{TraceError, TraceSource};
use crate::tally::{Flaw, Ignored};

/// A record from its parts.
pub(crate) fn record(time: u64, kind: RecordKind, offset: u64, length: u64) -> Record {
    Record { time: Nanos(time), kind, offset: Bytes(offset), length: Bytes(length) }
}

/// What reading came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) format: &'static str,
    pub(crate) timed: bool,
    pub(crate) records: Vec<Record>,
    pub(crate) flaws: Vec<(Flaw, u64)>,
    pub(crate) ignored: Vec<(Ignored, u64)>,
}

/// Reads files of these contents to the end.
pub(crate) fn read(files: &[&[u8]], options: &ReadOptions) -> Result<Outcome, TraceError> {
    let input = |(number, content): (usize, &&[u8])| {
        Input::file(format!("file{number}"), Cursor::new(content.to_vec()))
    };
    let inputs = files.iter().enumerate().map(input).collect();
    let mut reader = Reader::open(inputs, options)?;
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        records.extend_from_slice(&batch);
    }
    assert_eq!(reader.tally().records, records.len() as u64, "what is counted is what was read");
    Ok(Outcome {
        format: reader.format().id,
        timed: reader.is_timed(),
        records,
        flaws: reader.tally().flaws().collect(),
        ignored: reader.tally().ignored().collect(),
    })
}

/// What a file of this content tells of latencies.
pub(crate) fn latencies(content: &[u8], options: &ReadOptions) -> Option<TraceLatencies> {
    let input = Input::file("file".to_owned(), Cursor::new(content.to_vec()));
    let mut reader = Reader::open(vec![input], options).unwrap();
    let mut batch = vec![record(0, RecordKind::Read, 0, 0)];
    while !batch.is_empty() {
        reader.read(&mut batch).unwrap();
    }
    reader.latencies().cloned()
}

/// Reads a text with the defaults.
pub(crate) fn text(content: &str) -> Result<Outcome, TraceError> {
    read(&[content.as_bytes()], &ReadOptions::default())
}

/// Checks that the sample of a format is recognised, and read as these records.
pub(crate) fn assert_sample(format: &Format, expected: &[Record]) {
    // Also without the last end of line.
    for sample in [format.sample, format.sample.trim_end()] {
        let outcome = text(sample).unwrap();
        assert_eq!((outcome.format, outcome.records.as_slice()), (format.id, expected));
        assert_eq!((outcome.timed, outcome.flaws), (format.clock.is_some(), Vec::new()));
    }
}

pub(crate) fn lenient() -> ReadOptions {
    ReadOptions { lenient: true, ..ReadOptions::default() }
}
