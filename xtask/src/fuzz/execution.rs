//! One execution: a file is made, read in some way, and what must hold is looked at.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use trimbench_core::rng::Rng;
use trimbench_core::{BlockSize, Nanos, Ppm};
use trimbench_trace::stat::Collector;
use trimbench_trace::{Event, Format, Input, ReadOptions, Reader, Source, TraceError, Wait};

use super::corpus::Corpus;
use super::mutate;

/// Records for each byte of a file that no packing, however good, gets beyond: deflate reaches
/// about 1000 bytes for one, and no record is shorter than the two bytes of `F` and its line end.
const RECORDS_PER_BYTE: u64 = 600;
/// Rows that our own format may say in a few bytes, because a run of equal ones is one entry.
const OWN_ROWS: u64 = 1 << 24;
/// How often the statistics are made, too: they take longer than the reading.
const STATISTICS: Ppm = Ppm(20_000);

/// What an execution came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) records: u64,
    /// Whether the file was read to its end.
    pub(super) whole: bool,
}

/// Runs an execution; an error is what did not hold.
pub(super) fn run(corpus: &Corpus, seed: u64, number: u64) -> Result<Done, String> {
    let mut rng = Rng::new(seed).split(&number.to_string());
    let (files, options) = draw(corpus, &mut rng);
    let statistics = rng.chance(STATISTICS);
    let outcome = catch_unwind(AssertUnwindSafe(|| read(&files, &options, statistics)));
    let result = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("without a text")))
    });
    result.map_err(|what| format!("{what}\n{options:?}\n{}", shown(&files)))
}

/// The files of an execution, and how they are read.
fn draw(corpus: &Corpus, rng: &mut Rng) -> (Vec<Vec<u8>>, ReadOptions) {
    let count = if rng.below(8) == 0 { 2 + rng.below(2) } else { 1 };
    let files = (0..count).map(|_| mutate::file(corpus, rng)).collect();
    let half = |rng: &mut Rng| rng.below(2) == 0;
    // Garbage reaches a reader only if it is told which.
    let format = half(rng).then(|| {
        let at = usize::try_from(rng.below(Format::ALL.len() as u64)).expect("below a length");
        Format::ALL[at]
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
    let mut done = Done { records: 0, whole: false };
    let mut reader = match Reader::open(files.iter().map(input).collect(), options) {
        Ok(reader) => reader,
        Err(error) => return judged(&error).map(|()| done),
    };
    let mut collector = statistics.then(|| Collector::new(BlockSize::SECTOR));
    let (mut batch, mut last) = (Vec::new(), Nanos::ZERO);
    loop {
        match reader.read(&mut batch) {
            Err(error) => return judged(&error).map(|()| done),
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
    drop(collector.map(Collector::finish));
    Ok(Done { whole: true, ..done })
}

/// An error must say which file, and what was expected.
fn judged(error: &TraceError) -> Result<(), String> {
    let text = error.to_string();
    if text.starts_with("file") && text.len() > "file: ".len() {
        return Ok(());
    }
    Err(format!("an error that does not name its file: {text}"))
}

/// The files as one may paste them.
fn shown(files: &[Vec<u8>]) -> String {
    let file = |file: &Vec<u8>| format!("\"{}\"\n", file.escape_ascii());
    files.iter().map(file).collect()
}
