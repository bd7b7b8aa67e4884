//! Discards by threads, for kernels before Linux 6.12.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use trimbench_core::{Errno, Instant};

use crate::clock::MonotonicClock;
use crate::workers::Workers;

/// Discards under way at once; more wait their turn.
pub(super) const THREADS: usize = 32;

/// What a thread does with a range: first byte and length.
pub(super) type Discard = Box<dyn Fn(u64, u64) -> Result<(), Errno> + Send + Sync>;

pub(super) type Helpers = Workers<Job, Finished>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) slot: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    pub(super) slot: u32,
    pub(super) at: Instant,
    pub(super) result: Result<(), Errno>,
}

/// No thread yet. A discard that panics leaves nobody waiting: it ends with EIO.
pub(super) fn helpers(bell: Arc<OwnedFd>, clock: MonotonicClock, discard: Discard) -> Helpers {
    let perform = move |Job { slot, offset, length }| {
        let result = catch_unwind(AssertUnwindSafe(|| discard(offset, length)));
        Finished { slot, at: clock.now(), result: result.unwrap_or(Err(Errno::EIO)) }
    };
    Workers::new("trimbench-trim", bell, Box::new(perform))
}
