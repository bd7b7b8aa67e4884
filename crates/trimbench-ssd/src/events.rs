//! What happens next: completions and the second halves of reads, in the order of their times.
//!
//! Completions of writes come in the order in which they are known, so they wait in a queue that
//! costs next to nothing; whatever would have to go before its end goes into a heap. Events of one
//! instant come in the order in which they were added.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use trimbench_core::{Bytes, Instant, OperationKind, Tag};

#[cfg(test)]
mod tests;

/// An accepted command on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) tag: Tag,
    pub(crate) kind: OperationKind,
    pub(crate) bytes: Bytes,
    pub(crate) submitted: Instant,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The command is over.
    Complete(InFlight),
    /// The die phase of a part of a fetch ended: `units` wait in the register of `die`.
    Sensed { fetch: u32, die: u32, units: u32 },
    /// All parts of a fetch are in the controller, or it may begin.
    Fetched { fetch: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: Instant,
    sequence: u64,
    action: Action,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

/// The pending events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// In order by construction.
    queue: VecDeque<Event>,
    /// The rest.
    heap: BinaryHeap<Reverse<Event>>,
    sequence: u64,
}

impl Events {
    /// Adds an event.
    #[inline]
    pub(crate) fn add(&mut self, at: Instant, action: Action) {
        let event = Event { at, sequence: self.sequence, action };
        self.sequence += 1;
        if self.queue.back().is_none_or(|last| last.at <= at) {
            self.queue.push_back(event);
        } else {
            self.heap.push(Reverse(event));
        }
    }

    /// When the next event is; never when there is none.
    #[inline]
    pub(crate) fn next_at(&self) -> Instant {
        let queued = self.queue.front().map_or(Instant::NEVER, |event| event.at);
        let heaped = self.heap.peek().map_or(Instant::NEVER, |event| event.0.at);
        queued.min(heaped)
    }

    /// Takes the next event if it is due at `now`.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(Instant, Action)> {
        let heap_first = match (self.queue.front(), self.heap.peek()) {
            (None, None) => return None,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(queued), Some(Reverse(heaped))) => heaped < queued,
        };
        if self.next_at() > now {
            return None;
        }
        let event =
            if heap_first { self.heap.pop().map(|event| event.0) } else { self.queue.pop_front() };
        event.map(|event| (event.at, event.action))
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.heap.clear();
    }
}
