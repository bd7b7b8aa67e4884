//! Requests of our own, by whose latency the pace is judged: reads of 4 KiB past the page cache, or
//! flushes, at the lowest device of the stack that can be found.
//!
//! The reads are of a file without a name on the filesystem that is trimmed (`O_TMPFILE`, 1 MiB of
//! random bytes, written once): what was never written, or was trimmed, would be answered without a
//! look at the flash. A process of its own makes and keeps it ([`keep_probe_file`]). They cost a
//! read each [`Prober::set_gap`].

mod file;
mod place;
mod prober;

pub use file::{KEEPER, keep_probe_file};
pub use place::{ProbePlace, ProbePlaceError};
pub(crate) use prober::now;
pub use prober::{ProbeKind, Prober};
