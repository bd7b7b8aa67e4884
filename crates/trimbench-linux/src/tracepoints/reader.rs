//! Joins events to requests as they come.

use trimbench_core::BlockRequest;

use crate::clock::MonotonicClock;

use super::TracingError;
use super::events::Happened;
use super::instance::Instance;
use super::requests::{Disk, Requests};
use super::stream::EventStream;

/// What records, and what was recorded.
#[derive(Debug)]
pub(super) struct Reader {
    stream: EventStream,
    clock: MonotonicClock,
    requests: Requests,
}

impl Reader {
    /// Has `instance` record the requests of `disks`.
    pub(super) fn new(
        instance: Instance,
        disks: Vec<Disk>,
        clock: MonotonicClock,
    ) -> Result<Self, TracingError> {
        let numbers: Vec<u32> = disks.iter().flat_map(|disk| &disk.numbers).copied().collect();
        let stream = EventStream::new(instance, &numbers, &Happened::ALL)?;
        Ok(Self { stream, clock, requests: Requests::new(disks) })
    }

    /// Takes in what the kernel has recorded.
    pub(super) fn drain(&mut self) {
        let until = EventStream::settles_at();
        let lost = self.stream.drain();
        if lost > 0 {
            // What is in order after the loss cannot be told from what was before.
            self.stream.forget();
            self.requests.lose(lost);
            return;
        }
        for event in self.stream.settled(until) {
            self.requests.apply(&event, self.clock.at_monotonic(event.at));
        }
    }

    /// Appends what ended since the last call, then what is under way.
    pub(super) fn take(&mut self, out: &mut Vec<BlockRequest>) {
        self.requests.take(out);
    }

    /// Events lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.requests.lost()
    }
}
