//! How long the commands of a trace took, where its format tells: MSR Cambridge has a response time
//! beside each command, blkparse and a single file of blktrace have an event for the issue (`D`)
//! and one for the completion (`C`).
//!
//! The two are paired by kind and first sector; what has lost its partner is counted. A command is
//! *with discards* if one was in flight at any time between its two events. Latencies are counted
//! in 64 steps for each power of two: percentiles are at most 1.6 % too high, the longest is exact.
//!
//! Several files of blktrace, one for each processor, are not paired: a command is often issued on
//! one processor and completed on another.

use std::collections::BTreeMap;

use trimbench_core::{Bytes, Nanos};

use crate::record::RecordKind;

#[cfg(test)]
mod tests;

/// Commands under way, at most: more than any device has tags.
const OPEN_MAX: usize = 65_536;
/// Steps for each power of two, as a power of two.
const STEP_BITS: u32 = 6;
/// Numbers below this have a step each.
const EXACT: u64 = 1 << STEP_BITS;

/// How long the commands of a trace took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceLatencies {
    /// For each kind: without discards in flight, and with them.
    kinds: [[LatencySteps; 2]; RecordKind::ALL.len()],
    open: BTreeMap<(RecordKind, u64), OpenCommand>,
    discards: usize,
    unpaired: u64,
}

/// Latencies of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencySteps {
    steps: BTreeMap<u32, u64>,
    count: u64,
    longest: Nanos,
}

/// What a line or an event says of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyEvent {
    /// How long it took.
    Took(RecordKind, Nanos),
    /// That the device was given it: kind, first byte, length, and when.
    Issued(RecordKind, Bytes, Bytes, u64),
    /// That it is done, or so much of it.
    Completed(RecordKind, Bytes, Bytes, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenCommand {
    issued: u64,
    end: u64,
    with_discards: bool,
}

impl TraceLatencies {
    /// Of one kind, with or without discards in flight.
    pub fn of(&self, kind: RecordKind, with_discards: bool) -> &LatencySteps {
        &self.kinds[kind as usize][usize::from(with_discards)]
    }

    /// Completions without an issue, issues without a completion, and what was too much at a time.
    pub fn unpaired(&self) -> u64 {
        self.unpaired + self.open.len() as u64
    }

    pub(crate) fn add(&mut self, event: LatencyEvent) {
        match event {
            LatencyEvent::Took(kind, latency) => self.kinds[kind as usize][0].add(latency),
            LatencyEvent::Issued(kind, offset, length, at) => {
                self.issue(kind, offset.0, (length.0, at));
            }
            LatencyEvent::Completed(kind, offset, length, at) => {
                self.complete(kind, offset.0, (length.0, at));
            }
        }
    }

    fn issue(&mut self, kind: RecordKind, offset: u64, (length, issued): (u64, u64)) {
        if self.open.len() >= OPEN_MAX {
            // Something is not seen to end.
            self.unpaired += self.open.len() as u64;
            self.open.clear();
            self.discards = 0;
        }
        let is_discard = kind == RecordKind::Discard;
        if is_discard && self.discards == 0 {
            for open in self.open.values_mut() {
                open.with_discards = true;
            }
        }
        let with_discards = is_discard || self.discards > 0;
        let open = OpenCommand { issued, end: offset.saturating_add(length), with_discards };
        match self.open.insert((kind, offset), open) {
            // It was given back, and is issued again.
            Some(_) => self.unpaired += 1,
            None => self.discards += usize::from(is_discard),
        }
    }

    fn complete(&mut self, kind: RecordKind, offset: u64, (length, at): (u64, u64)) {
        let Some(open) = self.open.remove(&(kind, offset)) else {
            self.unpaired += 1;
            return;
        };
        let done = offset.saturating_add(length);
        if length > 0 && done < open.end {
            if self.open.insert((kind, done), open).is_some() {
                self.unpaired += 1;
                self.discards -= usize::from(kind == RecordKind::Discard);
            }
            return;
        }
        self.discards -= usize::from(kind == RecordKind::Discard);
        let latency = Nanos(at.saturating_sub(open.issued));
        self.kinds[kind as usize][usize::from(open.with_discards)].add(latency);
    }
}

impl LatencySteps {
    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest.
    pub fn longest(&self) -> Nanos {
        self.longest
    }

    /// The latency that so many in a thousand do not exceed, by nearest rank; `None` of nothing.
    pub fn permille(&self, permille: u64) -> Option<Nanos> {
        let rank = (self.count * permille).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (step, count) in &self.steps {
            seen += count;
            if seen >= rank {
                return Some(Nanos(last_of(*step)).min(self.longest));
            }
        }
        None
    }

    fn add(&mut self, latency: Nanos) {
        *self.steps.entry(step_of(latency.0)).or_default() += 1;
        self.count += 1;
        self.longest = self.longest.max(latency);
    }
}

/// The step of a number, in ascending order.
fn step_of(number: u64) -> u32 {
    let shift = (u64::BITS - number.leading_zeros()).saturating_sub(STEP_BITS + 1);
    let within = u32::try_from(number >> shift).expect("at most seven bits are left");
    (shift << STEP_BITS) + within
}

/// The largest number of a step.
fn last_of(step: u32) -> u64 {
    if u64::from(step) < 2 * EXACT {
        return u64::from(step);
    }
    let shift = (step >> STEP_BITS) - 1;
    let within = u64::from(step) - (u64::from(shift) << STEP_BITS);
    (within << shift) | ((1 << shift) - 1)
}
