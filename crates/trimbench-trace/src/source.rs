//! Sources of records, and their errors.

use std::fmt;
use std::io;

use trimbench_core::reason;

use crate::record::Record;

/// Records of one trace, in their order.
pub trait TraceSource {
    /// Whether the records carry stamps; else they have an order only.
    fn is_timed(&self) -> bool;

    /// Puts the next records into `batch`, which is emptied before: as many as come cheaply at a
    /// time, none at the end of the trace.
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError>;
}

/// Where in a file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePosition {
    /// A line of a text, from 1.
    Line(u64),
    /// A byte of a binary file, from 0, after decompression.
    Byte(u64),
}

impl fmt::Display for TracePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file itself cannot be read.
    #[error("{name}: {}", reason(.error))]
    Io {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// Something in it is not as its format says.
    #[error("{name}, {place}: {found}; expected {expected}")]
    Broken {
        /// The file.
        name: String,
        /// Where.
        place: TracePosition,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// Its beginning is that of no format that is read here.
    #[error("{name}: {found}, which is no known format")]
    Unknown {
        /// The file.
        name: String,
        /// What was seen.
        found: UnknownFormat,
    },
    /// Files of one trace differ in their format.
    #[error("{name}: its format is `{format}`, but the previous file's is `{before}`")]
    Mixed {
        /// The file.
        name: String,
        /// Its format.
        format: &'static str,
        /// That of the file before.
        before: &'static str,
    },
    /// The format begins with what stands at the end of the file, so a pipe will not do.
    #[error("{name}: a trace in our own format is read from its end, and a pipe cannot seek")]
    Pipe {
        /// The file.
        name: String,
    },
}

/// What a file is whose format is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownFormat {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// It is packed: extract it first.
    #[error("it is a tar archive: extract it first, as by `tar -xO`")]
    Archive,
    /// It begins as no binary trace does.
    #[error("it is no text and no binary trace")]
    Binary,
    /// Its lines are those of no format.
    #[error("it begins with `{line}`")]
    Text {
        /// The first, shortened.
        line: String,
    },
    /// Its lines are those of several formats: name one.
    #[error("it may be any of {}", formats.join(", "))]
    Ambiguous {
        /// Their ids.
        formats: Vec<&'static str>,
    },
}

impl TraceError {
    /// A reason as the system says it.
    pub(crate) fn io(name: &str, error: io::Error) -> Self {
        Self::Io { name: name.to_owned(), error }
    }
}
