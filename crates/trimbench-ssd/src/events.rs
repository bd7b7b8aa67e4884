//! Pending events: completions and the second halves of reads, in order of time.
//!
//! Completions of writes are known in order, so they wait in a cheap queue. Events that must go
//! before its end go into a heap. Events of one instant come in the order in which they were added.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use trimbench_core::Instant;

use crate::slots::Slot;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// The command is over.
    Complete(Slot),
    /// The command is over; it was a flush that made data durable.
    Flushed(Slot),
    /// The die phase of a part of what it fetches ended: `units` wait in the register of `die`.
    Sensed { slot: Slot, die: u32, pieces: u32 },
    /// All parts of what it fetches are in the controller, or it may begin to.
    Fetched(Slot),
    /// The controller may begin the next TRIM that waits for its turn.
    NextTrim,
}

/// In the order of time, then of sequence, which no two share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Instant,
    sequence: u64,
    action: Action,
}

#[derive(Debug)]
pub(crate) struct Events {
    /// In order by construction.
    queue: VecDeque<Event>,
    /// The rest.
    heap: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    next_at: Instant,
}

impl Default for Events {
    fn default() -> Self {
        let (queue, heap) = (VecDeque::new(), BinaryHeap::new());
        Self { queue, heap, sequence: 0, next_at: Instant::NEVER }
    }
}

impl Events {
    #[expect(clippy::inline_always, reason = "an action passed through memory costs 10 ns")]
    #[inline(always)]
    pub(crate) fn add(&mut self, at: Instant, action: Action) {
        let in_order = self.queue.back().is_none_or(|last| last.at <= at);
        self.queue.push_back(Event { at, sequence: self.sequence, action });
        self.sequence += 1;
        self.next_at = self.next_at.min(at);
        if !in_order {
            self.put_last_aside();
        }
    }

    /// The last event is not the last in time. Out of line, so that [`Self::add`] need not be.
    #[inline(never)]
    fn put_last_aside(&mut self) {
        self.heap.extend(self.queue.pop_back().map(Reverse));
    }

    /// When the next event is; never when there is none.
    #[inline]
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Instant, Action)> {
        let Event { at, action, .. } =
            if self.heap.is_empty() { self.queue.pop_front() } else { self.take_first() }?;
        let queued = self.queue.front().map_or(Instant::NEVER, |event| event.at);
        let heaped = self.heap.peek().map_or(Instant::NEVER, |event| event.0.at);
        self.next_at = queued.min(heaped);
        Some((at, action))
    }

    /// The first of queue and heap.
    #[inline(never)]
    fn take_first(&mut self) -> Option<Event> {
        let heap_first = match (self.queue.front(), self.heap.peek()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(queued), Some(Reverse(heaped))) => heaped < queued,
        };
        if heap_first { self.heap.pop().map(|event| event.0) } else { self.queue.pop_front() }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
