//! Reads traces: detects the format, unpacks, and returns records in order.

mod blkparse;
mod blktrace;
mod buffer;
mod columns;
mod detect;
mod fields;
mod iolog;
mod jedec;
mod merge;
mod own;
mod strictness;
mod text;

use std::fmt;
use std::io::{Read, Seek, SeekFrom};

use crate::format::Format;
use crate::input::{Content, Input};
use crate::own::OwnReader;
use crate::record::Record;
use crate::source::{TraceError, TraceSource};
use crate::tally::ReadCounts;
use crate::unpack::unpack;

use buffer::Buffer;
use merge::Merge;
use strictness::Shared;

/// Records that are handed out at a time, about: 128 KiB of them.
pub(crate) const BATCH: usize = 4096;

/// How to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; found by the content if none is given.
    pub format: Option<Format>,
    /// Skips and counts what is wrong, instead of ending with it.
    pub lenient: bool,
    /// The only device whose commands are read, as the format names it; without, all are of one.
    pub device: Option<String>,
    /// Which event of blktrace and blkparse is a command.
    pub event: Event,
    /// What `wait` in fio's iolog version 2 means.
    pub wait: Wait,
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

/// A trace that is read from files.
pub struct Reader {
    format: Format,
    timed: bool,
    inner: Box<dyn Inner>,
    shared: Shared,
}

/// What reads the records of one format.
pub(crate) trait Inner: Send {
    /// Puts the next records into `batch`, which is empty; none at the end.
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError>;
}

/// Reads the files of a trace one after the other.
struct Parts {
    parts: Vec<Box<dyn Inner>>,
    at: usize,
}

impl Inner for Parts {
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        while let Some(part) = self.parts.get_mut(self.at) {
            part.read(batch, shared)?;
            if !batch.is_empty() {
                return Ok(());
            }
            self.at += 1;
        }
        Ok(())
    }
}

impl Reader {
    /// Opens the files of one trace. Several files of blktrace are one for each processor and are
    /// merged by time; of any other format they are parts, one after the other.
    ///
    /// # Panics
    /// Without any file.
    pub fn open(inputs: Vec<Input>, options: &ReadOptions) -> Result<Self, TraceError> {
        assert!(!inputs.is_empty(), "a trace has a file");
        let name = inputs[0].name().to_owned();
        let mut format = options.format;
        let mut opened = Vec::new();
        for input in inputs {
            // A processor that had nothing to do leaves an empty file.
            let Some(input) = Opened::new(input, options)? else { continue };
            match format {
                Some(before) if before != input.format() => {
                    return Err(TraceError::Mixed {
                        name: input.name().to_owned(),
                        format: input.format().id(),
                        before: before.id(),
                    });
                }
                _ => format = Some(input.format()),
            }
            opened.push(input);
        }
        let Some(format) = format.filter(|_| !opened.is_empty()) else {
            return Err(TraceError::Unknown { name, found: detect::EMPTY.to_owned() });
        };
        let shared = Shared::new(options);
        let (inner, timed) = Self::inner(format, opened, options)?;
        Ok(Self { format, timed, inner, shared })
    }

    /// The reader of these files, and whether their records have stamps.
    fn inner(
        format: Format,
        opened: Vec<Opened>,
        options: &ReadOptions,
    ) -> Result<(Box<dyn Inner>, bool), TraceError> {
        let (mut parts, mut events, mut timed) = (Vec::new(), Vec::new(), true);
        for input in opened {
            let (part, stamps): (Box<dyn Inner>, bool) = match input {
                Opened::Own(reader) => {
                    let stamps = reader.is_timed();
                    (Box::new(own::Part(*reader)), stamps)
                }
                Opened::Stream(Format::Blktrace, buffer) => {
                    events.push(buffer);
                    continue;
                }
                Opened::Stream(format, buffer) => text::open(format, buffer, options)?,
            };
            parts.push(part);
            timed &= stamps;
        }
        if format == Format::Blktrace {
            return Ok((Box::new(Merge::new(events, options.event)), true));
        }
        Ok((Box::new(Parts { parts, at: 0 }), timed))
    }

    /// The format of the files.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What was read, and what was left out so far.
    pub fn tally(&self) -> &ReadCounts {
        &self.shared.tally
    }
}

impl TraceSource for Reader {
    fn is_timed(&self) -> bool {
        self.timed
    }

    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        batch.clear();
        self.inner.read(batch, &mut self.shared)?;
        self.shared.tally.records += batch.len() as u64;
        Ok(())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("format", &self.format).finish_non_exhaustive()
    }
}

/// A file whose format is known.
enum Opened {
    Own(Box<OwnReader>),
    Stream(Format, Buffer),
}

impl Opened {
    /// Nothing, if the file is empty.
    fn new(input: Input, options: &ReadOptions) -> Result<Option<Self>, TraceError> {
        let (Input { name, content }, format) = (input, options.format);
        let stream: Box<dyn Read + Send> = match content {
            Content::Stream(stream) => stream,
            Content::File(mut file) => {
                let mut magic = Vec::new();
                let beginning = file.by_ref().take(4).read_to_end(&mut magic);
                let back = beginning.and_then(|_| file.seek(SeekFrom::Start(0)));
                back.map_err(|error| TraceError::io(&name, error))?;
                if magic == *b"PAR1" && format.is_none_or(|format| format == Format::Trimbench) {
                    let reader = OwnReader::new(name, file, options.lenient)?;
                    return Ok(Some(Self::Own(Box::new(reader))));
                }
                Box::new(file)
            }
        };
        let stream = unpack(&name, stream)?;
        let mut buffer = Buffer::new(name, stream);
        buffer.fill()?;
        if buffer.available().is_empty() {
            return Ok(None);
        }
        let found = match format {
            Some(format) => format,
            None => detect::detect(buffer.available())
                .map_err(|found| TraceError::Unknown { name: buffer.name().to_owned(), found })?,
        };
        if found == Format::Trimbench {
            return Err(TraceError::Pipe { name: buffer.name().to_owned() });
        }
        Ok(Some(Self::Stream(found, buffer)))
    }

    fn name(&self) -> &str {
        match self {
            Self::Own(reader) => reader.name(),
            Self::Stream(_, buffer) => buffer.name(),
        }
    }

    fn format(&self) -> Format {
        match self {
            Self::Own(_) => Format::Trimbench,
            Self::Stream(format, _) => *format,
        }
    }
}

#[cfg(test)]
mod tests;
