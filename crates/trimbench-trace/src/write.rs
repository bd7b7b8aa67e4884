//! Writes traces: our own format, fio's iolog, and the text of blkparse.
//!
//! Information that a format cannot store is never lost silently: a rounded timestamp is counted
//! ([`Written`]), and a range that cannot be expressed is an error, or left out and counted on
//! request.

use std::fmt;
use std::io::{self, Write};

use crate::format::{Format, PrintOptions, Printed, Printer, Writing};
use crate::formats::own::OwnWriter;
use crate::record::Record;
use crate::sink::{Sink, Whole};

/// Text that is collected before it is written.
const CHUNK: usize = 1 << 16;

/// Writes the records of one trace.
pub struct Writer {
    out: Whole,
    form: Form,
    lenient: bool,
    written: Written,
    /// What of it is in the file.
    saved: Written,
}

/// What was written, and what the format could not hold of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records in the file.
    pub records: u64,
    /// Records whose stamp was rounded down to a microsecond (iolog).
    pub rounded_stamps: u64,
    /// Records left out, because they are not whole sectors of 512 bytes (blkparse).
    pub unaligned: u64,
}

/// Why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file cannot be written.
    #[error("cannot write the trace")]
    Io(#[source] io::Error),
    /// The format is one of those that are only read.
    #[error("`{}` can be read but not written", .0.id)]
    ReadOnly(&'static Format),
    /// The format says ranges in sectors of 512 bytes, and this is not a whole number of them.
    #[error(
        "record {number} ({} B at byte {}) is not whole sectors of 512 bytes, which the format \
            requires", .record.length.0, .record.offset.0
    )]
    Unaligned {
        /// Which record, from 1.
        number: u64,
        /// The record.
        record: Record,
    },
}

/// How a trace is written.
enum Form {
    Own(Box<OwnWriter>),
    Text { text: Vec<u8>, printer: Printer, is_timed: bool },
}

impl Writer {
    /// Begins a trace. `timed` is [`crate::TraceSource::is_timed`] of what will be written; a
    /// `lenient` writer leaves out what the format cannot hold, and counts it.
    pub fn new(
        format: &'static Format,
        out: Box<dyn Write + Send>,
        timed: bool,
        lenient: bool,
    ) -> Result<Self, WriteError> {
        Ok(Self { lenient, ..Self::begin(format, Box::new(out), timed, false)? })
    }

    /// Begins a recording: a trace of which something must be left whatever happens. After each
    /// [`Writer::save`] a lenient reader finds what was saved, although the trace was never
    /// finished; and where no more can be written, [`Writer::keep`] finishes what was.
    pub fn recording(format: &'static Format, out: Box<dyn Sink>) -> Result<Self, WriteError> {
        Self::begin(format, out, true, true)
    }

    fn begin(
        format: &'static Format,
        out: Box<dyn Sink>,
        timed: bool,
        recording: bool,
    ) -> Result<Self, WriteError> {
        let mut out = Whole::new(out);
        let form = match format.writing {
            Writing::Own => {
                let own = OwnWriter::new(&mut out, timed, recording);
                Form::Own(Box::new(own.map_err(WriteError::Io)?))
            }
            Writing::Text(printer) => {
                out.append((printer.heading)(timed), 0).map_err(WriteError::Io)?;
                Form::Text { text: Vec::new(), printer, is_timed: timed }
            }
            Writing::Example(_) => return Err(WriteError::ReadOnly(format)),
        };
        let written = Written::default();
        Ok(Self { out, form, lenient: recording, written, saved: written })
    }

    /// Writes the next records.
    pub fn write(&mut self, records: &[Record]) -> Result<(), WriteError> {
        let (text, printer, is_timed) = match &mut self.form {
            Form::Own(own) => {
                own.write(&mut self.out, records).map_err(WriteError::Io)?;
                self.written.records += records.len() as u64;
                return Ok(());
            }
            Form::Text { text, printer, is_timed } => (text, *printer, *is_timed),
        };
        for record in records {
            let number = self.written.records + 1;
            match (printer.line)(text, record, PrintOptions { number, is_timed }) {
                Printed::Exact => {}
                Printed::Rounded => self.written.rounded_stamps += 1,
                Printed::Inexpressible if self.lenient => {
                    self.written.unaligned += 1;
                    continue;
                }
                Printed::Inexpressible => {
                    return Err(WriteError::Unaligned { number, record: *record });
                }
            }
            self.written.records += 1;
            if text.len() >= CHUNK {
                self.out.append(text, 0).map_err(WriteError::Io)?;
                text.clear();
                self.saved = self.written;
            }
        }
        Ok(())
    }

    /// Has everything so far in the file, where a lenient reader finds it.
    pub fn save(&mut self) -> Result<(), WriteError> {
        let saved = match &mut self.form {
            Form::Own(own) => own.save(&mut self.out),
            Form::Text { text, .. } => self.out.append(text, 0).map(|()| text.clear()),
        };
        saved.map_err(WriteError::Io)?;
        self.saved = self.written;
        Ok(())
    }

    /// Ends the trace. Without this the file is not whole.
    pub fn finish(mut self) -> Result<Written, WriteError> {
        self.end().map_err(WriteError::Io)?;
        Ok(self.written)
    }

    /// The same, and where that fails as [`Writer::keep`] does; with the reason.
    pub fn finish_or_keep(mut self) -> (Result<Written, WriteError>, Option<WriteError>) {
        match self.end() {
            Ok(()) => (Ok(self.written), None),
            Err(error) => (self.keep(), Some(WriteError::Io(error))),
        }
    }

    /// After a failure: ends the trace with what is whole in the file; what that is.
    pub fn keep(mut self) -> Result<Written, WriteError> {
        let end = self.out.end();
        let kept = match &mut self.form {
            Form::Own(own) => own.keep(&mut self.out),
            Form::Text { .. } => self.out.cut(end).map(|()| self.saved.records),
        };
        let records = kept.map_err(WriteError::Io)?;
        Ok(Written { records, ..self.saved })
    }

    fn end(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Own(own) => own.finish(&mut self.out),
            Form::Text { text, .. } => self.out.finish(text),
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("written", &self.written).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
