//! Dies that interrupt programs and erases for reads.
//!
//! Model: a read goes before the first operation of its die that has not yet let `reads_max` reads
//! pass, and behind the reads that passed it earlier. A running operation is interrupted: the die
//! can read after a pause; the rest of the operation follows the reads and takes longer by
//! `resume`. An operation that would end before the pause is not interrupted. With `slice` it can
//! be interrupted only at whole multiples of that after its start, so that the pause begins there.
//! Garbage-collection reads have a slice of their own, or cannot be interrupted, as slices of
//! background TRIM.
//!
//! ```text
//!              read arrives
//!                   v
//!   ---- program ---|pause| read | read | resume + rest of the program |-- next operation --
//! ```
//!
//! Source of the principle: \[WUHE12\]. The die keeps a list of its operations because a read moves
//! all of them; without suspension one instant is enough.

use std::collections::VecDeque;

use trimbench_core::{Instant, Nanos};

use crate::config::SuspendConfig;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A program; of this group if it is the host's.
    Program(Option<u32>),
    Erase,
    /// A read by the collector.
    Collected,
    /// What reads do not interrupt.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    kind: Kind,
    begin: Instant,
    end: Instant,
    /// When the reads before it are over.
    reads_until: Instant,
    /// How many those were, since the operation is known.
    passed: u32,
}

#[derive(Debug, Default)]
struct Die {
    /// In their order; those that are over go with the next read or program.
    operations: VecDeque<Operation>,
    free_at: Instant,
}

#[derive(Debug)]
pub(super) struct SuspendingDies {
    config: SuspendConfig,
    dies: Vec<Die>,
}

impl SuspendingDies {
    pub(super) fn new(config: SuspendConfig, dies: usize) -> Self {
        Self { config, dies: (0..dies).map(|_| Die::default()).collect() }
    }

    /// Appends an operation that can begin from `from` on; when it ends if no read comes.
    pub(super) fn operate(&mut self, die: u32, from: Instant, span: Nanos, kind: Kind) -> Instant {
        let die = &mut self.dies[die as usize];
        let begin = die.free_at.max(from);
        let end = begin + span;
        let reads_until = die.free_at;
        die.operations.push_back(Operation { kind, begin, end, reads_until, passed: 0 });
        die.free_at = end;
        end
    }

    pub(super) fn forget(&mut self, die: u32, now: Instant) {
        let operations = &mut self.dies[die as usize].operations;
        while operations.front().is_some_and(|first| first.end <= now) {
            operations.pop_front();
        }
    }

    /// A read that arrives at `now`; when it is over.
    pub(super) fn sense(&mut self, die: u32, now: Instant, span: Nanos) -> Instant {
        self.forget(die, now);
        let die = &mut self.dies[die as usize];
        let mut from = now;
        for index in 0..die.operations.len() {
            let operation = &mut die.operations[index];
            if let Some(begin) = operation.let_by(now, from, &self.config) {
                let done = begin + span;
                operation.follow(done);
                die.shift(index);
                return done;
            }
            from = operation.end;
        }
        die.free_at = die.free_at.max(now) + span;
        die.free_at
    }

    pub(super) fn free_at(&self, die: u32) -> Instant {
        self.dies[die as usize].free_at
    }

    /// The programs of the host's groups that the die has to do, and their ends.
    pub(super) fn programs(&self, die: u32) -> impl Iterator<Item = (u32, Instant)> {
        let programs = self.dies[die as usize].operations.iter();
        programs.filter_map(|operation| match operation.kind {
            Kind::Program(Some(group)) => Some((group, operation.end)),
            _ => None,
        })
    }
}

/// From an operation's age to the next time at which it can be interrupted.
fn until_slice(age: Nanos, slice: Nanos) -> Nanos {
    if slice == Nanos::ZERO { slice } else { Nanos(age.0.next_multiple_of(slice.0) - age.0) }
}

impl Operation {
    /// When a read that comes at `now` can begin before this operation, all before which is over
    /// at `from`; `None` if it cannot. An operation at work is interrupted.
    fn let_by(&mut self, now: Instant, from: Instant, config: &SuspendConfig) -> Option<Instant> {
        if self.passed == config.reads_max {
            return None;
        }
        let begin = if self.begin < now {
            let (pause, slice) = match self.kind {
                Kind::Program(_) => (config.program, config.slice),
                Kind::Erase => (config.erase, config.slice),
                Kind::Collected => (config.program, config.collector?),
                Kind::Other => return None,
            };
            let pause = pause + until_slice(now - self.begin, slice);
            if self.end <= now + pause {
                return None;
            }
            // It stands still from the read's arrival on.
            self.begin = now + pause;
            self.end = self.end + pause + config.resume;
            self.begin
        } else {
            from.max(self.reads_until)
        };
        self.passed += 1;
        Some(begin)
    }

    /// Begins no earlier than at `instant`, at which the reads before it are over.
    fn follow(&mut self, instant: Instant) {
        self.reads_until = instant;
        if self.begin < instant {
            let left = self.end - self.begin;
            self.begin = instant;
            self.end = instant + left;
        }
    }
}

impl Die {
    /// Moves what comes after the operation at `index` as far as it must.
    fn shift(&mut self, index: usize) {
        let mut free_at = self.operations[index].end;
        for operation in self.operations.range_mut(index + 1..) {
            if operation.begin >= free_at {
                break;
            }
            operation.follow(free_at);
            free_at = operation.end;
        }
        let last = self.operations.back().map_or(free_at, |operation| operation.end);
        self.free_at = self.free_at.max(last);
    }
}
