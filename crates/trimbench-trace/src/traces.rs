//! Names of traces, and how each pass opens one anew.

use std::io;

use crate::source::{TraceError, TraceSource};

/// Opens the traces that a user names; whoever replays them reads no file. Several threads may open
/// the same.
pub trait Traces: Sync {
    /// The trace of this name, from its beginning.
    fn open(&self, name: &str) -> Result<Box<dyn TraceSource>, TraceError>;
}

/// No trace has a name.
#[derive(Clone, Copy, Debug)]
pub struct NoTraces;

impl Traces for NoTraces {
    fn open(&self, name: &str) -> Result<Box<dyn TraceSource>, TraceError> {
        let error = io::Error::new(io::ErrorKind::NotFound, "there are no traces here");
        Err(TraceError::Io { name: name.to_owned(), error })
    }
}
