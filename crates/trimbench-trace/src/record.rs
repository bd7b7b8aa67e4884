//! One command of a trace.

use trimbench_core::{Bytes, Nanos};

/// What a command of a trace does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// Reads the range.
    Read,
    /// Writes the range.
    Write,
    /// Trims the range.
    Discard,
    /// Makes what was written durable; has no range.
    Flush,
}

impl RecordKind {
    /// Every kind, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Discard, Self::Flush];
}

/// One command of a trace, whatever format it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued, since the beginning of the trace; 0 in a trace without stamps
    /// ([`crate::TraceSource::is_timed`]).
    pub time: Nanos,
    /// What it does.
    pub kind: RecordKind,
    /// Where it begins on the device, in bytes; 0 for a flush.
    pub offset: Bytes,
    /// How many bytes it covers; 0 for a flush.
    pub length: Bytes,
}

impl Record {
    /// The first byte behind the command.
    ///
    /// No overflow: a source hands out no record that ends beyond 2^64 - 1.
    pub const fn end(&self) -> Bytes {
        Bytes(self.offset.0 + self.length.0)
    }
}
