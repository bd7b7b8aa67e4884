//! Reads traces: detects the format, unpacks, and returns records in order.

mod detect;

use std::fmt;
use std::io::{Read, Seek, SeekFrom};

use crate::format::buffer::Buffer;
use crate::format::shared::Shared;
use crate::format::{BatchReader, Format, OpenTrace, ReadOptions, Reading};
use crate::input::{Content, Input};
use crate::latency::TraceLatencies;
use crate::record::Record;
use crate::source::{TraceError, TraceSource, UnknownFormat};
use crate::tally::ReadCounts;
use crate::unpack::unpack;

/// A trace that is read from files.
pub struct Reader {
    format: &'static Format,
    open: OpenTrace,
    shared: Shared,
}

/// Reads the files of a trace one after the other.
struct Parts {
    parts: Vec<Box<dyn BatchReader>>,
    at: usize,
}

impl BatchReader for Parts {
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
        let mut files = Vec::new();
        for input in inputs {
            // A processor that had nothing to do leaves an empty file.
            let Some(file) = TraceFile::new(input, options)? else { continue };
            match format {
                Some(before) if before != file.format() => {
                    return Err(TraceError::Mixed {
                        name: file.name().to_owned(),
                        format: file.format().id,
                        before: before.id,
                    });
                }
                _ => format = Some(file.format()),
            }
            files.push(file);
        }
        let Some(format) = format.filter(|_| !files.is_empty()) else {
            return Err(TraceError::Unknown { name, found: UnknownFormat::Empty });
        };
        let open = Self::open_files(format, files, options)?;
        Ok(Self { format, open, shared: Shared::new(options) })
    }

    /// Opens files of one format as one trace.
    fn open_files(
        format: &Format,
        files: Vec<TraceFile>,
        options: &ReadOptions,
    ) -> Result<OpenTrace, TraceError> {
        let (mut parts, mut streams, mut is_timed) = (Vec::new(), Vec::new(), true);
        for file in files {
            let part = match (file, format.reading) {
                (TraceFile::Open(_, _, part), _) => part,
                (TraceFile::Stream(_, buffer), Reading::Text(open)) => open(buffer, options)?,
                (TraceFile::Stream(_, buffer), _) => {
                    streams.push(buffer);
                    continue;
                }
            };
            is_timed &= part.is_timed;
            parts.push(part.reader);
        }
        let reader = match format.reading {
            Reading::Merged(merge) => merge(streams, options),
            Reading::Text(_) | Reading::Seekable(_) => Box::new(Parts { parts, at: 0 }),
        };
        Ok(OpenTrace { reader, is_timed })
    }

    /// The format of the files.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// How long commands took, if that was asked for; empty where the format does not tell.
    pub fn latencies(&self) -> Option<&TraceLatencies> {
        self.shared.latencies.as_deref()
    }

    /// What was read, and what was left out so far.
    pub fn tally(&self) -> &ReadCounts {
        &self.shared.tally
    }
}

impl TraceSource for Reader {
    fn is_timed(&self) -> bool {
        self.open.is_timed
    }

    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        batch.clear();
        self.open.reader.read(batch, &mut self.shared)?;
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
enum TraceFile {
    /// One that is read at any place, with its name.
    Open(String, &'static Format, OpenTrace),
    Stream(&'static Format, Buffer),
}

impl TraceFile {
    /// Nothing, if the file is empty.
    fn new(input: Input, options: &ReadOptions) -> Result<Option<Self>, TraceError> {
        let (Input { name, content }, wanted) = (input, options.format);
        let stream: Box<dyn Read + Send> = match content {
            Content::Stream(stream) => stream,
            Content::File(mut file) => {
                let mut magic = Vec::new();
                let beginning = file.by_ref().take(4).read_to_end(&mut magic);
                let back = beginning.and_then(|_| file.seek(SeekFrom::Start(0)));
                back.map_err(|error| TraceError::io(&name, error))?;
                let seekable = wanted.or_else(|| detect::by_beginning(&magic));
                if let Some(format @ Format { reading: Reading::Seekable(open), .. }) = seekable
                    && format.begins(&magic)
                {
                    let part = open(name.clone(), file, options)?;
                    return Ok(Some(Self::Open(name, format, part)));
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
        let format = match wanted {
            Some(format) => format,
            None => detect::detect(buffer.available())
                .map_err(|found| TraceError::Unknown { name: buffer.name().to_owned(), found })?,
        };
        if matches!(format.reading, Reading::Seekable(_)) {
            return Err(TraceError::Pipe { name: buffer.name().to_owned() });
        }
        Ok(Some(Self::Stream(format, buffer)))
    }

    fn name(&self) -> &str {
        match self {
            Self::Open(name, ..) => name,
            Self::Stream(_, buffer) => buffer.name(),
        }
    }

    fn format(&self) -> &'static Format {
        match self {
            Self::Open(_, format, _) | Self::Stream(format, _) => format,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
