//! A window on a file that is read in large pieces.

use std::io::{ErrorKind, Read};

use crate::source::TraceError;

/// The size of the window: the longest line, and more than the longest event of blktrace (48 bytes
/// and 64 KiB behind them).
pub(crate) const WINDOW: usize = 1 << 18;

/// A window on a file.
pub(crate) struct Buffer {
    name: String,
    file: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the file before the window.
    before: u64,
    ended: bool,
}

impl Buffer {
    pub(crate) fn new(name: String, file: Box<dyn Read + Send>) -> Self {
        Self { name, file, bytes: vec![0; WINDOW], start: 0, end: 0, before: 0, ended: false }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What was read and not consumed.
    #[inline]
    pub(crate) fn available(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Where in the file that begins.
    pub(crate) fn position(&self) -> u64 {
        self.before + self.start as u64
    }

    /// Whether there is nothing behind what is available.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Goes on by `count` bytes, which are available.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "only what is available is consumed");
        self.start += count;
    }

    /// Keeps what is available, and reads behind it until the window is full or the file ends.
    pub(crate) fn fill(&mut self) -> Result<(), TraceError> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.before += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < self.bytes.len() && !self.ended {
            match self.file.read(&mut self.bytes[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::io(&self.name, error)),
            }
        }
        Ok(())
    }
}
