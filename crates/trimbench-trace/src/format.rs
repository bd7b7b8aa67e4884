//! What a format of traces is: one [`Format`] says all of it, and is listed in [`crate::formats`].

pub(crate) mod buffer;
pub(crate) mod digits;
pub(crate) mod fields;
pub(crate) mod lines;
pub(crate) mod shared;

use std::fmt;

use crate::input::ReadSeek;
use crate::record::Record;
use crate::source::TraceError;

use buffer::Buffer;
use shared::Shared;

/// Records that are read at a time, about: 128 KiB of them.
pub(crate) const BATCH: usize = 4096;

/// A format of traces. [The page](../../../docs/reference/trace-formats.md) shows all of them, and
/// is written from these fields.
pub struct Format {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is, in a few words of Markdown, with its source.
    pub title: &'static str,
    /// Whether it has TRIMs.
    pub has_discards: bool,
    /// The resolution of its timestamps, in words; `none` without any.
    pub timestamps: &'static str,
    /// Its fields and their units, as a paragraph of Markdown.
    pub grammar: &'static str,
    /// A file as its makers write it, with lines of every kind; empty if the format is binary.
    pub sample: &'static str,
    /// How a file of it is recognised.
    pub detection: Detection,
    /// What its timestamps count from; `None` if it has none.
    pub clock: Option<ClockOrigin>,
    pub(crate) reading: Reading,
    pub(crate) writing: Writing,
}

/// How files of a format are recognised.
#[derive(Clone, Copy, Debug)]
pub enum Detection {
    /// By how they begin: what that is, in words, and whether a file begins so.
    Beginning(&'static str, fn(&[u8]) -> bool),
    /// By the shape of their first lines: whether all of these are lines of the format.
    Lines(fn(&[&[u8]]) -> bool),
}

/// What the timestamps of a format count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockOrigin {
    /// The beginning of the trace: they are kept.
    Trace,
    /// Any time: the first event that is not a notice is at 0.
    Event,
    /// Any time: the first command is at 0.
    Command,
}

/// Opens a text, whose first bytes are in the buffer.
pub(crate) type OpenText = fn(Buffer, &ReadOptions) -> Result<OpenTrace, TraceError>;
/// Opens a file that is read at any place.
pub(crate) type OpenSeekable =
    fn(String, Box<dyn ReadSeek>, &ReadOptions) -> Result<OpenTrace, TraceError>;

/// How the files of a trace are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// As a stream; several files are parts, one after the other.
    Text(OpenText),
    /// As a stream; several files are merged by time.
    Merged(fn(Vec<Buffer>, &ReadOptions) -> Box<dyn BatchReader>),
    /// At any place; several files are parts, one after the other.
    Seekable(OpenSeekable),
}

/// A file that is open.
pub(crate) struct OpenTrace {
    pub(crate) reader: Box<dyn BatchReader>,
    /// Whether its records have timestamps.
    pub(crate) is_timed: bool,
}

/// What reads the records of one format.
pub(crate) trait BatchReader: Send {
    /// Puts the next records into `batch`, which is empty; none at the end.
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError>;
}

/// How files of a format are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writing {
    /// As our own format.
    Own,
    /// As text.
    Text(Printer),
    /// Not at all. Examples are what this gives for each record that the format can express.
    Example(fn(&Record) -> Option<Vec<u8>>),
}

/// How records become a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    /// What stands above the commands of a trace with or without timestamps.
    pub(crate) heading: fn(is_timed: bool) -> &'static [u8],
    /// Appends the line of a record.
    pub(crate) line: fn(&mut Vec<u8>, &Record, PrintOptions) -> Printed,
}

/// What a printed record depends on besides the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrintOptions {
    /// Which record of the file it is, from 1.
    pub(crate) number: u64,
    /// Whether the trace has timestamps.
    pub(crate) is_timed: bool,
}

/// How much of a record a format can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// All of it.
    Exact,
    /// Its timestamp was rounded down.
    Rounded,
    /// Nothing was appended.
    Inexpressible,
}

/// How to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; found by the content if none is given.
    pub format: Option<&'static Format>,
    /// Skips and counts what is wrong, instead of ending with it.
    pub lenient: bool,
    /// The only device whose commands are read, as the format names it; without, all are of one.
    pub device: Option<String>,
    /// Which event of blktrace and blkparse is a command.
    pub event: Event,
    /// What `wait` in fio's iolog version 2 means.
    pub wait: Wait,
    /// Whether to find out how long commands took, where the format tells.
    pub latencies: bool,
}

/// Which event of blktrace and blkparse is a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// `Q`: what was handed to the block layer; what fio replays.
    #[default]
    Queue,
    /// `D`: what was issued to the drive, after merging and splitting.
    Issue,
}

/// What `wait` in fio's iolog version 2 means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// As documented: microseconds since the wait before; below 100 it does not count. The trace
    /// has stamps if a wait is seen in its beginning.
    #[default]
    Documented,
    /// As fio does: milliseconds since its start. The trace has stamps.
    Fio,
}

impl Format {
    /// Whether [`crate::Writer`] writes it.
    pub fn is_written(&self) -> bool {
        !matches!(self.writing, Writing::Example(_))
    }

    /// Whether it consists of lines.
    pub fn is_text(&self) -> bool {
        matches!(self.reading, Reading::Text(_))
    }

    /// Whether a file that begins so is recognised by that.
    pub(crate) fn begins(&self, start: &[u8]) -> bool {
        matches!(self.detection, Detection::Beginning(_, is) if is(start))
    }

    /// A file of those of these records that the format can express; `None` if it is written.
    pub fn example(&self, records: &[Record]) -> Option<Vec<u8>> {
        let Writing::Example(encode) = self.writing else { return None };
        Some(records.iter().filter_map(encode).flatten().collect())
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Format {}

/// The beginning of a line as a message may quote it.
pub(crate) fn excerpt(line: &[u8]) -> String {
    const LONGEST: usize = 60;
    let shown = &line[..line.len().min(LONGEST)];
    let dots = if line.len() > LONGEST { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}
