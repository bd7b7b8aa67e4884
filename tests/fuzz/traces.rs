//! Traces: a file is generated and read in some way; then its invariants are checked.

use std::borrow::Cow;
use std::io::Cursor;

use trimbench_core::rng::Rng;
use trimbench_core::{BlockSize, Nanos, Ppm};
use trimbench_trace::stat::StatisticsCollector;
use trimbench_trace::{Event, FORMATS, Input, ReadOptions, Reader, TraceError, TraceSource, Wait};

use super::mutate;
use super::subject::{Done, Feed, guarded};

mod corpus;

pub(super) use corpus::Corpus;

/// Records for each byte of a file that no packing, however good, gets beyond: deflate reaches
/// about 1000 bytes for one, and no record is shorter than the two bytes of `F` and its line end.
const RECORDS_PER_BYTE: u64 = 600;
/// Rows that our own format may say in a few bytes, because a run of equal ones is one entry.
const OWN_ROWS: u64 = 1 << 24;
/// How often the statistics are made, too: they take longer than the reading.
const STATISTICS: Ppm = Ppm(20_000);

impl Feed for Corpus {
    fn run(&self, rng: &mut Rng) -> Result<Done, String> {
        let (files, options) = draw(self, rng);
        let statistics = rng.chance(STATISTICS);
        let shown = || format!("{options:?}\n{}", shown(&files));
        guarded(|| read(&files, &options, statistics), shown)
    }
}

/// The files of an execution, and how they are read.
fn draw(corpus: &Corpus, rng: &mut Rng) -> (Vec<Vec<u8>>, ReadOptions) {
    let count = if rng.below(8) == 0 { 2 + rng.below(2) } else { 1 };
    let files = (0..count).map(|_| mutate::file(&corpus.files, rng)).collect();
    let half = |rng: &mut Rng| rng.below(2) == 0;
    // Garbage reaches a reader only if it is told which.
    let format = half(rng).then(|| {
        let at = usize::try_from(rng.below(FORMATS.len() as u64)).expect("below a length");
        FORMATS[at]
    });
    let options = ReadOptions {
        format,
        lenient: half(rng),
        device: (rng.below(8) == 0).then(|| "8,0".to_owned()),
        event: if half(rng) { Event::Queue } else { Event::Issue },
        wait: if half(rng) { Wait::Documented } else { Wait::Fio },
    };
    (files, options)
}

fn read(files: &[Vec<u8>], options: &ReadOptions, statistics: bool) -> Result<Done, String> {
    let length: u64 = files.iter().map(|file| file.len() as u64).sum();
    let most = length * RECORDS_PER_BYTE + OWN_ROWS;
    let input = |file: &Vec<u8>| Input::file("file", Cursor::new(file.clone()));
    let mut done = Done { records: 0, whole: true, end: Cow::Borrowed("whole") };
    let mut reader = match Reader::open(files.iter().map(input).collect(), options) {
        Ok(reader) => reader,
        Err(error) => return judged(&error, 0),
    };
    let mut collector = statistics.then(|| StatisticsCollector::new(BlockSize::SECTOR));
    let (mut batch, mut last) = (Vec::new(), Nanos::ZERO);
    loop {
        match reader.read(&mut batch) {
            Err(error) => return judged(&error, done.records),
            Ok(()) if batch.is_empty() => break,
            Ok(()) => {}
        }
        for record in &batch {
            if record.time < last {
                return Err(format!("{record:?} is before {last}"));
            }
            if record.offset.0.checked_add(record.length.0).is_none() {
                return Err(format!("{record:?} ends beyond 2^64 - 1"));
            }
            last = record.time;
        }
        done.records += batch.len() as u64;
        if done.records > most {
            return Err(format!("{} records of {length} bytes", done.records));
        }
        if let Some(collector) = &mut collector {
            collector.add(&batch);
        }
    }
    if reader.tally().records != done.records {
        return Err(format!("{} records, {:?}", done.records, reader.tally()));
    }
    drop(collector.map(StatisticsCollector::finish));
    Ok(done)
}

/// An error must say which file, and what was expected.
fn judged(error: &TraceError, records: u64) -> Result<Done, String> {
    let text = error.to_string();
    if text.starts_with("file") && text.len() > "file: ".len() {
        return Ok(Done { records, ..Done::refused(error) });
    }
    Err(format!("an error that does not name its file: {text}"))
}

/// The files as one may paste them.
fn shown(files: &[Vec<u8>]) -> String {
    let file = |file: &Vec<u8>| format!("\"{}\"\n", file.escape_ascii());
    files.iter().map(file).collect()
}
