//! Block traces: what a trace is, the formats that it is read from and written to, its statistics,
//! and the generator of traces nobody may redistribute.
//!
//! A trace is a [`TraceSource`] of [`Record`]s, handed out in batches, so that no trace has to fit
//! into memory. A file is opened by the caller: this crate reads what is passed in.

pub mod format;
pub mod formats;
pub mod generate;
pub mod input;
mod latency;
pub mod read;
pub mod record;
mod sink;
pub mod source;
pub mod stat;
pub mod tally;
pub mod traces;
mod unpack;
pub mod write;

pub use format::{Event, Format, ReadOptions, Wait};
pub use formats::FORMATS;
pub use formats::own::is_guarded;
pub use input::Input;
pub use latency::{LatencySteps, TraceLatencies};
pub use read::Reader;
pub use record::{Record, RecordKind};
pub use sink::Sink;
pub use source::{TraceError, TracePosition, TraceSource, UnknownFormat};
pub use tally::{Flaw, Ignored, ReadCounts};
pub use traces::{NoTraces, Traces};
pub use unpack::unpack as unpacked;
pub use write::{WriteError, Writer, Written};
