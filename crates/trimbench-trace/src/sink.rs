//! The destination of a trace, which keeps it complete when no more can be written.

use std::io::{self, Write};

/// Takes the bytes of a trace.
pub trait Sink: Write + Send {
    /// Makes sure that `bytes` more fit behind the first `end`, so that what is whole can be ended
    /// properly; an error if not. Does nothing where the system cannot promise that.
    fn reserve(&mut self, end: u64, bytes: u64) -> io::Result<()> {
        let _ = (end, bytes);
        Ok(())
    }

    /// Drops what is behind the first `end` bytes, and room that was reserved; writing goes on
    /// there. An error where that cannot be done, as in a pipe.
    fn cut(&mut self, end: u64) -> io::Result<()> {
        let _ = end;
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Sink for Box<dyn Write + Send> {}

/// A sink, and how much of what it took is whole.
pub(crate) struct Whole {
    sink: Box<dyn Sink>,
    end: u64,
}

impl Whole {
    pub(crate) fn new(sink: Box<dyn Sink>) -> Self {
        Self { sink, end: 0 }
    }

    /// Bytes that are whole.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Appends bytes that are whole together, if `spare` more would fit behind them.
    pub(crate) fn append(&mut self, bytes: &[u8], spare: u64) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.sink.reserve(self.end, length + spare)?;
        self.sink.write_all(bytes)?;
        self.sink.flush()?;
        self.end += length;
        Ok(())
    }

    /// Drops what is not whole, and what is behind `end`.
    pub(crate) fn cut(&mut self, end: u64) -> io::Result<()> {
        self.end = self.end.min(end);
        self.sink.cut(self.end)
    }

    /// Appends the last bytes; room that is left over is given back.
    pub(crate) fn finish(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append(bytes, 0)?;
        match self.sink.cut(self.end) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            cut => cut,
        }
    }
}
